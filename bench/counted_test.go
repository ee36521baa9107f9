package bench_test

import (
	"os"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
)

// reclaimed fills a store, reclaims it and answers the work. The books are exact
// before and after, and no file is left.
func reclaimed(t *testing.T, d bench.Dataset, e bench.Engine) bench.Work {
	t.Helper()
	if _, err := os.Stat("/proc/self/io"); err != nil {
		t.Skip("pages are counted through /proc")
	}
	c := bench.Comparison{Dataset: d, Engine: e, Runs: 1, Dir: t.TempDir(), EngineOnly: true}
	got, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := got.Work[0]
	t.Log(w)
	if w.Objects != int64(d.Objects) {
		t.Errorf("%d objects were reclaimed of %d", w.Objects, d.Objects)
	}
	return w
}

// TestBooksOfTheDataset: what is written past the ledger's methods is exact.
func TestBooksOfTheDataset(t *testing.T) {
	for _, d := range []bench.Dataset{
		{Objects: 700, Size: 1024}, {Objects: 730, Living: 270, Size: 100, Shared: 80, Shuffled: true},
		{Objects: 300, Living: 100, Size: 4096, Shared: 20, Inline: true},
	} {
		dir := t.TempDir()
		if err := d.Fill(t.Context(), dir, lethe.SystemClock{}.Now()); err != nil {
			t.Fatal(err)
		}
		if err := bench.Audit(t.Context(), dir, d.Objects+d.Living); err != nil {
			t.Errorf("%+v: %v", d, err)
		}
	}
}

// TestSameWorkForMore: twelve thousand objects cost per object what four thousand
// do in calls, flushes and transactions. Pages visited grow with the height of the
// trees. Pages written grow while the ledger is so small that a batch finds several
// of its rows on one page of the index of digests; one page per object and a few for
// the batch is where that ends.
func TestSameWorkForMore(t *testing.T) {
	e := bench.Engine{Workers: 1, Apart: true}
	few := reclaimed(t, bench.Dataset{Objects: 4_000, Size: 64}, e)
	many := reclaimed(t, bench.Dataset{Objects: 12_000, Size: 64}, e)
	for _, m := range []struct {
		what          string
		few, many     int64
		perBatch, pay float64 // at most so many per 1,000 objects, and times the few
	}{
		// A listing before each delete; the one before the look that finds nothing is left out.
		{"calls to the backend", few.Calls - 1, many.Calls - 1, 2, 1.2},
		{"flushes of the backend", few.Flushes, many.Flushes, 1.5, 1.2},
		// Expire, claim, settle; runs are recorded, and a pass ends with a look.
		{"transactions", few.Commits, many.Commits, 6, 1.2},
		{"pages of the ledger visited", few.Visited, many.Visited, 90_000, 1.3},
		{"pages written", few.Written / 4096, many.Written / 4096, 2500, 2},
	} {
		a, b := float64(m.few)*1000/float64(few.Objects), float64(m.many)*1000/float64(many.Objects)
		t.Logf("%s per 1,000 objects: %.2f of few, %.2f of many", m.what, a, b)
		if b > m.perBatch || b > a*m.pay {
			t.Errorf("%s per 1,000 objects: %.2f of many, %.2f of few; at most %.1f, and %.1f times the few", m.what, b, a, m.perBatch, m.pay)
		}
	}
}

// TestInlineContentsNeedNoBackend: what lies in the ledger is reclaimed by one transaction
// for a batch, without any call, and its room is given back.
func TestInlineContentsNeedNoBackend(t *testing.T) {
	w := reclaimed(t, bench.Dataset{Objects: 6_000, Size: 4096, Inline: true}, bench.Engine{Workers: 1, Apart: true})
	// Clean lists the backend once, before the look that finds nothing.
	if w.Blobs != 0 || w.Calls > 1 || w.Flushes != 0 {
		t.Errorf("%d blobs went, with %d calls and %d flushes of the backend", w.Blobs, w.Calls, w.Flushes)
	}
	// A batch, and the runs of two routines.
	if most := int64(6 + 8); w.Commits > most {
		t.Errorf("%d transactions, want at most %d", w.Commits, most)
	}
	if visited := w.Visited / 6; visited > 45_000 {
		t.Errorf("%d pages of the ledger visited for 1,000 objects, want at most 45,000", visited)
	}
}

// TestSharedContentsCostLess: a content that dies once is deleted once.
func TestSharedContentsCostLess(t *testing.T) {
	w := reclaimed(t, bench.Dataset{Objects: 5_000, Size: 64, Shared: 80}, bench.Engine{Workers: 1})
	if want := int64(5_000*20/100 + 5_000*80/100/10); w.Blobs != want {
		t.Errorf("%d blobs were deleted, want %d", w.Blobs, want)
	}
}

// TestGraceOfReaders: with the default grace the bytes go later, with the same
// work.
func TestGraceOfReaders(t *testing.T) {
	w := reclaimed(t, bench.Dataset{Objects: 2_000, Size: 64}, bench.Engine{Workers: 1, ReadGrace: time.Minute})
	if w.Blobs != 2_000 || w.Calls > 2*2+1 {
		t.Errorf("%d blobs in %d calls", w.Blobs, w.Calls)
	}
}
