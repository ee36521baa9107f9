package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// written has the times at which objects were written.
type written map[string]lethe.Time

// Stat implements adopt.Stater.
func (w written) Stat(_ context.Context, key string) (blob.Info, error) {
	at, ok := w[key]
	switch {
	case !ok:
		return blob.Info{}, blob.ErrNotExist
	case at < 0:
		return blob.Info{}, errors.New("access denied")
	}
	return blob.Info{Key: key, ModTime: at}, nil
}

// A recently written object stays, for certain, and so does one whose age is
// unknown; the others go.
func TestAged(t *testing.T) {
	store, clock := memblob.New(memblob.Options{}), clocktest.New()
	now := clock.Now()
	at := written{"old": now.Add(-time.Hour), "just": now.Add(-10 * time.Minute), "young": now.Add(-time.Minute), "ahead": now.Add(time.Minute), "timeless": 0, "denied": -1}
	for key := range at {
		store.Set(key, nil)
	}
	a := adopt.Aged{Bucket: adopt.Within{Prefix: "up/", Store: store}, Prefix: "up/", Objects: at, Age: 10 * time.Minute, Clock: clock, AtOnce: 2}
	goes := []string{"up/old", "up/just", "up/none"}
	keys := append([]string{"up/young", "up/ahead", "up/timeless", "up/denied", "elsewhere/old"}, goes...)
	results, err := a.Delete(t.Context(), keys)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		gone := r.Err == nil || errors.Is(r.Err, blob.ErrNotExist)
		if r.Key != keys[i] || gone != slices.Contains(goes, keys[i]) || blob.Unknown(r.Err) {
			t.Errorf("%s: %+v", keys[i], r)
		}
	}
	left := store.Keys()
	if slices.Sort(left); !slices.Equal(left, []string{"ahead", "denied", "timeless", "young"}) {
		t.Errorf("%q are left", left)
	}
	late := fmt.Errorf("too late: %w", blob.ErrNotDone)
	if results, _ := a.Delete(blob.WithCheck(t.Context(), func() error { return late }), []string{"up/none"}); !errors.Is(results[0].Err, late) {
		t.Errorf("a delete that came too late: %+v", results[0])
	}
}
