package reconcile_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// modes are the two ways in which a backend is listed: as one, and folder by
// folder in chunks of a few rows, several at once.
var modes = map[string]func(*reconcile.Options){
	"as one": func(*reconcile.Options) {},
	"folders": func(o *reconcile.Options) {
		o.Small, o.Chunk, o.Page, o.Parallel = -1, 5, 3, 4
	},
}

func inModes(t *testing.T, test func(w *world)) {
	for name, set := range modes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.set = set
			test(w)
		})
	}
}

// TestOrphanGoes: seen by one walk, and by one that comes too soon, an orphan
// stays; after its grace it is condemned, and deleted as all others are.
func TestOrphanGoes(t *testing.T) {
	inModes(t, func(w *world) {
		for i := range 20 {
			w.put(fmt.Sprint("k", i), fmt.Sprint("body ", i), 1)
			w.later(time.Second)
		}
		orphan := w.plant()
		w.want(w.run(), counts{reconcile.Orphans: 1})
		w.want(w.run(), counts{reconcile.Orphans: 1})
		w.later(grace - time.Second)
		w.want(w.run(), counts{reconcile.Orphans: 1})
		w.later(time.Second)
		w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
		row, _ := w.ledger.Blob(orphan)
		if row.State != lethe.Condemned || row.Reason != lethe.ReasonOrphan || row.Backend != "main" || row.Size != 6 {
			t := w.T
			t.Fatalf("row is %+v", row)
		}
		clean := &routine.Clean{Ledger: w.ledger, Stores: w.stores, Store: w.store, Safety: reclaim.Safety{}.WithDefaults(), Limit: 10, Clock: w.clock, Admit: w.pairing.Check}
		c := &reclaim.Counts{}
		step := clean.Pass("c")
		for more := true; more; {
			var err error
			more, err = step(w.ctx, c.Add)
			w.must(err)
		}
		if _, there := w.main.Bytes(w.key(orphan)); there || w.state(orphan) != 0 {
			w.Error("the orphan was not deleted")
		}
		w.want(w.run(), counts{})
	})
}

// TestSeenOnce: age alone is not enough.
func TestSeenOnce(t *testing.T) {
	w := newWorld(t)
	w.plant()
	w.later(2 * grace)
	w.want(w.run(), counts{reconcile.Orphans: 1})
	w.want(w.run(), counts{reconcile.Orphans: 1})
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
}

// TestYoungName: a name of yesterday is no orphan's, however old its sighting is:
// one of the clocks is wrong.
func TestYoungName(t *testing.T) {
	w := newWorld(t)
	at := w.clock.Now()
	w.later(grace)
	id := w.id()
	w.clock.Set(at)
	w.main.Set(w.key(id), []byte("x"))
	w.want(w.run(), counts{reconcile.Orphans: 1})
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1})
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
}

// TestSightingsMustFollow: an orphan that a whole walk did not see is seen anew.
func TestSightingsMustFollow(t *testing.T) {
	w := newWorld(t)
	orphan := w.plant()
	w.run()
	data, _ := w.main.Bytes(w.key(orphan))
	_, err := w.main.Delete(w.ctx, []string{w.key(orphan)})
	w.must(err)
	w.want(w.run(), counts{})
	w.main.Set(w.key(orphan), data)
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1})
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
}

// TestRowComesBack: what has a row by the time of the condemning transaction is
// left to it.
func TestRowComesBack(t *testing.T) {
	w := newWorld(t)
	orphan := w.plant()
	w.run()
	w.later(grace)
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpStat {
			_, err := w.ledger.Begin(w.ctx, ledger.Intent{ID: orphan, Backend: "main", Size: 6})
			w.must(err)
		}
		return blobtest.Fault{}
	}
	w.want(w.run(), counts{reconcile.Orphans: 1})
	if w.state(orphan) != lethe.Pending {
		w.Errorf("state is %s", w.state(orphan))
	}
}

// TestOtherNames: foreign keys, those of another store, and blobs whose row names
// another backend are reported and stay.
func TestOtherNames(t *testing.T) {
	inModes(t, func(w *world) {
		moved := w.put("k", "body", 2)
		other := lethe.BlobKey(w.id(), w.id())
		row := w.key(moved)
		data, _ := w.main.Bytes(row)
		w.spare.Set(row, data)
		for _, key := range []string{
			"Photos/Cat.JPG", "zz", other, string(w.store), string(w.store) + "/readme", string(w.store) + "/00/notanid",
			string(w.store) + "/vv/\xff\x00", string(w.store) + "/vv/zzzz", string(w.store) + "0",
		} {
			w.main.Set(key, []byte("theirs"))
		}
		keys := len(w.main.Keys())
		for range 3 {
			w.want(w.run(), counts{reconcile.Foreign: 9, reconcile.Elsewhere: 1})
			w.later(grace)
		}
		if len(w.main.Keys()) != keys || len(w.found) != 10 {
			w.Errorf("%d keys of %d are left; found %v", len(w.main.Keys()), keys, w.found)
		}
		list, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{Backend: "spare"})
		w.must(err)
		if len(list) != 1 || list[0].Kind != ledger.FoundElsewhere || !strings.Contains(list[0].Detail, "on main") {
			w.Errorf("findings are %+v", list)
		}
	})
}

// TestBrokenListing: a listing that fails, ends early or is out of order has no
// candidates, condemns nothing, and is continued by the next run.
func TestBrokenListing(t *testing.T) {
	inModes(t, func(w *world) {
		for i := range 12 {
			w.put(fmt.Sprint("k", i), fmt.Sprint("body ", i), 1)
		}
		w.plant()
		w.run()
		w.later(grace)
		rows := len(w.main.Keys())
		for _, f := range []blobtest.Fault{{Kind: blobtest.Down}, {Kind: blobtest.NotDone}, {Kind: blobtest.Partial, Keep: 1}, {Kind: blobtest.Disorder}} {
			var broken atomic.Bool // listings run in parallel
			w.fault = func(c blobtest.Call) blobtest.Fault {
				// the pairing lists the epoch objects, and bypasses the faulty store.
				if c.Op == blobtest.OpList && f.Kind != blobtest.Disorder {
					broken.Store(true)
					return f
				}
				if c.Op == blobtest.OpList {
					return f
				}
				return blobtest.Fault{}
			}
			got, err := w.try()
			if err == nil && (broken.Load() || got[reconcile.Keys] == 0) {
				w.Errorf("%s: no error", f.Kind)
			}
			if err != nil && got[reconcile.Condemned]+got[reconcile.Missing]+got[reconcile.Lost] > 0 {
				w.Errorf("%s: %v", f.Kind, got)
			}
			if err == nil {
				return // no folder held two keys: nothing was out of order
			}
		}
		w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
		got := w.run()
		if got[reconcile.Condemned] == 0 { // its folder was read before another one broke: the next walk finds it
			got = w.run()
		}
		if got[reconcile.Condemned] != 1 || len(w.main.Keys()) != rows {
			w.Errorf("counts are %v", got)
		}
	})
}

// TestTooManyOrphans: a backend most of which has no row is reported only.
func TestTooManyOrphans(t *testing.T) {
	w := newWorld(t)
	w.put("k", "body", 1)
	for range 101 {
		w.plant()
	}
	why := ""
	w.events.HeldBack = func(_ string, _ int64, because string) { why = because }
	w.run()
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 101, reconcile.HeldBack: 101})
	if !strings.Contains(why, "most_share") {
		w.Errorf("why is %q", why)
	}
	w.set = func(o *reconcile.Options) { o.MostShare, o.MostOrphans, o.Page = 1, 70, 20 }
	w.want(w.run(), counts{reconcile.Orphans: 101, reconcile.Condemned: 70})
	w.want(w.run(), counts{reconcile.Orphans: 31, reconcile.Condemned: 31})
}

// TestOrphansBesideLosses: while bytes are lost that they may be, orphans are reported only.
func TestOrphansBesideLosses(t *testing.T) {
	w := newWorld(t)
	w.plant()
	lost, why := "a blob is lost", ""
	w.set = func(o *reconcile.Options) { o.Misses = func(context.Context) (string, error) { return lost, nil } }
	w.events.HeldBack = func(_ string, _ int64, because string) { why = because }
	w.run()
	w.later(grace)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1})
	if !strings.Contains(why, "after the backup: a blob is lost") {
		w.Errorf("why is %q", why)
	}
	lost = ""
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1})
}

// TestHeld: while the pairing is in doubt a walk only reports.
func TestHeld(t *testing.T) {
	w := newWorld(t)
	lost := w.put("k", "body", 1)
	w.plant()
	w.run()
	w.later(grace)
	w.must(w.ledger.HoldBackend(w.ctx, "main", "a person has to decide"))
	_, err := w.main.Delete(w.ctx, []string{w.key(lost)})
	w.must(err)
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	if row, _ := w.ledger.Blob(lost); row.Suspect {
		w.Error("it was marked")
	}
	w.must(w.ledger.HoldBackend(w.ctx, "main", ""))
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.Condemned: 1, reconcile.Missing: 1, reconcile.Lost: 1})
}

// TestCopyOfTheLedger: to an older copy, what was written since are orphans; the
// epoch on the backend shows it, and nothing is condemned.
func TestCopyOfTheLedger(t *testing.T) {
	w := newWorld(t)
	w.plant()
	w.run()
	w.later(grace)
	b, err := w.ledger.Backends(w.ctx)
	w.must(err)
	body := fmt.Sprintf(`{"store":%q,"db":"x","epoch":%d,"at":1}`, w.store, b[0].Epoch+1)
	w.main.Set(fmt.Sprintf("%s/epoch/%019d", w.store, b[0].Epoch+1), []byte(body))
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.HeldBack: 1})
}

// TestDryRun changes nothing, and reports what a walk would condemn.
func TestDryRun(t *testing.T) {
	w := newWorld(t)
	lost := w.put("k", "body", 1)
	w.plant()
	w.run()
	w.later(grace)
	_, err := w.main.Delete(w.ctx, []string{w.key(lost)})
	w.must(err)
	before, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{})
	w.must(err)
	w.set = func(o *reconcile.Options) { o.DryRun = true }
	w.want(w.run(), counts{reconcile.Orphans: 1, reconcile.RipeCount: 1, reconcile.Missing: 1, reconcile.Lost: 1})
	after, err := w.ledger.Findings(w.ctx, ledger.FindingQuery{})
	w.must(err)
	walks, err := w.ledger.Walks(w.ctx, "main", 0)
	w.must(err)
	if fmt.Sprint(before) != fmt.Sprint(after) || len(walks) != 1 || len(w.found) != 2 {
		w.Errorf("findings were %v, are %v; walks are %v; reported %v", before, after, walks, w.found)
	}
	if row, _ := w.ledger.Blob(lost); row.Suspect {
		w.Error("it was marked")
	}
}

// TestOneOfTwo: a backend that is down does not block the other.
func TestOneOfTwo(t *testing.T) {
	w := newWorld(t)
	w.spare.Set("foreign", nil)
	w.fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Down} }
	got, err := w.try()
	w.fails(err, blob.ErrDown)
	w.want(got, counts{reconcile.Foreign: 1})
	w.set = func(o *reconcile.Options) { o.Only = []string{"spare"} }
	w.want(w.run(), counts{reconcile.Foreign: 1})
	w.set = func(o *reconcile.Options) { o.Only = []string{"tape"} }
	_, err = w.try()
	w.fails(err, lethe.ErrBackendMismatch)
}
