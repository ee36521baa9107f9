package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Aged deletes no object that was written recently: its name may have been
// reused. It checks right before the delete, with one request per object. That
// makes a loss rarer without excluding it: the application may still write in
// between.
type Aged struct {
	Bucket  Deleter // by whole keys
	Prefix  string  // of all keys
	Objects Stater  // keys exclude the prefix
	Age     time.Duration
	Clock   lethe.Clock
	AtOnce  int // concurrent checks, at least 1
}

// Delete implements Deleter. It leaves objects that are too young, or whose age
// is unknown.
func (a Aged) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	results := make([]blob.Result, len(keys))
	var running errgroup.Group
	running.SetLimit(a.AtOnce)
	for i, key := range keys {
		running.Go(func() error {
			results[i] = blob.Result{Key: key, Err: a.young(ctx, key)}
			return nil
		})
	}
	_ = running.Wait() // each key has its own error
	var old []string
	var at []int
	for i, r := range results {
		if r.Err == nil {
			old, at = append(old, r.Key), append(at, i)
		}
	}
	if len(old) == 0 {
		return results, nil
	}
	some, err := a.Bucket.Delete(ctx, old)
	for j, keyErr := range blob.Outcomes(old, some, err) {
		results[at[j]].Err = keyErr
	}
	return results, err
}

// young returns an error if an object has to stay. One without a time stays: it
// may have been overwritten.
func (a Aged) young(ctx context.Context, key string) error {
	rest, ok := below(key, a.Prefix)
	if !ok {
		return nil // the bucket refuses it
	}
	info, err := a.Objects.Stat(ctx, rest)
	switch {
	case errors.Is(err, blob.ErrNotExist):
		return nil // the delete finds that out
	case err != nil:
		return fmt.Errorf("the age of the object is unknown: %w: %w", blob.ErrNotDone, plain{err})
	case info.ModTime == 0:
		return fmt.Errorf("the bucket has no time for the object, which grace.object_age asks for: %w", blob.ErrNotDone)
	}
	if age := a.Clock.Now().Sub(info.ModTime); age < a.Age {
		return fmt.Errorf("the object was written %s ago, less than grace.object_age, which is %s: %w", age.Round(time.Second), a.Age, blob.ErrNotDone)
	}
	return nil
}
