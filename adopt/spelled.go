package adopt

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/lethe-storage/lethe/blob"
)

// ErrSpelled reports that rows name objects in the spelling of URLs: by what they return, the
// objects have no row.
var ErrSpelled = errors.New("keys are spelled as in URLs")

// Decoded returns the key of the object that is there once the escapes of a key without one are
// decoded, as in URLs; empty if there is none.
func Decoded(ctx context.Context, objects Stater, prefix, key string) (string, error) {
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		other, err := decode(key)
		rest, ok := below(other, prefix)
		if err != nil || other == key || !ok {
			continue
		}
		switch _, err := objects.Stat(ctx, rest); {
		case err == nil:
			return other, nil
		case !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, blob.ErrInvalidKey):
			return "", err
		}
	}
	return "", nil
}

// spelled records a key without an object if another is there once it is decoded, which no row
// names. That one's retention begins anew with each run: it is no orphan.
func (c *comparison) spelled(ctx context.Context, key string) error {
	if c.wrong != nil && c.forget == nil {
		return nil
	}
	other, err := Decoded(ctx, c.Store, c.Prefix, key)
	if err != nil || other == "" {
		return err
	}
	named, err := c.Rows.Named(ctx, []string{other})
	if err != nil || len(named) > 0 {
		return err
	}
	if c.wrong == nil {
		c.wrong = fmt.Errorf("%w: a row names %q, and the bucket has %q. Let the query return keys as the bucket has them; if that row and that object have nothing to do with each other, remove one of them",
			ErrSpelled, Brief(key), other)
	}
	if c.forget == nil {
		return nil
	}
	return c.forget(ctx, []string{other})
}
