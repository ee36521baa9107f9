package incidents_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// JuiceFS #6479: gc --delete listed the slices that are referenced, ignored the
// listing's errors, and deleted every object that the broken list did not name.
// Here nothing is deleted for not being in a list: deletes are for rows that a
// transaction condemned, and fsck, which does list, only reports.
func TestJuiceFS6479_ListingErrorsSwallowed(t *testing.T) {
	each(t, func(w *world) {
		alive := w.fill("b", 7)
		for name, broken := range map[string]func(){
			"the listing of the backend ends early": func() {
				w.breaks(blobtest.OpList, blobtest.Fault{Kind: blobtest.Partial, Keep: 2})
			},
			"the rows cannot be listed":    func() { w.refuses("blobs", lethe.ErrUnavailable) },
			"the rows cannot be looked up": func() { w.refuses("blobs by id", lethe.ErrUnavailable) },
		} {
			broken()
			if _, err := w.try(w.verify(nil)); err == nil {
				w.Errorf("%s, and fsck says nothing", name)
			}
			w.must(w.engine())
			equal(w, "live blobs after "+name, len(w.blobs(lethe.Live)), len(alive))
			w.heal()
		}
		w.ends(alive)
	})

	n := newNaive()
	for i := range 5 {
		n.put(fmt.Sprint(i), fmt.Sprint("slice ", i), "body")
	}
	marked := map[string]bool{}
	_ = listBroken(n, 2, func(name string) { marked[name] = true }) // the error is swallowed
	sweep(n, marked)
	n.loses(t, "4")
}

// listBroken tells the names that rows refer to, in order, and breaks off.
func listBroken(n *naive, after int, tell func(name string)) error {
	for i := range len(n.rows) {
		if i >= after {
			return errors.New("the listing broke off")
		}
		tell(n.rows[fmt.Sprint(i)])
	}
	return nil
}

// sweep deletes all bytes that were not marked.
func sweep(n *naive, marked map[string]bool) {
	maps.DeleteFunc(n.bytes, func(name, _ string) bool { return !marked[name] })
}

// Harbor #15445, #12975, #19308: the mark step of one project failed for want of
// database connections, that was logged, and the sweep went on: tagged images of
// that project were lost. Here there is no mark step to be skipped; whichever
// call of whichever routine fails, what lives stays, and what is dead goes later.
func TestHarbor15445_MarkOfOneProjectFailed(t *testing.T) {
	each(t, func(w *world) {
		alive := w.fill("b", 4)
		maps.Copy(alive, w.fill("b2", 4))
		exhausted := fmt.Errorf("remaining connection slots are reserved: %w", lethe.ErrUnavailable)
		for _, method := range []string{
			"expire", "claim", "settle", "recover", "claim intents", "stale uploads", "purge", "recount", "blobs", "blobs by id",
		} {
			w.put("b/tag", "a body for "+method)
			w.delete("b/tag")
			w.clock.Advance(w.safety.ReadGrace)
			w.refuses(method, exhausted)
			failed := w.engine()
			_, verified := w.try(w.verify(nil))
			if failed == nil && verified == nil {
				w.Errorf("%s failed unseen", method)
			}
			w.heal()
			for at, body := range alive {
				w.has(at, body)
			}
		}
		w.ends(alive)
	})

	n := newNaive()
	n.put("project 1/tag", "layer 1", "body")
	n.put("project 2/tag", "layer 2", "body")
	marked := map[string]bool{}
	for _, project := range []string{"project 1", "project 2"} {
		if project == "project 2" {
			continue // "remaining connection slots are reserved": logged, and on
		}
		marked[n.rows[project+"/tag"]] = true
	}
	sweep(n, marked)
	n.loses(t, "project 2/tag")
}

// distribution (openshift #9755): the registry must be read-only while its
// collector runs, because a layer pushed between mark and sweep is swept. Here
// every step of every routine runs between two writes, and during one: each
// delete call of the engine is interrupted by a client that stores, replaces and
// removes.
func TestDistribution9755_CollectingWhileClientsWrite(t *testing.T) {
	each(t, func(w *world) {
		alive := map[string]string{}
		client := clientOf(w, alive)
		for range 30 {
			client()
			w.clock.Advance(w.safety.ReadGrace)
			for _, r := range w.routines() {
				w.interrupts(blobtest.OpDelete, client)
				w.pass(r)
				w.heal()
				client()
			}
		}
		w.ends(alive)
	})

	n := newNaive()
	n.put("old", "layer 1", "body")
	marked := map[string]bool{"layer 1": true}
	n.put("pushed between mark and sweep", "layer 2", "body")
	sweep(n, marked)
	n.loses(t, "pushed between mark and sweep")
}

// clientOf is a client whose every turn stores, replaces and removes something,
// bodies that others have among them, and keeps what must be there in alive.
func clientOf(w *world, alive map[string]string) func() {
	turn := 0
	return func() {
		turn++
		at := fmt.Sprintf("b/key %d", turn%7)
		body := fmt.Sprintf("one of few bodies: %d", turn%5)
		w.put(at, body)
		alive[at] = body
		gone := fmt.Sprintf("b/key %d", (turn*3+1)%7)
		w.delete(gone)
		delete(alive, gone)
		for at, body := range alive {
			w.has(at, body)
		}
	}
}

// SeaweedFS #10745: the cleanup of orphans asked a replica that lagged behind
// whether a chunk was in use. Here the one who decides about a delete is the
// transaction that condemns; fsck reading old rows reports what is not so, and
// still nothing is deleted.
func TestSeaweedFS10745_OrphansByAStaleRead(t *testing.T) {
	each(t, func(w *world) {
		alive := w.fill("b", 4)
		w.ledger.around = func(method string, do func() error) error {
			if method == "blobs by id" {
				return nil // a replica that has none of the rows yet
			}
			return do()
		}
		reported := 0
		w.pass(w.verify(func(p reclaim.Problem) { reported++ }))
		equal(w, "false reports", reported, len(alive))
		w.must(w.engine())
		w.ends(alive)
	})

	n := newNaive()
	replica := maps.Clone(n.rows)
	n.put("a", "chunk", "body")
	for name := range n.bytes {
		if !(&naive{rows: replica}).named(name) {
			delete(n.bytes, name)
		}
	}
	n.loses(t, "a")
}

// s3-orchestrator #436 and #453: a lifecycle rule with an empty prefix matched,
// and deleted, everything. Here what names nothing does nothing: an empty key is
// refused, and an empty list, prefix or id selects no work.
func TestOrchestrator453_AnEmptyPrefixIsEverything(t *testing.T) {
	each(t, func(w *world) {
		alive := w.fill("b", 3)
		maps.Copy(alive, map[string]string{"b/100%": "percent", "b/100_": "underscore", "b/1000": "digits"})
		for at, body := range alive {
			w.put(at, body) // those of fill once more: nothing changes
		}
		gone, err := w.ledger.Delete(w.ctx, ledger.Deletion{Op: lethe.RandomID(w.clock.Now()), Bucket: "b", Items: []ledger.DeleteItem{{}}})
		w.must(err)
		w.wants(gone.Items[0].Err, lethe.ErrInvalidKey)
		w.delete("b/100%", "b/100_")
		delete(alive, "b/100%")
		delete(alive, "b/100_")
		for what, do := range map[string]func() (int, error){
			"requeued":    func() (int, error) { return w.ledger.Requeue(w.ctx, nil) },
			"written off": func() (int, error) { return w.ledger.WriteOff(w.ctx, []lethe.ID{""}) },
			"purged":      func() (int, error) { return w.ledger.PurgeTrash(w.ctx, nil) },
		} {
			n, err := do()
			w.must(err)
			equal(w, what, n, 0)
		}
		w.wants(w.objects.Abort(w.ctx, "b", "", ""), lethe.ErrNoSuchUpload)
		w.ends(alive)
	})

	n := newNaive()
	n.put("kept", "name", "body")
	for key, name := range n.rows {
		if forgotten := ""; strings.HasPrefix(key, forgotten) {
			n.queue = append(n.queue, name)
		}
	}
	n.drain()
	n.loses(t, "kept")
}
