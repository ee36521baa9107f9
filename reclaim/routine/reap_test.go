package routine_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

func (w *world) reap() *routine.Reap {
	return &routine.Reap{Ledger: w.Ledger, Stores: w.Stores, Store: w.Store, Safety: w.Safety, Limit: 10}
}

// silent lets the heartbeats of all intents age.
func (w *world) silent() { w.Clock.Advance(w.Safety.MinAge) }

// Only proof promotes: complete bytes with the promised digest.
func TestReapPromotesProvenIntents(t *testing.T) {
	w := newWorld(t)
	b := w.Intent("a", "bytes", true)
	w.Upload(b, "bytes")
	reclaimtest.Want(w, "reaped while the writer lives", len(w.Pass(w.reap())), 0)
	w.silent()
	reclaimtest.Want(w, "promoted", w.Pass(w.reap())["promoted"], 1)
	reclaimtest.Want(w, "state", w.State(b), lethe.Live)
	if _, ok := w.Ledger.Object("b", "a"); !ok {
		t.Error("the object is not there")
	}
	w.Sound()
}

func TestReapDropsWhatProvesNothing(t *testing.T) {
	for name, begin := range map[string]func(*world) lethe.ID{
		"no bytes":       func(w *world) lethe.ID { return w.Intent("a", "bytes", true) },
		"nothing fixed":  func(w *world) lethe.ID { b := w.Intent("a", "bytes", false); w.Upload(b, "bytes"); return b },
		"other bytes":    func(w *world) lethe.ID { b := w.Intent("a", "bytes", true); w.Upload(b, "bytez"); return b },
		"half the bytes": func(w *world) lethe.ID { b := w.Intent("a", "bytes", true); w.Upload(b, "byt"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := begin(w)
			w.silent()
			reclaimtest.Want(w, "dropped", w.Pass(w.reap())["dropped"], 1)
			reclaimtest.Want(w, "state", w.State(b), lethe.Condemned)
			if _, ok := w.Ledger.Object("b", "a"); ok {
				t.Error("an object was made of it")
			}
			// The bytes may land late: they are deleted after the late window.
			reclaimtest.Want(w, "gone at once", w.Pass(w.clean())["gone"], 0)
			w.Clock.Advance(time.Hour)
			reclaimtest.Want(w, "gone", w.Pass(w.clean())["gone"], 1)
			reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 0)
			w.Sound()
		})
	}
}

// A key that was written since is not overwritten by a dead writer.
func TestReapLeavesNewerVersionsAlone(t *testing.T) {
	w := newWorld(t)
	b := w.Intent("a", "old bytes", true)
	w.Upload(b, "old bytes")
	w.Clock.Advance(time.Second)
	newer := w.Put("a", "new bytes")
	w.silent()
	reclaimtest.Want(w, "superseded", w.Pass(w.reap())["superseded"], 1)
	o, _ := w.Ledger.Object("b", "a")
	reclaimtest.Want(w, "size", o.Size, 9)
	reclaimtest.Want(w, "state of the old", w.State(b), lethe.Condemned)
	reclaimtest.Want(w, "state of the new", w.State(newer), lethe.Live)
	w.Sound()
}

// When it is undecided it waits: the next pass decides.
func TestReapWaitsWhenItCannotTell(t *testing.T) {
	w := newWorld(t)
	b := w.Intent("a", "bytes", true)
	w.Upload(b, "bytes")
	w.silent()
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	var told []reclaim.Resolution
	r := w.reap()
	r.Events = &reclaim.Events{IntentResolved: func(_ ledger.Blob, res reclaim.Resolution) { told = append(told, res) }}
	reclaimtest.Want(w, "ambiguous", w.Pass(r)["ambiguous"], 1)
	reclaimtest.Want(w, "state", w.State(b), lethe.Pending)
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	reclaimtest.Want(w, "promoted", w.Pass(r)["promoted"], 1)
	if len(told) != 2 || told[0] != reclaim.Ambiguous || told[1] != reclaim.Promoted {
		t.Errorf("told %v", told)
	}
}

// Intents on a backend that is down, however many, block no others.
func TestReapGoesRoundWhatItCannotTell(t *testing.T) {
	w := newWorld(t)
	for i := range 25 {
		w.Intent(fmt.Sprint(i), "bytes", true)
		w.Clock.Advance(time.Millisecond)
	}
	last := w.Intent("last", "other bytes", true)
	w.Upload(last, "other bytes")
	w.silent()
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Keys[0] != w.BlobName(last) {
			return blobtest.Fault{Kind: blobtest.Down}
		}
		return blobtest.Fault{}
	}
	got := w.Pass(w.reap())
	reclaimtest.Want(w, "ambiguous", got["ambiguous"], 25)
	reclaimtest.Want(w, "promoted", got["promoted"], 1)
	w.Sound()
}

// A writer whose intent was reaped fails, and nothing of it stays.
func TestAWriterThatWasReapedFails(t *testing.T) {
	w := newWorld(t)
	b := w.Intent("a", "bytes", false)
	w.Upload(b, "bytes")
	w.silent()
	w.Pass(w.reap())
	if _, err := w.Ledger.Commit(w.Ctx, w.Commit("a", "bytes", b)); err == nil {
		t.Fatal("a reaped intent was committed")
	}
	if _, ok := w.Ledger.Object("b", "a"); ok {
		t.Error("the object is there all the same")
	}
	w.Sound()
}
