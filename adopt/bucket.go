package adopt

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/blob"
)

// below returns the part of a key after the prefix; ok is false without it.
func below(key, prefix string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(key, prefix)
	return rest, ok && rest != ""
}

// longestKey is the length in bytes of the longest key that services have.
const longestKey = 1024

// Brief returns a key for a message. One that no object can have is cut.
func Brief(key string) string {
	if len(key) <= longestKey {
		return key
	}
	return fmt.Sprintf("%s... (%d bytes, and services have no keys above %d)", strings.ToValidUTF8(key[:60], ""), len(key), longestKey)
}

// Within deletes objects below a prefix, by their whole keys, in a store whose
// keys exclude the prefix. A key elsewhere is refused: an invalid description
// must not reach it.
type Within struct {
	Prefix string
	Store  Deleter
}

// Delete implements Deleter.
func (w Within) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	results := make([]blob.Result, len(keys))
	var inside []string
	var at []int
	for i, key := range keys {
		rest, ok := below(key, w.Prefix)
		if !ok {
			results[i] = blob.Result{Key: key, Err: fmt.Errorf("%q lies outside of the prefix %q: %w: %w", Brief(key), w.Prefix, blob.ErrInvalidKey, blob.ErrNotDone)}
			continue
		}
		inside, at = append(inside, rest), append(at, i)
	}
	if len(inside) == 0 {
		return results, nil
	}
	some, err := w.Store.Delete(ctx, inside)
	for j, keyErr := range blob.Outcomes(inside, some, err) {
		results[at[j]] = blob.Result{Key: keys[at[j]], Err: keyErr}
	}
	return results, err
}
