package routine_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// ranBack is a ledger whose clock is in doubt.
type ranBack struct {
	*memledger.DB
	behind, ahead time.Duration
}

func (r *ranBack) ClockBehind() time.Duration { return r.behind }

func (r *ranBack) ClockAhead() time.Duration { return r.ahead }

// While the clock is in doubt nothing goes for its age; what was condemned before
// goes all the same.
func TestAClockThatRanBackRemovesNothing(t *testing.T) {
	w := newWorld(t)
	w.Put("a", "bytes of a")
	w.Put("b", "bytes of b")
	w.Remove("a")
	_, err := w.Ledger.Update(w.Ctx, ledger.Update{Op: w.ID(), Bucket: "b", Key: "b", TTL: &ledger.TTLChange{TTL: time.Second}})
	w.Must(err)
	orphan := w.Intent("c", "bytes", false)
	_, err = w.Ledger.CreateUpload(w.Ctx, ledger.Upload{Bucket: "b", Key: "d"})
	w.Must(err)
	w.Clock.Advance(24 * time.Hour)
	l := &ranBack{w.Ledger, time.Hour, 0}
	doubted := map[string]reclaim.Routine{
		"expired":   &routine.Expire{Ledger: l, Batch: ledger.Batch{Limit: 10}},
		"pruned":    &routine.Purge{Ledger: l, Batch: ledger.Batch{Limit: 10}},
		"reaped":    &routine.Reap{Ledger: l, Stores: w.Stores, Store: w.Store, Safety: w.Safety, Limit: 10},
		"multipart": &routine.Uploads{Ledger: l, Safety: w.Safety, Limit: 10},
	}
	refused := func() {
		for name, r := range doubted {
			if err := walk(w.Ctx, r); !errors.Is(err, lethe.ErrClock) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	refused()
	l.behind, l.ahead = 0, 24*time.Hour
	refused()
	if _, there := w.Ledger.Object("b", "b"); !there {
		t.Error("an object was expired")
	}
	reclaimtest.Want(w, "state of the intent", w.State(orphan), lethe.Pending)
	k := w.clean()
	k.Ledger = l
	reclaimtest.Want(w, "gone", w.Pass(k)["gone"], 1)
	l.ahead = 0
	for name, r := range doubted {
		if err := walk(w.Ctx, r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	reclaimtest.Want(w, "state of the intent", w.State(orphan), lethe.Condemned)
}

// walk runs a pass to its end.
func walk(ctx context.Context, r reclaim.Routine) (err error) {
	step := r.Pass("worker")
	for more := true; more && err == nil; {
		more, err = step(ctx, func(string, int64) {})
	}
	return err
}

// slight is a ledger that notes how much is asked of it at once.
type slight struct {
	*sqlledger.DB
	pruned, swept, given int
}

func (s *slight) Prune(ctx context.Context, limit int) (int, error) {
	s.pruned = max(s.pruned, limit)
	return s.DB.Prune(ctx, limit)
}

func (s *slight) SweepDigests(ctx context.Context, from string, limit int) (string, int, error) {
	s.swept = max(s.swept, limit)
	return s.DB.SweepDigests(ctx, from, limit)
}

func (s *slight) Vacuum(ctx context.Context, pages int) (int, error) {
	s.given = max(s.given, pages)
	return s.DB.Vacuum(ctx, pages)
}

// The purge routine gives the room of what was forgotten back to the disk.
func TestPurgeShrinksTheFile(t *testing.T) {
	db, err := sqlledger.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.CreateBucket(t.Context(), ledger.Bucket{Name: "b", Owner: "me"})
	if err == nil {
		err = db.PutDocument(t.Context(), ledger.Document{Bucket: "b", Kind: "big", Body: make([]byte, 8<<20)})
	}
	if err == nil {
		err = db.DeleteDocument(t.Context(), ledger.Document{Bucket: "b", Kind: "big"})
	}
	if err != nil {
		t.Fatal(err)
	}
	counts, counted := &reclaim.Counts{}, &slight{DB: db}
	quarter := &throttle.Controller{ClientLatency: 1.2, Clock: lethe.Monotonic{}}
	quarter.SetPeers([]throttle.Peer{{Level: 2}})
	step := (&routine.Purge{Ledger: counted, Batch: ledger.Batch{Limit: 12}, Controller: quarter}).Pass("worker")
	for more := true; more; {
		if more, err = step(t.Context(), counts.Add); err != nil {
			t.Fatal(err)
		}
	}
	if n := counts.Get("pages"); n < 1500 {
		t.Errorf("%d pages of some 2,048 were given back", n)
	}
	if counted.pruned != 3 || counted.swept != 3 || counted.given != 256 {
		t.Errorf("with batches of a quarter it prunes %d rows, looks at %d digests and gives back %d pages at once, want 3, 3 and 256",
			counted.pruned, counted.swept, counted.given)
	}
}
