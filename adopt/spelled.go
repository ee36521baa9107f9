package adopt

import (
	"context"
	"errors"
	"fmt"
	"net/url"

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
			case !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, blob.ErrInvalidKey):
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
