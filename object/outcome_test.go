package object_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// Commits whose response is lost, whether they happened or not.
func TestLostAnswersOfCommits(t *testing.T) {
	for _, n := range []int{0, 10, 5 * small} {
		for name, modes := range map[string][]mode{
			"done":             {lostDone},
			"undone":           {lostUndone},
			"undone then done": {lostUndone, lostDone},
		} {
			t.Run(fmt.Sprintf("%s of %d", name, n), func(t *testing.T) {
				w := newWorld(t, nil)
				data := noise(n, 20)
				w.ledger.fails("Commit", modes...)
				res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: int64(n)})
				w.must(err)
				if res.Object.ETag != etag(data) || res.Object.ID == "" || w.seen("unknown") == 0 {
					t.Errorf("%+v", res)
				}
				w.has("k", data)
				if w.seen("abandoned") != 0 {
					t.Error("a commit was compensated")
				}
				w.sound()
				w.has("k", data)
			})
		}
	}
}

// The answer is lost, and so are all about it: nothing is compensated by guess,
// the object is there or not, and the counters are exact.
func TestOutcomeThatCannotBeLearnt(t *testing.T) {
	for _, n := range []int{10, 5 * small} {
		for _, m := range []mode{lostDone, lostUndone} {
			w := newWorld(t, nil)
			data := noise(n, 21)
			w.ledger.decide = func(method string) mode {
				switch method {
				case "Outcome":
					return refused
				case "Commit":
					return m
				}
				return pass
			}

			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: int64(n)})
			w.wants(err, lethe.ErrUnknownOutcome)
			if w.seen("abandoned")+w.seen("abandoned late") != 0 {
				t.Error("compensated by guess")
			}
			w.sound()
			if m == lostDone {
				w.has("k", data)
			} else {
				w.hasNot("k")
				w.empty()
			}
		}
	}
}

func TestObjectReplacedBeforeItsOutcomeIsLookedUp(t *testing.T) {
	w := newWorld(t, nil)
	w.ledger.fails("Commit", lostDone)
	once := true
	w.ledger.on("Outcome", func() {
		if once {
			once = false
			_, err := w.db.Delete(w.ctx, ledger.Deletion{Op: lethe.RandomID(w.clock.Now()), Bucket: bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
			w.must(err)
		}
	})
	data := noise(5*small, 22)
	res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: 5 * small})
	w.must(err)
	if res.Object.ETag != etag(data) || res.Object.ID == "" || res.Object.ModifiedAt == 0 {
		t.Errorf("%+v", res.Object)
	}
	w.hasNot("k")
}

func TestLedgerThatRefuses(t *testing.T) {
	for _, n := range []int{10, 5 * small} {
		for _, method := range []string{"Begin", "Commit"} {
			w := newWorld(t, nil)
			w.ledger.fails(method, refused, refused, refused, refused)
			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 23)), Size: int64(n)})
			w.wants(err, lethe.ErrUnavailable)
			w.empty()
		}
	}
}

// A refusal by a hold is certain: it is not looked up.
func TestPutOverAHeldKey(t *testing.T) {
	w := newWorld(t, nil)
	for _, n := range []int{10, 5 * small} {
		_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 3)), Size: int64(n)})
		w.must(err)
		_, err = w.db.AddHold(w.ctx, ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: "k"})
		w.must(err)
		_, err = w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(noise(n, 4)), Size: int64(n)})
		w.wants(err, lethe.ErrHeld)
		if w.seen("unknown") != 0 {
			t.Errorf("a refusal was taken for an unknown outcome: %v", w.events)
		}
		w.must(w.db.ReleaseHold(w.ctx, ledger.Hold{Bucket: bucket, Scope: ledger.HoldObject, Key: "k"}))
	}
}

// A lost response about the intent costs the intent, and the result stays true.
func TestLostAnswerOfBegin(t *testing.T) {
	for _, m := range []mode{lostDone, lostUndone} {
		for _, n := range []int{10, 5 * small} {
			w := newWorld(t, nil)
			w.ledger.fails("Begin", m)
			data := noise(n, 24)
			_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader(data), Size: int64(n)})
			w.must(err)
			w.has("k", data)
			w.sound()
		}
	}
}

// When neither the commit nor the giving up is answered, the reaper may finish a
// write that is proven by its bytes: the client is told that it is open.
func TestUnconfirmedAbandonOfAProvenWrite(t *testing.T) {
	w := newWorld(t, nil)
	w.breaks("disk1", blobtest.OpPut, blobtest.Fault{Kind: blobtest.DoneError})
	w.breaks("disk2", blobtest.OpPut, blobtest.Fault{Kind: blobtest.Down})
	w.ledger.fails("Abandon", refused, refused, refused)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
	w.wants(err, lethe.ErrUnknownOutcome)
	w.clock.Advance(2 * minAge)
	in, err := w.db.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk1", Limit: 10, MinAge: minAge})
	w.must(err)
	if len(in.Intents) != 1 || in.Intents[0].Promotion == nil {
		t.Fatalf("%+v", in)
	}
	_, err = w.db.Promote(w.ctx, in.Fence, in.Intents[0].Blob.ID, lethe.BlockSums{})
	w.must(err)
	w.has("k", "data")
	w.sound()
}

// The reaper finishes the write while the writer is about to commit it.
func TestPromotedInTheWritersPlace(t *testing.T) {
	w := newWorld(t, nil)
	commits := 0
	w.ledger.on("Commit", func() {
		if commits++; commits != 2 {
			return
		}
		w.clock.Advance(2 * minAge)
		in, err := w.db.ClaimIntents(w.ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk1", Limit: 10, MinAge: minAge})
		w.must(err)
		_, err = w.db.Promote(w.ctx, in.Fence, in.Intents[0].Blob.ID, lethe.BlockSums{})
		w.must(err)
	})
	res, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
	w.must(err)
	if res.Object.ETag != etag("data") {
		t.Errorf("%+v", res.Object)
	}
	w.has("k", "data")
	w.sound()
}

func TestLostAnswersOfOtherOperations(t *testing.T) {
	for _, m := range []mode{lostDone, lostUndone} {
		w := newWorld(t, nil)
		w.put("a", "data")
		w.ledger.fails("Update", m)
		tags := map[string]string{"x": "y"}
		o, err := w.Update(w.ctx, ledger.Update{Bucket: bucket, Key: "a", Tags: &tags})
		w.must(err)
		if o.Tags["x"] != "y" {
			t.Errorf("%+v", o)
		}
		w.ledger.fails("Delete", m)
		d, err := w.Delete(w.ctx, object.DeleteRequest{Bucket: bucket, Items: []ledger.DeleteItem{{Key: "a"}, {Key: "b", If: ledger.Precondition{IfMatch: "x"}}}})
		w.must(err)
		if len(d) != 2 || d[0].Err != nil || d[1].Err == nil {
			t.Errorf("%+v", d)
		}
		if lost := m == lostDone; errors.Is(d[1].Err, lethe.ErrUnknownOutcome) != lost {
			t.Errorf("mode %v: %v", m, d[1].Err)
		}
		w.hasNot("a")
		w.empty()
	}
}

// TestLostAnswerOfAnUpdateWhoseObjectIsGone: found by the simulation. The update
// happened; that its object is gone by the time of the look-up does not undo it.
func TestLostAnswerOfAnUpdateWhoseObjectIsGone(t *testing.T) {
	w := newWorld(t, nil)
	w.put("a", "data")
	w.ledger.fails("Update", lostDone)
	w.ledger.on("Outcome", func() {
		_, err := w.ledger.ObjectLedger.Delete(w.ctx, ledger.Deletion{
			Op: lethe.RandomID(w.clock.Now()), Bucket: bucket, Items: []ledger.DeleteItem{{Key: "a"}},
		})
		w.must(err)
	})
	tags := map[string]string{"x": "y"}
	o, err := w.Update(w.ctx, ledger.Update{Bucket: bucket, Key: "a", Tags: &tags})
	w.must(err)
	if o.Tags["x"] != "y" || o.ID == "" {
		t.Errorf("%+v", o)
	}
	w.hasNot("a")
}

// TestAWriteThatTheReaperMayFinishIsNotTriedElsewhere: found by the simulation.
// The bytes lie on the first backend, its answer was lost, and so was the word to
// give the write up: the reaper may finish it. A try elsewhere that failed for
// certain would let the client believe that nothing happened.
func TestAWriteThatTheReaperMayFinishIsNotTriedElsewhere(t *testing.T) {
	w := newWorld(t, nil)
	w.breaks("disk1", blobtest.OpPut, blobtest.Fault{Kind: blobtest.DoneError})
	w.ledger.fails("Abandon", refused)
	_, err := w.Put(w.ctx, object.PutRequest{Bucket: bucket, Key: "k", Body: strings.NewReader("data"), Size: 4})
	w.wants(err, lethe.ErrUnknownOutcome)
	if n := w.backends["disk2"].Len(); n != 0 || w.seen("begun") != 1 {
		t.Errorf("%d intents, %d blobs on the other disk", w.seen("begun"), n)
	}
}
