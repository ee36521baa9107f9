package object_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/object"
)

// sleepy stands still in a Put that has read its body: before it looks whether its
// intent stands, or behind.
type sleepy struct {
	blob.Store
	behind bool
	sleep  func()
}

func (s sleepy) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	data, err := io.ReadAll(r)
	if err == nil && s.behind {
		err = blob.Check(ctx)
		ctx = blob.WithCheck(ctx, func() error { return nil })
	}
	if err != nil {
		return err
	}
	s.sleep()
	return s.Store.Put(ctx, key, bytes.NewReader(data), size)
}

// Who stands still until nothing is left of his intent sends nothing any more, and if
// he could not know gives a row to what he sent: it is deleted, once the late window
// has passed.
func TestReapedWriterFails(t *testing.T) {
	for _, behind := range []bool{false, true} {
		for _, failing := range []string{"", "Abandon"} {
			var w *world
			asleep := func() {
				w.clock.Advance(2 * minAge)
				w.reapAll()
				w.clock.Advance(late)
				for disk := range w.backends {
					w.clean(disk)
				}
				w.ledger.decide = func(method string) mode {
					if method == failing {
						return refused
					}
					return pass
				}
			}
			w = newWorld(t, func(o *object.Options) {
				for id, s := range o.Backends {
					o.Backends[id] = sleepy{s, behind, asleep}
				}
			})
			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(5*small, 36)), Size: 5 * small})
			w.wants(err, lethe.ErrReaped)
			lie := 0
			for _, d := range w.backends {
				lie += d.Len()
			}
			if want := map[bool]int{true: 1}[behind]; lie != want {
				t.Errorf("behind the check: %t: %d blobs were sent, want %d", behind, lie, want)
			}
			w.ledger.decide = nil
			w.sound()
			w.empty()
		}
	}
}
