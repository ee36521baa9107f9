package incidents_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
)

// SeaweedFS #10743, #10735: an orphan's removal raced its insertion anew: the
// check was right, and the act came after the insert. Here the insert makes a
// blob of a new name, and the delete under way has the old one.
func TestSeaweedFS10743_RemovalRacesReinsertion(t *testing.T) {
	each(t, func(w *world) {
		const body = "removed and stored again"
		w.put("b/a", body)
		w.delete("b/a")
		w.clock.Advance(w.safety.ReadGrace)
		w.interrupts(blobtest.OpDelete, func() { w.put("b/a", body) })
		equal(w, "gone", w.pass(w.clean())["gone"], 1)
		w.has("b/a", body)
		w.ends(map[string]string{"b/a": body})
	})

	n := newNaive()
	n.bytes["hash"] = "body"
	orphan := !n.named("hash")
	n.put("a", "hash", "body")
	if orphan {
		delete(n.bytes, "hash")
	}
	n.loses(t, "a")
}

// s3-orchestrator: PUT k; DELETE k, whose backend delete times out and is
// queued; PUT k again; the queue is run: the new object is gone, and the
// metadata still list it. Here each write has a name of its own, so that the
// queued delete, its repetition and one that lands after all hit old bytes.
func TestOrchestrator_PutDeletePutThenTheQueueRuns(t *testing.T) {
	for _, kind := range []blobtest.Kind{blobtest.NotDone, blobtest.DoneError, blobtest.Late} {
		t.Run(kind.String(), func(t *testing.T) {
			each(t, func(w *world) {
				w.put("b/k", "body")
				w.delete("b/k")
				w.clock.Advance(w.safety.ReadGrace)
				w.breaks(blobtest.OpDelete, blobtest.Fault{Kind: kind})
				equal(w, "queued again", w.pass(w.clean())["retried"], 1)
				w.heal()
				w.put("b/k", "body")
				w.clock.Advance(w.safety.BackoffMin)
				equal(w, "gone", w.pass(w.clean())["gone"], 1)
				w.has("b/k", "body")
				w.ends(map[string]string{"b/k": "body"})
			})
		})
	}

	n := newNaive()
	n.put("k", "k", "body")
	delete(n.rows, "k")
	n.queue = append(n.queue, "k") // the backend timed out
	n.put("k", "k", "body")
	n.drain()
	n.loses(t, "k")
}

// s3-orchestrator #1527: two writers of one key race; the clean-up of the one
// that lost deletes the key, and with it what the winner committed later. Here
// the loser gives up its own blob, by its own name, whoever wins.
func TestOrchestrator1527_CleanupOfALostRace(t *testing.T) {
	each(t, func(w *world) {
		winner, loser := strings.Repeat("winner ", small), strings.Repeat("loser ", small)
		overtaken := false
		race := func(int) {
			if !overtaken {
				overtaken = true
				w.put("b/k", winner)
			}
		}
		r := w.request("b/k", slowly(loser, small, race), len(loser))
		r.If = ledger.Precondition{IfNoneMatch: "*"}
		_, err := w.objects.Put(w.ctx, r)
		w.wants(err, lethe.ErrPreconditionFailed)
		w.must(w.engine())
		w.has("b/k", winner)

		// And one whose clean-up is late: its upload times out, and lands in the end.
		w.breaks(blobtest.OpPut, blobtest.Fault{Kind: blobtest.Late})
		if err := w.tryPut("b/k", "an upload that is given up"); err == nil {
			w.Error("an upload without an answer was acknowledged")
		}
		w.heal()
		w.put("b/k", winner+"again")
		w.must(w.engine())
		w.landLate()
		w.has("b/k", winner+"again")
		w.ends(map[string]string{"b/k": winner + "again"})
	})

	n := newNaive()
	n.put("k", "k", "loser")
	n.put("k", "k", "winner")
	n.queue = append(n.queue, "k") // the loser's clean-up
	n.drain()
	n.loses(t, "k")
}

// s3-orchestrator: when the metadata of an overwrite could not be written, its
// clean-up deleted the key in place, and the acknowledged old version was gone.
// Here an overwrite that fails gives up the new blob; the row and the bytes of
// the old one were never touched.
func TestOrchestrator_FailedOverwriteDestroysTheOldVersion(t *testing.T) {
	each(t, func(w *world) {
		w.put("b/k", "version 1")
		w.refuses("commit", lethe.ErrUnavailable)
		w.wants(w.tryPut("b/k", "version 2"), lethe.ErrUnavailable)
		w.heal()
		w.has("b/k", "version 1")
		w.breaks(blobtest.OpPut, blobtest.Fault{Kind: blobtest.DoneError})
		if err := w.tryPut("b/k", "version 3"); err == nil {
			w.Error("an upload without an answer was acknowledged")
		}
		w.ends(map[string]string{"b/k": "version 1"})
	})

	n := newNaive()
	n.put("k", "k", "version 1")
	n.bytes["k"] = "version 2" // uploaded; the metadata fail
	delete(n.bytes, "k")       // cleaned up
	n.loses(t, "k")
}

// restic #3569: a laptop slept during a backup, its lock went stale and was
// removed, prune deleted the packs that nothing referred to yet, the laptop woke
// up and wrote a snapshot of them. Here no lock is trusted: who was overtaken
// finds its intent reaped and fails; nothing refers to what is gone.
func TestRestic3569_TheLaptopSleeps(t *testing.T) {
	each(t, func(w *world) {
		body := strings.Repeat("backup ", small)
		sleep := func() {
			w.clock.Advance(30 * time.Hour)
			w.must(w.engine())
			w.clock.Advance(30 * time.Hour)
			w.must(w.engine())
		}
		asleep := func(n int) {
			if n == 3 {
				sleep()
			}
		}
		_, err := w.objects.Put(w.ctx, w.request("b/snapshot", slowly(body, small, asleep), len(body)))
		w.wants(err, lethe.ErrReaped)
		doze := func() {
			w.clock.Advance(w.safety.MinAge)
			equal(w, "given up", w.pass(w.reap())["dropped"], 1)
		}
		for _, asleep := range []func(){sleep, doze} { // its bytes are complete, then it sleeps
			w.during("commit", asleep)
			w.wants(w.tryPut("b/snapshot", body), lethe.ErrReaped)
		}
		w.hasNot("b/snapshot")

		m := w.multipart("b/parts")
		m.part(1, "a pack")
		sleep()
		_, err = w.objects.PutPart(w.ctx, m.request(2, "another pack"))
		w.wants(err, lethe.ErrNoSuchUpload)
		w.ends(nil)
	})

	n := newNaive()
	n.bytes["pack"] = "body"
	locked := false // the lock was stale, and was removed
	if !locked && !n.named("pack") {
		delete(n.bytes, "pack")
	}
	n.rows["snapshot"] = "pack"
	n.loses(t, "snapshot")
}

// The other zombie of restic #3569: the pruner sleeps, between its claim and its
// delete, and wakes up when another has taken over, all was deleted, and the
// same content was stored again. Its delete hits a name that nobody uses, and
// what it records is fenced, so that nothing is counted twice.
func TestRestic3569_ThePrunerSleeps(t *testing.T) {
	each(t, func(w *world) {
		w.put("b/k", "body")
		w.delete("b/k")
		w.clock.Advance(w.safety.ReadGrace)
		w.interrupts(blobtest.OpDelete, func() {
			w.clock.Advance(w.safety.ClaimGrace)
			equal(w, "claims taken over", w.pass(w.watch())["recovered"], 1)
			equal(w, "gone by the other", w.pass(w.clean())["gone"], 1)
			w.put("b/k", "body")
		})
		counts := w.pass(w.clean())
		equal(w, "fenced", counts["fenced"], 1)
		equal(w, "gone", counts["gone"], 0)

		// And when the other is in the middle of it.
		w.put("b/other", "other body")
		w.delete("b/other")
		w.clock.Advance(w.safety.ReadGrace)
		var other ledger.Claimed
		w.interrupts(blobtest.OpDelete, func() {
			w.clock.Advance(w.safety.ClaimGrace)
			equal(w, "claims taken over", w.pass(w.watch())["recovered"], 1)
			var err error
			other, err = w.ledger.ClaimCondemned(w.ctx, ledger.ClaimRequest{Worker: "other", Backend: backend, Limit: limit})
			w.must(err)
		})
		equal(w, "fenced", w.pass(w.clean())["fenced"], 1)
		settled, err := w.ledger.Settle(w.ctx, ledger.Settlement{
			Fence: other.Fence, Items: []ledger.SettleItem{{ID: other.Blobs[0].ID, Result: ledger.Absent}},
		})
		w.must(err)
		equal(w, "gone by the other, once", settled.Gone, 1)
		w.ends(map[string]string{"b/k": "body"})
	})

	harmed(t, func(wokeUp bool) bool {
		who := []string{"who took over"}
		if wokeUp {
			who = append(who, "who woke up")
		}
		used := 1
		for range who { // settled by whoever deletes, unfenced: counted twice
			used--
		}
		return used != 0
	})
}

// SeaweedFS #9944: the commit of a compaction was two renames, and came a second
// time, late: it deleted the file that had become the live one. Here a commit is
// one transaction that records its operation: the duplicate changes nothing,
// whatever has happened to the key since, and so does a duplicate settlement.
func TestSeaweedFS9944_ALateDuplicateCommit(t *testing.T) {
	each(t, func(w *world) {
		w.put("b/k", "compacted")
		commit := w.ledger.commit
		w.put("b/k", "live since")
		deleted := w.blobs(lethe.Condemned)
		equal(w, "condemned", len(deleted), 1)
		_, err := w.ledger.wholeLedger.Commit(w.ctx, commit)
		w.must(err)
		w.has("b/k", "live since")

		w.delete("b/k")
		deletion := w.ledger.deletion
		w.put("b/k", "live again")
		if _, err := w.ledger.wholeLedger.Delete(w.ctx, deletion); err == nil {
			w.Error("a deletion was applied twice")
		}
		w.clock.Advance(w.safety.ReadGrace)
		w.pass(w.clean())
		again, err := w.ledger.wholeLedger.Settle(w.ctx, w.ledger.settlement)
		w.must(err)
		equal(w, "settled twice", again.Gone, 0)
		w.ends(map[string]string{"b/k": "live again"})
	})

	n := newNaive()
	commit := func() { // rename the new file over the old one, delete the old one
		delete(n.bytes, n.rows["k"])
		n.rows["k"] = "compacted"
	}
	n.put("k", "old", "body")
	n.bytes["compacted"] = "body"
	commit()
	commit()
	n.loses(t, "k")
}

// JuiceFS #4808: a write of metadata timed out. Deleting its upload would corrupt
// if it was written, keeping it would leak if it was not, and nobody could tell.
// Here the transaction records the operation: its outcome is looked up; while
// even that fails the client is told so, and the upload is left to the reaper,
// who finds its row live or pending.
func TestJuiceFS4808_TimeoutOfAMetadataWrite(t *testing.T) {
	body := strings.Repeat("body ", small)
	for name, done := range map[string]bool{"it was written": true, "it was not": false} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				w.times(done, true)
				w.wants(w.tryPut("b/k", body), lethe.ErrUnknownOutcome)
				alive := map[string]string{}
				if done {
					alive["b/k"] = body
				}
				w.ends(alive)
			})
		})
		t.Run(name+", which can be learnt", func(t *testing.T) {
			each(t, func(w *world) {
				w.times(done, false)
				w.put("b/k", body) // what was not written is written again
				w.ends(map[string]string{"b/k": body})
			})
		})
	}

	timeout := errors.New("timeout")
	for _, written := range []bool{true, false} {
		compensates, keeps := newNaive(), newNaive()
		for _, n := range []*naive{compensates, keeps} {
			n.bytes["upload"] = "body"
			if written {
				n.rows["k"] = "upload"
			}
		}
		if timeout != nil {
			delete(compensates.bytes, "upload")
		}
		if written {
			compensates.loses(t, "k")
		} else {
			keeps.leaks(t, "upload")
		}
	}
}

// times lets the next commit time out, done or not; down: and whatever is asked
// after it.
func (w *world) times(done, down bool) {
	commits := 0
	w.ledger.around = func(method string, do func() error) error {
		switch {
		case method == "outcome" && down:
			return lethe.ErrUnavailable
		case method != "commit" || commits > 0 && !down:
			return do()
		}
		if commits++; done {
			w.must(do())
		}
		return lethe.ErrUnknownOutcome
	}
}
