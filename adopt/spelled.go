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

// spelled records a key without an object if another is there once its escapes are decoded,
// which no row names.
func (c *comparison) spelled(ctx context.Context, key string) error {
	for _, decode := range []func(string) (string, error){url.PathUnescape, url.QueryUnescape} {
		other, err := decode(key)
		rest, ok := below(other, c.Prefix)
		if err != nil || other == key || !ok || c.wrong != nil {
			continue
		}
		if _, err := c.Store.Stat(ctx, rest); errors.Is(err, blob.ErrNotExist) || errors.Is(err, blob.ErrInvalidKey) {
			continue
		} else if err != nil {
			return err
		}
		named, err := c.Rows.Named(ctx, []string{other})
		if err != nil {
			return err
		}
		if len(named) == 0 {
			c.wrong = fmt.Errorf("%w: a row names %q, and the bucket has %q. Let the query return keys as the bucket has them; if that row and that object have nothing to do with each other, remove one of them",
				ErrSpelled, Brief(key), other)
		}
	}
	return nil
}
