package reclaim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

func (w *world) reap() *reclaim.Reap {
	return &reclaim.Reap{Ledger: w.ledger, Stores: w.stores, Store: w.store, Safety: w.safety, Limit: 10}
}

// silent lets the heartbeats of all intents age.
func (w *world) silent() { w.clock.Advance(w.safety.MinAge) }

// Only proof promotes: complete bytes with the promised digest.
func TestReapPromotesProvenIntents(t *testing.T) {
	w := newWorld(t)
	b := w.intent("a", "bytes", true)
	w.upload(b, "bytes")
	want(w, "reaped while the writer lives", len(w.pass(w.reap())), 0)
	w.silent()
	want(w, "promoted", w.pass(w.reap())["promoted"], 1)
	want(w, "state", w.state(b), lethe.Live)
	if _, ok := w.ledger.Object("b", "a"); !ok {
		t.Error("the object is not there")
	}
	w.sound()
}

func TestReapDropsWhatProvesNothing(t *testing.T) {
	for name, begin := range map[string]func(*world) lethe.ID{
		"no bytes":       func(w *world) lethe.ID { return w.intent("a", "bytes", true) },
		"nothing fixed":  func(w *world) lethe.ID { b := w.intent("a", "bytes", false); w.upload(b, "bytes"); return b },
		"other bytes":    func(w *world) lethe.ID { b := w.intent("a", "bytes", true); w.upload(b, "bytez"); return b },
		"half the bytes": func(w *world) lethe.ID { b := w.intent("a", "bytes", true); w.upload(b, "byt"); return b },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			b := begin(w)
			w.silent()
			want(w, "dropped", w.pass(w.reap())["dropped"], 1)
			want(w, "state", w.state(b), lethe.Condemned)
			if _, ok := w.ledger.Object("b", "a"); ok {
				t.Error("an object was made of it")
			}
			// The bytes may land late: they are deleted after the late window.
			want(w, "gone at once", w.pass(w.clean())["gone"], 0)
			w.clock.Advance(time.Hour)
			want(w, "gone", w.pass(w.clean())["gone"], 1)
			want(w, "blobs left", w.bytes.Len(), 0)
			w.sound()
		})
	}
}

// A key that was written since is not overwritten by a dead writer.
func TestReapLeavesNewerVersionsAlone(t *testing.T) {
	w := newWorld(t)
	b := w.intent("a", "old bytes", true)
	w.upload(b, "old bytes")
	w.clock.Advance(time.Second)
	newer := w.put("a", "new bytes")
	w.silent()
	want(w, "superseded", w.pass(w.reap())["superseded"], 1)
	o, _ := w.ledger.Object("b", "a")
	want(w, "size", o.Size, 9)
	want(w, "state of the old", w.state(b), lethe.Condemned)
	want(w, "state of the new", w.state(newer), lethe.Live)
	w.sound()
}

// When it is undecided it waits: the next pass decides.
func TestReapWaitsWhenItCannotTell(t *testing.T) {
	w := newWorld(t)
	b := w.intent("a", "bytes", true)
	w.upload(b, "bytes")
	w.silent()
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	var told []reclaim.Resolution
	r := w.reap()
	r.Events = &reclaim.Events{IntentResolved: func(_ ledger.Blob, res reclaim.Resolution) { told = append(told, res) }}
	want(w, "ambiguous", w.pass(r)["ambiguous"], 1)
	want(w, "state", w.state(b), lethe.Pending)
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	want(w, "promoted", w.pass(r)["promoted"], 1)
	if len(told) != 2 || told[0] != reclaim.Ambiguous || told[1] != reclaim.Promoted {
		t.Errorf("told %v", told)
	}
}

// Intents on a backend that is down, however many, block no others.
func TestReapGoesRoundWhatItCannotTell(t *testing.T) {
	w := newWorld(t)
	for i := range 25 {
		w.intent(fmt.Sprint(i), "bytes", true)
		w.clock.Advance(time.Millisecond)
	}
	last := w.intent("last", "other bytes", true)
	w.upload(last, "other bytes")
	w.silent()
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Keys[0] != w.name(last) {
			return blobtest.Fault{Kind: blobtest.Down}
		}
		return blobtest.Fault{}
	}
	got := w.pass(w.reap())
	want(w, "ambiguous", got["ambiguous"], 25)
	want(w, "promoted", got["promoted"], 1)
	w.sound()
}

// A writer whose intent was reaped fails, and nothing of it stays.
func TestAWriterThatWasReapedFails(t *testing.T) {
	w := newWorld(t)
	b := w.intent("a", "bytes", false)
	w.upload(b, "bytes")
	w.silent()
	w.pass(w.reap())
	if _, err := w.ledger.Commit(w.ctx, w.commit("a", "bytes", b)); err == nil {
		t.Fatal("a reaped intent was committed")
	}
	if _, ok := w.ledger.Object("b", "a"); ok {
		t.Error("the object is there all the same")
	}
	w.sound()
}
