package object_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/object"
)

// fates has each method suffer its modes in turn, the last one forever.
func (w *world) fates(of map[string][]mode) {
	w.ledger.mu.Lock()
	defer w.ledger.mu.Unlock()
	w.ledger.decide = func(method string) mode {
		modes := of[method]
		if len(modes) == 0 {
			return pass
		}
		if len(modes) > 1 {
			of[method] = modes[1:]
		}
		return modes[0]
	}
}

// Bytes that lie on a backend, while the ledger was told neither that they are an
// object's nor that they were given up, are told once, whether the ledger did not
// answer or certainly did nothing; others are not.
func TestUnrecordedBytes(t *testing.T) {
	for _, c := range []struct {
		name string
		of   map[string][]mode
		put  blobtest.Fault
		want []string
	}{
		{name: "the ledger is away from the commit on", of: map[string][]mode{"Commit": {refused}, "Abandon": {refused}}, want: []string{"abandon"}},
		{name: "the commit fails alone", of: map[string][]mode{"Commit": {refused}}},
		{name: "the giving up is not answered", of: map[string][]mode{"Commit": {refused}, "Abandon": {lostUndone}}, want: []string{"abandon"}},
		{name: "nor was it done when it is asked for again", of: map[string][]mode{"Commit": {refused}, "Abandon": {lostUndone, refused}}, want: []string{"abandon"}},
		{name: "the giving up is done, and not answered", of: map[string][]mode{"Commit": {refused}, "Abandon": {lostDone, pass}}},
		{name: "the outcome of the commit cannot be learnt", of: map[string][]mode{"Commit": {lostUndone}, "Outcome": {refused}}, want: []string{"commit"}},
		{name: "the upload fails, and the ledger with it", put: blobtest.Fault{Kind: blobtest.DoneError}, of: map[string][]mode{"Abandon": {refused}}, want: []string{"abandon"}},
		{name: "nothing was sent", of: map[string][]mode{"Begin": {lostDone}, "Abandon": {refused}}},
	} {
		for _, n := range []int{10, 5 * small} {
			t.Run(fmt.Sprintf("%s, of %d", c.name, n), func(t *testing.T) {
				var told []object.Unrecorded
				w := newWorld(t, func(o *object.Options) {
					o.Events.Unrecorded = func(u object.Unrecorded) { told = append(told, u) }
				})
				if c.put.Kind != 0 {
					w.breaks("disk1", blobtest.OpPut, c.put)
					w.breaks("disk2", blobtest.OpPut, blobtest.Fault{Kind: blobtest.Down})
				}
				w.fates(c.of)
				_, _ = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 31)), Size: int64(n)})
				var stages []string
				for _, u := range told {
					stages = append(stages, u.Stage)
					if u.Blob == "" || u.Backend != "disk1" || u.Size != int64(n) || u.Err == nil {
						t.Errorf("told %+v", u)
					}
				}
				if !slices.Equal(stages, c.want) {
					t.Errorf("told %q, want %q", stages, c.want)
				}
				w.ledger.heal()
				w.sound()
			})
		}
	}
}
