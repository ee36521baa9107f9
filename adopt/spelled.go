package adopt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/lethe-storage/lethe/blob"
)

// ErrSpelled reports that rows name objects in another spelling than the bucket: by what they
// return, the objects have no row.
var ErrSpelled = errors.New("rows spell keys otherwise than the bucket")

// respellings are the ways in which applications spell the keys of objects in rows, or clients
// in buckets: with the escapes of URLs, and in the composed and the decomposed form of Unicode,
// such as é, which macOS sends as e and an accent.
var respellings = append(slices.Clip(unescapings),
	func(key string) (string, error) { return norm.NFC.String(key), nil },
	func(key string) (string, error) { return norm.NFD.String(key), nil },
)

// unescapings read keys that are escaped as in the path of a URL, and as in its query.
var unescapings = []func(string) (string, error){url.PathUnescape, url.QueryUnescape}

// OtherSpelling returns the key of the object that is there under another spelling of a key
// without one; empty if there is none.
func OtherSpelling(ctx context.Context, objects Stater, prefix, key string) (string, error) {
	tried := map[string]bool{key: true}
	spellings := []string{key}
	for i := 0; i < len(spellings); i++ { // an escaped key may be in either form once it is decoded
		for _, respell := range respellings {
			other, err := respell(spellings[i])
			rest, ok := below(other, prefix)
			if err != nil || tried[other] || !ok {
				continue
			}
			tried[other] = true
			switch _, err := objects.Stat(ctx, rest); {
			case err == nil:
				return other, nil
			case !blob.Absent(err):
				return "", err
			}
			if i == 0 {
				spellings = append(spellings, other)
			}
		}
	}
	return "", nil
}

// spelled records a key without an object if another is there in another spelling, which no row
// names.
func (c *comparison) spelled(ctx context.Context, key string) error {
	if c.wrong != nil && c.forget == nil {
		return nil
	}
	other, err := OtherSpelling(ctx, c.Store, c.Prefix, key)
	if err != nil || other == "" {
		return err
	}
	named, err := c.Rows.Named(ctx, []string{other})
	if err != nil || len(named) > 0 {
		return err
	}
	return c.otherwise(ctx, key, other)
}

// otherwise records that a row names an object in another spelling. That one's retention begins
// anew with each run: it is no orphan.
func (c *comparison) otherwise(ctx context.Context, key, object string) error {
	if c.wrong == nil {
		c.wrong = fmt.Errorf("%w: a row names %+q, and the bucket has %+q. Let the query return keys as the bucket has them; if that row and that object have nothing to do with each other, remove one of them",
			ErrSpelled, Brief(key), object)
	}
	if c.forget == nil {
		return nil
	}
	return c.forget(ctx, []string{object})
}

// unescape records the objects without a row that have the key of a row, escaped, if that row has no
// object: a client escaped a key that was escaped once more on its way. There are many ways to
// escape a key and few to read it, so that it is the object's key that is read.
func (c *comparison) unescape(ctx context.Context, found []OrphanObject) error {
	objects := map[string][]string{} // by what their keys may stand for
	for _, o := range found {
		rest, _ := below(o.Key, c.Prefix)
		for _, key := range unescaped(rest) {
			objects[c.Prefix+key] = append(objects[c.Prefix+key], o.Key)
		}
	}
	for keys := range slices.Chunk(slices.Sorted(maps.Keys(objects)), c.Batch) {
		named, err := c.Rows.Named(ctx, keys)
		if err != nil {
			return err
		}
		for _, key := range named {
			there, err := c.there(ctx, key)
			for _, object := range objects[key] {
				if err == nil && !there {
					err = c.otherwise(ctx, key, object)
				}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// unescaped returns what a key may be the escaped form of, in either form of Unicode.
func unescaped(key string) (out []string) {
	if !strings.ContainsAny(key, "%+") {
		return nil
	}
	for _, read := range unescapings {
		plain, err := read(key)
		if err != nil || plain == key {
			continue
		}
		for _, form := range []string{plain, norm.NFC.String(plain), norm.NFD.String(plain)} {
			if !slices.Contains(out, form) {
				out = append(out, form)
			}
		}
	}
	return out
}

// there reports whether the object of a key exists.
func (c *comparison) there(ctx context.Context, key string) (bool, error) {
	rest, ok := below(key, c.Prefix)
	if !ok {
		return false, nil
	}
	switch _, err := c.Store.Stat(ctx, rest); {
	case err == nil:
		return true, nil
	case blob.Absent(err):
		return false, nil
	default:
		return false, err
	}
}
