package incidents_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object/importer"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// orphanAge is how old an orphan must be.
const orphanAge = 48 * time.Hour

// reconciled is the setting in which reconcile compares both sides.
var reconciled = setting{paired: true}

// walk compares the backends with the ledger once, and condemns what it may.
func (w *world) walk() map[string]int64 {
	w.Helper()
	return w.pass(w.reconciling())
}

func (w *world) reconciling() *reconcile.Routine {
	return reconcile.New(reconcile.Options{
		Ledger: w.ledger, Stores: w.stores(), Pairing: w.pairing, Store: w.store, Clock: w.clock, NewID: w.newID, Grace: orphanAge,
	})
}

// plant puts bytes on the backend that nobody has a row for.
func (w *world) plant(key string) {
	w.Helper()
	w.must(w.bytes.Put(w.ctx, key, strings.NewReader("planted"), 7))
}

// plantTheirs puts bytes there that are somebody else's, and have to stay.
func (w *world) plantTheirs(keys ...string) {
	w.Helper()
	for _, key := range keys {
		w.plant(key)
	}
	w.theirs = append(w.theirs, keys...)
}

// plantOrphan puts bytes there under a name of ours without a row.
func (w *world) plantOrphan() {
	w.Helper()
	w.plant(lethe.BlobKey(w.store, w.newID()))
}

// sweepOrphans walks twice, the age of an orphan apart, and demands that n went.
func (w *world) sweepOrphans(n int64) {
	w.Helper()
	equal(w, "orphans condemned when seen first", w.walk()[reconcile.Condemned], 0)
	w.clock.Advance(orphanAge - time.Second)
	equal(w, "orphans condemned too soon", w.walk()[reconcile.Condemned], 0)
	w.clock.Advance(time.Second)
	counts := w.walk()
	equal(w, "orphans condemned", counts[reconcile.Condemned], n)
	equal(w, "live blobs taken for missing", counts[reconcile.Missing], 0)
	w.must(w.engine())
}

// s3-orchestrator #1325 by its own means: reconcile and import. Keys of deleted
// objects that wait in the queue, or are dead letters, lie on the backend, and no
// object names them. Here a blob that waits has a row, so it is no orphan; and the
// import of what is foreign never takes a name of this store.
func TestOrchestrator1325_ImportOfWhatIsQueued(t *testing.T) {
	s := reconciled
	s.place = folder
	s.each(t, func(w *world) {
		w.put("b/k", "deleted")
		w.put("b/alive", "alive")
		w.delete("b/k")
		w.breaks(blobtest.OpDelete, blobtest.Fault{Kind: blobtest.NotDone})
		for range w.safety.Attempts + 1 { // queued, then a dead letter
			w.clock.Advance(w.safety.BackoffMax + orphanAge)
			w.must(w.engine())
			equal(w, "orphans", w.walk()[reconcile.Orphans], 0)
			equal(w, "imported", w.importAll("b"), 0)
			w.hasNot("b/k")
		}
		w.heal()
		equal(w, "dead letters requeued", w.requeue(), 1)
		w.ends(map[string]string{"b/alive": "alive"})
	})

	n := newNaive()
	n.bytes["k"], n.queue = "deleted", []string{"k"}
	for name := range n.bytes {
		if !n.named(name) {
			n.rows[name] = name // imported, and the queue is not asked
		}
	}
	n.drain()
	n.loses(t, "k")
}

// importAll makes objects of all that is foreign on the backend, and answers how
// many.
func (w *world) importAll(bucket string) (n int) {
	w.Helper()
	i, err := importer.New(importer.Options{Objects: w.objects, Backend: backend, Source: w.bytes, Store: w.store})
	w.must(err)
	w.must(i.Run(w.ctx, importer.Request{Bucket: bucket}, func(r importer.Result) {
		if r.Outcome == importer.Imported {
			n++
		}
	}))
	return n
}

// s3-orchestrator #1468: a bulk conversion read an object, a client replaced it,
// and the conversion wrote what it had read over it. Here an import makes an object
// only where none is, in the transaction that makes it: what a client writes
// meanwhile stays.
func TestOrchestrator1468_BulkWorkRevertsAWrite(t *testing.T) {
	s := reconciled
	s.place = folder
	s.each(t, func(w *world) {
		w.plantTheirs("import/1", "import/2")
		w.put("b/import/1", "written before")
		w.during("commit", func() { w.put("b/import/2", "written meanwhile") })
		equal(w, "imported", w.importAll("b"), 0)
		equal(w, "imported by a second run", w.importAll("b"), 0)
		w.delete("b/import/2")
		equal(w, "imported where nothing lies any more", w.importAll("b"), 1)
		w.put("b/import/2", "written after")
		w.ends(map[string]string{"b/import/1": "written before", "b/import/2": "written after"})
	})

	n := newNaive()
	n.put("k", "v1", "read by the conversion")
	converted := n.bytes[n.rows["k"]]
	n.put("k", "v2", "written by a client")
	n.bytes["converted"], n.rows["k"] = converted, "converted"
	if n.bytes[n.rows["k"]] == "written by a client" {
		t.Error("the naive design kept the client's: this scenario proves nothing")
	}
}

// Supabase #830: the scanner listed a bucket by its name without a slash, so that
// "images" was "images2", too, whose objects had no row in "images": orphans. Here
// names on the backend have no bucket in them; what is ours is told by a whole
// parsed name, and a store whose id begins as ours does is a foreign one.
func TestSupabase830_ImagesMatchesImages2(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 3)
		maps.Copy(alive, w.fill("b2", 3))
		w.plantTheirs(
			string(w.store)+"2"+strings.TrimPrefix(lethe.BlobKey(w.store, w.newID()), string(w.store)),
			string(w.store)+"x/images", string(w.store[:len(w.store)-1])+"/00/images",
			lethe.BlobKey(lethe.RandomID(w.clock.Now()), w.newID()), // another store's
		)
		w.plantOrphan()
		w.sweepOrphans(1)
		w.ends(alive)
	})

	n := newNaive()
	n.put("images2/cat", "images2/cat", "body")
	ofImages := map[string]bool{} // the rows of the bucket images
	for name := range n.bytes {
		if strings.HasPrefix(name, "images") && !ofImages[name] {
			delete(n.bytes, name)
		}
	}
	n.loses(t, "images2/cat")
}

// lakeFS #8518 and s3-orchestrator #1160: one foreign key stopped all collection,
// or put a merge of two sorted sides out of step, so that what lived was taken for
// missing and imported anew. Here foreign keys take part in the order as they are,
// are reported, and change nothing for the others.
func TestLakeFS8518_OneForeignKey(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 5)
		w.plantOrphan()
		folder, _, _ := strings.Cut(strings.TrimPrefix(w.keys()[2], string(w.store)+"/"), "/")
		w.plantTheirs("0", "test", "zzzz", string(w.store)+"/"+folder+"/0", string(w.store)+"/"+folder+"/zzz")
		counts := w.walk()
		equal(w, "foreign", counts[reconcile.Foreign], int64(len(w.theirs)))
		equal(w, "missing", counts[reconcile.Missing], 0)
		w.clock.Advance(orphanAge)
		w.sweepOrphansSeen(1)
		w.ends(alive)
	})

	listed, rows := []string{"test", "unified/a", "unified/b"}, []string{"unified/a", "unified/b"}
	for i := range listed {
		if !strings.HasPrefix(listed[i], "unified/") {
			listed[i] = "unified/" + listed[i] // out of order from here on
		}
	}
	missing := 0
	for _, key := range listed { // the merge
		for len(rows) > 0 && rows[0] < key {
			missing, rows = missing+1, rows[1:]
		}
		if len(rows) > 0 && rows[0] == key {
			rows = rows[1:]
		}
	}
	if missing == 0 {
		t.Error("the naive merge took nothing for missing: this scenario proves nothing")
	}
}

// sweepOrphansSeen is the second of two walks.
func (w *world) sweepOrphansSeen(n int64) {
	w.Helper()
	equal(w, "orphans condemned", w.walk()[reconcile.Condemned], n)
	w.must(w.engine())
}

// iceberg #4194, nora #584: whatever was older than three hours and in no snapshot
// was removed, while a job wrote for four. Here a write that takes ten days has a
// row all the time, whatever the age of its bytes.
func TestIceberg4194_AWriteLongerThanTheCutoff(t *testing.T) {
	reconciled.each(t, func(w *world) {
		body := strings.Repeat("slow ", 2*small/5)
		m := w.multipart("b/parts")
		m.part(1, "stored early")
		walks := 0
		pause := func(n int) {
			w.clock.Advance(time.Minute)
			if n%200 == 0 {
				walks++
				w.clock.Advance(orphanAge)
				equal(w, "orphans", w.walk()[reconcile.Orphans], 0)
			}
		}
		_, err := w.objects.Put(w.ctx, w.request("b/slow", slowly(body, 2, pause), len(body)))
		w.must(err)
		m.complete()
		w.interrupts(blobtest.OpList, func() { w.put("b/meanwhile", "written when the rows had been read") })
		equal(w, "orphans by a listing that came later", w.walk()[reconcile.Orphans], 0)
		if walks < 5 {
			w.Fatalf("only %d walks during the write", walks)
		}
		w.ends(map[string]string{"b/slow": body, "b/parts": "stored early", "b/meanwhile": "written when the rows had been read"})
	})

	harmed(t, func(long bool) bool {
		n, took := newNaive(), time.Hour
		if long {
			took = 4 * time.Hour
		}
		n.bytes["file"] = "written at 0 h"
		n.sweepOlder("file", took, 3*time.Hour)
		n.rows["snapshot"] = "file"
		return n.bytes[n.rows["snapshot"]] == ""
	})
}

// geolens #1249, #1401: a PUT that was accepted before its deadline was still being
// received when everything derived from that deadline had passed: the sweep deleted
// the key, the row went, and then the bytes landed. Every sweep began from a row.
// Here the row stays for the late window, and is deleted once more after it; what
// lands even later is found by reconcile, which begins from what lies there.
func TestGeolens1401_ThePutLandsAfterEveryDeadline(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 2)
		w.breaks(blobtest.OpPut, blobtest.Fault{Kind: blobtest.Late})
		if err := w.tryPut("b/late", "an upload that is given up"); err == nil {
			w.Error("an upload without an answer was acknowledged")
		}
		w.heal()
		for range 3 {
			w.clock.Advance(w.safety.LateWindow + time.Hour)
			w.must(w.engine())
		}
		equal(w, "rows", len(w.blobs()), len(alive))
		w.landLate()
		equal(w, "keys once it has landed", len(w.keys()), len(alive)+1)
		w.sweepOrphans(1)
		w.ends(alive)
	})

	n := newNaive()
	delete(n.bytes, "staged") // the sweep at the deadline; the row goes
	n.bytes["staged"] = "landed"
	n.leaks(t, "staged")
}

// fluss #3404, #3488: orphans were looked for below what the metadata still had, so
// those of a table whose database had been dropped stayed for ever. Here the walk is
// over the backend; no bucket has to be there for its orphans to be found.
func TestFluss3404_OrphansOfWhatIsDropped(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 2)
		_, err := w.objects.CreateBucket(w.ctx, ledger.Bucket{Name: "dropped", Owner: "alice"})
		w.must(err)
		w.put("dropped/table", "a table of the database")
		orphan := w.keys()
		w.delete("dropped/table")
		w.must(w.objects.DeleteBucket(w.ctx, "dropped", ""))
		w.clock.Advance(w.safety.ReadGrace)
		w.must(w.engine())
		for _, key := range orphan { // a backend that was put back as it was: the bytes are there again
			if !slices.Contains(w.keys(), key) {
				w.plant(key)
			}
		}
		equal(w, "keys with the orphan", len(w.keys()), len(alive)+1)
		w.clock.Advance(orphanAge)
		w.sweepOrphans(1)
		w.ends(alive)
	})

	n := newNaive()
	n.bytes["dropped/table"] = "body"
	for _, database := range []string{"kept"} { // those that there are
		for name := range n.bytes {
			if strings.HasPrefix(name, database+"/") && !n.named(name) {
				delete(n.bytes, name)
			}
		}
	}
	n.leaks(t, "dropped/table")
}

// paimon #7920: a listing failed in passing and was answered as an empty one; what
// lay there was taken for absent, and removed with its folder. Here what a listing
// leaves out is asked for by its name before anything is said of it, and an orphan
// that is not listed is no orphan seen twice.
func TestPaimon7920_AnEmptyListingWithoutAnError(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 5)
		w.plantOrphan()
		seen, orphan := w.disks[backend], w.keys()
		for _, b := range w.blobs() {
			orphan = slices.DeleteFunc(orphan, func(key string) bool { return key == lethe.BlobKey(w.store, b.ID) })
		}
		w.walk()
		for i, listed := range [][]string{nil, orphan} { // all that is listed; the orphan is not seen twice in a row
			w.disks[backend] = blindStore{seen, listed}
			w.clock.Advance(orphanAge)
			counts := w.walk()
			equal(w, fmt.Sprint("missing by listing ", i), counts[reconcile.Missing], 0)
			equal(w, fmt.Sprint("condemned by listing ", i), counts[reconcile.Condemned], 0)
			w.must(w.engine())
			equal(w, "live blobs", len(w.blobs(lethe.Live)), len(alive))
		}
		w.disks[backend] = seen
		w.clock.Advance(orphanAge)
		w.sweepOrphansSeen(1)
		w.ends(alive)
	})

	n := newNaive()
	n.put("k", "folder/file", "body")
	if listed := []string{}; len(listed) == 0 {
		sweep(n, map[string]bool{}) // the folder is empty: away with it
	}
	n.loses(t, "k")
}

// blindStore lists some keys, and says that these are all.
type blindStore struct {
	blob.Store
	shows []string
}

func (s blindStore) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	return s.Store.List(ctx, prefix, after, func(i blob.Info) error {
		if !slices.Contains(s.shows, i.Key) {
			return nil
		}
		return fn(i)
	})
}

// JuiceFS #6479 where keys are deleted for not having a row: reconcile. Whatever of
// either side cannot be read ends the walk, and nothing is condemned by it; the next
// one goes on.
func TestJuiceFS6479_ReconcileWithBrokenListings(t *testing.T) {
	reconciled.each(t, func(w *world) {
		alive := w.fill("b", 7)
		w.plantOrphan()
		w.walk()
		w.clock.Advance(orphanAge)
		for name, broken := range map[string]func(){
			"the listing of the backend ends early": func() {
				w.breaks(blobtest.OpList, blobtest.Fault{Kind: blobtest.Partial, Keep: 2})
			},
			"the listing is out of order":  func() { w.breaks(blobtest.OpList, blobtest.Fault{Kind: blobtest.Disorder}) },
			"the rows cannot be looked up": func() { w.refuses("blobs by id", lethe.ErrUnavailable) },
		} {
			broken()
			if _, err := w.try(w.reconciling()); err == nil {
				w.Errorf("%s, and reconcile says nothing", name)
			}
			w.heal()
			w.must(w.engine())
			equal(w, fmt.Sprint("live blobs after ", name), len(w.blobs(lethe.Live)), len(alive))
		}
		w.sweepOrphansSeen(1)
		w.ends(alive)
	})

	n := newNaive()
	n.put("0", "slice 0", "body")
	marked := map[string]bool{}
	_ = listBroken(n, 0, func(name string) { marked[name] = true })
	sweep(n, marked)
	n.loses(t, "0")
}
