//go:build linux || darwin || freebsd

package adoption

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/lethe-storage/lethe/blob/intercept"
)

// watched are the reported calls of buckets and others.
type watched struct {
	mu   sync.Mutex
	list []string
}

func (w *watched) note(call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, call)
}

// The calls of a bucket and of a disk are reported, those of its quarantine as
// well, and bytes are copied there although both are observed.
func TestSpansOfBuckets(t *testing.T) {
	t.Run("bucket", func(t *testing.T) { spansOf(t, newVault(t)) })
	t.Run("disk", func(t *testing.T) {
		f := newVault(t)
		f.onDisk()
		spansOf(t, f)
	})
}

func spansOf(t *testing.T, f *files) {
	w := &watched{}
	spans := Spans{
		Backend: func(bucket string) intercept.Watch {
			return func(ctx context.Context, _ string) (context.Context, func(intercept.Report)) {
				return ctx, func(c intercept.Report) {
					if c.Err == nil {
						w.note(bucket + " " + c.Op)
					}
				}
			}
		},
		Call: func(ctx context.Context, name string) (context.Context, func(int, error)) {
			return ctx, func(int, error) { w.note(name) }
		},
	}
	a, err := Open(t.Context(), f.Description, Options{Spans: spans})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	f.Adoption = a
	f.put("a", "other")
	f.row("a")
	f.passes(map[string]int64{"orphans": 1, "objects": 1})
	f.left("a", "kept/files/other")
	for _, want := range []string{"main list", "main copy", "main delete", "database see orphans", "database record copies"} {
		if !slices.Contains(w.list, want) {
			t.Errorf("%q is not told of: %q", want, w.list)
		}
	}
}
