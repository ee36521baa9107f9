package adopt

import (
	"context"
	"errors"
	"fmt"
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
var respellings = []func(string) (string, error){
	url.PathUnescape, url.QueryUnescape,
	func(key string) (string, error) { return norm.NFC.String(key), nil },
	func(key string) (string, error) { return norm.NFD.String(key), nil },
}

// escapings are the ways in which clients escape keys that are escaped once more on their way: with
// the slashes or without, with what JavaScript leaves as it is, and with a plus for a space.
var escapings = []func(key string) string{
	func(key string) string { return strings.ReplaceAll(escaped(key), "%2F", "/") },
	func(key string) string {
		return unescapedInScripts.Replace(strings.ReplaceAll(escaped(key), "%2F", "/"))
	},
	func(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "%2F", "/") },
	escaped,
}

// escaped escapes all of a key but letters, digits and -_.~ as they are.
func escaped(key string) string { return strings.ReplaceAll(url.QueryEscape(key), "+", "%20") }

// unescapedInScripts restores what JavaScript's encodeURIComponent leaves.
var unescapedInScripts = strings.NewReplacer("%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// OtherSpelling returns the key of the object that is there under another spelling of a key
// without one; empty if there is none.
func OtherSpelling(ctx context.Context, objects Stater, prefix, key string) (string, error) {
	// An escaped key may be in either form once it is decoded, and either may be escaped anew.
	read := respelled(key)
	for _, spelling := range slices.Clone(read) {
		read = append(read, respelled(spelling)...)
	}
	spellings := slices.Clone(read)
	for _, spelling := range append(read, key) {
		rest, ok := below(spelling, prefix)
		for _, escape := range escapings {
			if ok {
				spellings = append(spellings, prefix+escape(rest))
			}
		}
	}
	tried := map[string]bool{key: true}
	for _, other := range spellings {
		rest, ok := below(other, prefix)
		if tried[other] || !ok {
			continue
		}
		tried[other] = true
		switch _, err := objects.Stat(ctx, rest); {
		case err == nil:
			return other, nil
		case !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, blob.ErrInvalidKey):
			return "", err
		}
	}
	return "", nil
}

// respelled returns the other spellings of a key that are not escaped once more.
func respelled(key string) (out []string) {
	for _, respell := range respellings {
		if other, err := respell(key); err == nil && other != key && !slices.Contains(out, other) {
			out = append(out, other)
		}
	}
	return out
}

// spelled records a key without an object if another is there in another spelling, which no row
// names. That one's retention begins anew with each run: it is no orphan.
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
	if c.wrong == nil {
		c.wrong = fmt.Errorf("%w: a row names %+q, and the bucket has %+q. Let the query return keys as the bucket has them; if that row and that object have nothing to do with each other, remove one of them",
			ErrSpelled, Brief(key), other)
	}
	if c.forget == nil {
		return nil
	}
	return c.forget(ctx, []string{other})
}
