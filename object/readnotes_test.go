package object_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
)

// idle is the idle time of the tests.
const idle = 10 * time.Hour

// putIdle stores an object that is kept for the idle time after its last read.
func (w *world) putIdle(key string) {
	w.t.Helper()
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: key, Body: strings.NewReader("data"), Size: 4, Idle: idle})
	w.must(err)
}

// noted notes what was read, and returns when the object ends.
func (w *world) noted(key string) lethe.Time {
	w.t.Helper()
	w.must(w.NoteReads(w.ctx))
	o, err := w.Head(w.ctx, object.GetRequest{Bucket: bucket, Key: key})
	w.must(err)
	return o.IdleAt
}

// What reads an object moves its end, and what only looks at it does not.
func TestReadsMoveTheEnd(t *testing.T) {
	get := object.GetRequest{Bucket: bucket, Key: "k"}
	for name, c := range map[string]struct {
		moves bool
		do    func(w *world) error
	}{
		"get": {true, func(w *world) error { _, err := w.read(get); return err }},
		"range": {true, func(w *world) error {
			r := get
			r.Range = &object.Range{Offset: 1, Length: 1}
			_, err := w.read(r)
			return err
		}},
		"get of what the client has": {true, func(w *world) error {
			o, err := w.Head(w.ctx, get)
			w.must(err)
			r := get
			r.If.IfNoneMatch = o.ETag
			_, err = w.read(r)
			w.wants(err, lethe.ErrNotModified)
			return nil
		}},
		"copy": {true, func(w *world) error {
			_, err := w.Copy(w.ctx, object.CopyRequest{SourceBucket: bucket, SourceKey: "k", Bucket: bucket, Key: "c"})
			return err
		}},
		"head that counts": {true, func(w *world) error { r := get; r.Counts = true; _, err := w.Head(w.ctx, r); return err }},
		"look":             {false, func(w *world) error { r := get; r.Uncounted = true; _, err := w.read(r); return err }},
		"head":             {false, func(w *world) error { _, err := w.Head(w.ctx, get); return err }},
		"list":             {false, func(w *world) error { _, err := w.List(w.ctx, ledger.ListQuery{Bucket: bucket}); return err }},
		"condition that fails": {false, func(w *world) error {
			r := get
			r.If.IfMatch = "other"
			_, err := w.read(r)
			w.wants(err, lethe.ErrPreconditionFailed)
			return nil
		}},
	} {
		w := newWorld(t, nil)
		w.putIdle("k")
		was := w.noted("k")
		w.clock.Advance(idle / 2)
		w.must(c.do(w))
		if is := w.noted("k"); is != was && !c.moves || c.moves && is != was.Add(idle/2) {
			t.Errorf("%s: the end was %s, and is %s", name, was, is)
		}
	}
}

// However often an object is read, at most one row is written in a tenth of its idle time, and
// it is there until the idle time after its last read.
func TestCostOfNotes(t *testing.T) {
	w := newWorld(t, nil)
	w.putIdle("k")
	reads := 0
	for range 20 * 60 { // minutes
		w.has("k", "data")
		w.has("k", "data")
		reads += 2
		w.clock.Advance(time.Minute)
		w.must(w.NoteReads(w.ctx))
	}
	if n := w.ledger.noted; n > 20 || w.ledger.count("NoteReads") > 20 {
		t.Errorf("%d reads in two idle times cost %d rows in %d transactions", reads, n, w.ledger.count("NoteReads"))
	}
	w.clock.Advance(idle - time.Minute - time.Microsecond)
	w.has("k", "data")
	w.must(w.NoteReads(w.ctx))
	w.clock.Advance(2 * idle)
	w.hasNot("k")
	before := w.ledger.count("NoteReads")
	w.put("never", "data")
	w.has("never", "data")
	w.must(w.NoteReads(w.ctx))
	if n := w.ledger.count("NoteReads"); n != before {
		t.Errorf("what does not end by idleness cost %d transactions", n-before)
	}
}

// An object whose end is near is noted soon, and a note that the ledger refuses is kept.
func TestUrgentNotes(t *testing.T) {
	soon := 0
	w := newWorld(t, func(o *object.Options) { o.NoteSoon = func() { soon++ } })
	w.putIdle("k")
	end := w.noted("k")
	w.clock.Advance(end.Sub(w.clock.Now()) - ledger.IdleMargin)
	w.has("k", "data")
	if soon != 0 {
		t.Error("a read before the last minute is urgent")
	}
	w.clock.Advance(ledger.IdleMargin - time.Second)
	w.has("k", "data")
	if soon != 1 {
		t.Errorf("%d urgent reads in the last minute", soon)
	}
	w.ledger.fails("NoteReads", refused)
	if err := w.NoteReads(w.ctx); err == nil {
		t.Error("the ledger's error is not returned")
	}
	w.clock.Advance(time.Second + ledger.IdleGrace/2)
	w.hasNot("k")
	w.must(w.NoteReads(w.ctx))
	w.has("k", "data")
}

// An urgent read that comes while many are being noted is noted next.
func TestUrgentNotesComeFirst(t *testing.T) {
	w := newWorld(t, nil)
	w.putIdle("k")
	end := w.noted("k")
	w.clock.Advance(idle / 2)
	const batches, batch = 3, 500
	for i := range batches * batch {
		w.putIdle(fmt.Sprint("other ", i))
	}
	w.clock.Advance(end.Sub(w.clock.Now()) - time.Second)
	for i := range batches * batch {
		w.has(fmt.Sprint("other ", i), "data")
	}
	once := sync.OnceFunc(func() { w.has("k", "data") })
	w.ledger.on("NoteReads", once)
	w.ledger.fails("NoteReads", pass, pass, refused)
	if err := w.NoteReads(w.ctx); err == nil {
		t.Error("the ledger's error is not returned")
	}
	w.ledger.heal()
	w.clock.Advance(ledger.IdleGrace)
	w.has("k", "data")
}

// stores are the backends, without faults.
func (w *world) stores() map[string]blob.Store {
	return map[string]blob.Store{"disk1": w.backends["disk1"], "disk2": w.backends["disk2"]}
}

// Of many instances that read the same objects all notes count, and each version is written once
// in a tenth of its idle time.
func TestInstancesNoteTheSame(t *testing.T) {
	w := newWorld(t, nil)
	who, err := w.db.Identity(w.ctx)
	w.must(err)
	others := []*object.Store{w.Store}
	for range 2 {
		s, err := object.New(object.Options{Ledger: ledgertest.ForObjects(w.ledger), Backends: w.stores(), StoreID: who.ID, Clock: w.clock, Monotonic: w.clock})
		w.must(err)
		others = append(others, s)
	}
	for i := range 700 {
		w.putIdle(fmt.Sprint("k", i))
	}
	w.clock.Advance(idle / 2)
	for i := range 700 {
		for _, s := range others {
			rd, err := s.Get(w.ctx, object.GetRequest{Bucket: bucket, Key: fmt.Sprint("k", i)})
			w.must(err)
			w.must(rd.Body.Close())
		}
	}
	for _, s := range others {
		w.must(s.NoteReads(w.ctx))
	}
	if n := w.ledger.noted; n != 700 {
		t.Errorf("%d rows were written for 700 objects", n)
	}
}

// A get whose bytes take long to come is noted while they come: also if that is until after the
// end.
func TestSlowReadIsNotedInTime(t *testing.T) {
	w := newWorld(t, nil)
	w.putIdle("k")
	w.clock.Advance(w.noted("k").Sub(w.clock.Now()) - time.Second)
	for _, disk := range []string{"disk1", "disk2"} {
		w.faults[disk] = func(blobtest.Call) blobtest.Fault {
			w.mu.Lock()
			delete(w.faults, disk)
			w.mu.Unlock()
			w.must(w.NoteReads(w.ctx))
			w.clock.Advance(time.Hour)
			_, err := w.db.Expire(w.ctx, ledger.Batch{})
			w.must(err)
			return blobtest.Fault{}
		}
	}
	w.has("k", "data")
	w.has("k", "data")
}
