package pairing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// fork is a ledger in a life of its own: the original, or a copy that has the same
// identity and, so far, the same epochs.
type fork struct {
	*memledger.DB
	w       *world
	is      ledger.Store
	boot    lethe.Time
	before  func() // is called once, before the next epoch is intended
	pairing *pairing.Pairing
}

// Identity implements pairing.Ledger.
func (f *fork) Identity(context.Context) (ledger.Store, error) { return f.is, nil }

// SetEpoch implements pairing.Ledger.
func (f *fork) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	if then := f.before; then != nil {
		f.before = nil
		then()
	}
	return f.DB.SetEpoch(ctx, backend, intended, epoch)
}

// Now implements lethe.Clock: the time since the machine started.
func (f *fork) Now() lethe.Time { return f.boot }

const beat = time.Minute

func (w *world) fork(ledger *memledger.DB) *fork {
	w.Helper()
	is, err := w.Ledger.Identity(w.Ctx)
	w.Must(err)
	f := &fork{DB: ledger, w: w, is: is, boot: 1}
	f.start()
	return f
}

// start begins a process on the fork's ledger.
func (f *fork) start() {
	f.pairing = &pairing.Pairing{Ledger: f, Stores: f.w.Stores, Clock: f.w.Clock, Beat: beat, Boot: f}
}

// pair makes an original that has advanced the backend, and a copy of it.
func (w *world) pair() (original, copied *fork) {
	w.Helper()
	original = w.fork(w.Ledger)
	w.Must(original.pairing.Advance(w.Ctx, "main"))
	copied = w.fork(memledger.New(ledger.Options{Clock: w.Clock}))
	_, err := copied.AddBackend(w.Ctx, ledger.Backend{ID: "main"})
	w.Must(err)
	n := original.row().Epoch
	w.Must(copied.DB.SetEpoch(w.Ctx, "main", n, n))
	return original, copied
}

func (f *fork) row() ledger.Backend {
	f.w.Helper()
	list, err := f.Backends(f.w.Ctx)
	f.w.Must(err)
	return list[0]
}

// admits checks whether deletes may go on.
func (f *fork) admits(what string, want error) {
	f.w.Helper()
	if err := f.pairing.Admit(f.w.Ctx, "main"); !errors.Is(err, want) {
		f.w.Errorf("%s: %v, want %v", what, err, want)
	}
}

func (f *fork) later(d time.Duration) { f.boot = f.boot.Add(d) }

// Of two ledgers with one origin, whichever advances first, neither deletes before
// an operator decides: the accepted one continues after a quiet beat, and the other
// stays held.
func TestOfTwoLedgersNeitherDeletes(t *testing.T) {
	for _, second := range []bool{false, true} {
		w := newWorld(t)
		a, b := w.pair()
		a.admits("the original before its copy starts", nil)
		first, other := a, b
		if second {
			first, other = b, a
		}
		w.Must(first.pairing.Advance(w.Ctx, "main"))
		other.admits("the one that finds the other's epoch", lethe.ErrBackendMismatch)
		first.admits("the one that advanced first", lethe.ErrBackendMismatch)
		for _, f := range []*fork{a, b} {
			f.later(time.Hour)
			f.admits("after an hour", lethe.ErrBackendMismatch)
		}
		for _, f := range []*fork{b, a, b} {
			rival := map[*fork]*fork{a: b, b: a}[f]
			w.Must(f.pairing.Accept(w.Ctx, "main"))
			f.admits("accepted a moment ago", pairing.ErrNotQuiet)
			rival.admits("the other one", lethe.ErrBackendMismatch)
			f.later(3 * beat / 2)
			for range 3 {
				f.admits("accepted", nil)
				w.Must(f.pairing.Advance(w.Ctx, "main"))
				rival.admits("the other one", lethe.ErrBackendMismatch)
			}
		}
	}
}

// Two ledgers that advance at the same moment notice it, for any order of their
// numbers and of their checks.
func TestTwoLedgersAdvanceAtOnce(t *testing.T) {
	for i := range 4 {
		w := newWorld(t)
		a, b := w.pair()
		a.pairing.Draw = func(n int64) int64 { return n / 2 }
		b.pairing.Draw = func(n int64) int64 { return n/4 + int64(i%2)*n/2 } // below, or beyond
		looks := []*fork{a, b}
		if i < 2 {
			looks = []*fork{b, a}
		}
		a.before = func() { w.Must(b.pairing.Advance(w.Ctx, "main")) }
		if err := a.pairing.Advance(w.Ctx, "main"); err != nil && !errors.Is(err, lethe.ErrBackendMismatch) {
			t.Fatal(err)
		}
		for range 2 {
			looks[0].admits("who looks first", lethe.ErrBackendMismatch)
			looks[1].admits("the other", lethe.ErrBackendMismatch)
		}
	}
}

// A challenge in flight while an operator decides, for either ledger, is settled by
// that; one that was sent after it holds both.
func TestAChallengeFromBeforeADecision(t *testing.T) {
	for i := range 4 {
		w := newWorld(t)
		a, b := w.pair()
		w.Must(b.pairing.Advance(w.Ctx, "main"))
		winner, loser := a, b
		if i%2 == 1 {
			winner, loser = b, a
		}
		// The challenge is drawn first, the decision next: one lies beyond the other.
		draws := []int64{3, 1}
		if i < 2 {
			draws = []int64{1, 3}
		}
		draw := func(n int64) int64 {
			if len(draws) == 0 {
				return n / 2
			}
			next := draws[0]
			draws = draws[1:]
			return next * n / 4
		}
		a.pairing.Draw, b.pairing.Draw = draw, draw
		decided := false
		w.Fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op == blobtest.OpPut && !decided {
				decided = true
				w.Must(winner.pairing.Accept(w.Ctx, "main"))
			}
			return blobtest.Fault{}
		}
		a.admits("the one that contests", lethe.ErrBackendMismatch)
		if !decided {
			t.Fatal("nothing was contested")
		}
		winner.later(3 * beat / 2)
		for range 3 {
			winner.admits("the one that was accepted", nil)
			w.Must(winner.pairing.Advance(w.Ctx, "main"))
		}
		reclaimtest.Want(w, "objects on the backend", w.Bytes.Len(), 1)
		loser.admits("the other one", lethe.ErrBackendMismatch)
		w.Must(loser.pairing.Accept(w.Ctx, "main"))
		winner.admits("after the next decision", lethe.ErrBackendMismatch)
	}
}

// Two ledgers that advance at the same moment are noticed by every instance of
// either, not only by the one that has advanced.
func TestEveryInstanceNoticesWhoAdvancedBetween(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	n := a.row().Epoch
	w.Must(w.Ledger.SetEpoch(w.Ctx, "main", n+1<<40, n)) // by another instance, which writes it now
	w.Bytes.Set(fmt.Sprintf("%s/epoch/%019d", w.Store, n+1<<40), []byte("{}"))
	w.Must(b.DB.SetEpoch(w.Ctx, "main", n+1, n))
	w.Bytes.Set(fmt.Sprintf("%s/epoch/%019d", w.Store, n+1), []byte("{}"))
	a.admits("another instance", lethe.ErrBackendMismatch)
}

// After a start nothing is deleted before a beat has passed in which no other
// ledger was seen; nor after a change of the ledger's server, or an acceptance by
// another instance.
func TestAQuietBeat(t *testing.T) {
	w := newWorld(t)
	a := w.fork(w.Ledger)
	w.Must(a.pairing.Advance(w.Ctx, "main"))
	a.admits("nobody knows the first epoch of a backend", nil)
	again := map[string]func(){
		"a start":         a.start,
		"another server":  func() { a.is.Life = "another" },
		"another accepts": func() { w.Must(w.Pairing().Accept(w.Ctx, "main")) },
	}
	for name, how := range again {
		how()
		a.admits(name, pairing.ErrNotQuiet)
		a.later(beat)
		a.admits(name+", a beat later", pairing.ErrNotQuiet)
		a.later(beat / 2)
		a.admits(name+", after a quiet beat", nil)
	}
	a.start()
	a.pairing.Sleep = func(_ context.Context, d time.Duration) error { a.later(d); return nil }
	a.admits("one that waits", nil)
}

// An epoch that a crash left intended is known to a copy as well: a start goes
// beyond it.
func TestAnEpochThatWasIntendedBeforeIsNotTheLast(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	n := a.row().Epoch
	w.Must(w.Ledger.SetEpoch(w.Ctx, "main", n+5, n))
	w.Must(b.DB.SetEpoch(w.Ctx, "main", n+5, n))
	a.start()
	b.start()
	w.Must(a.pairing.Advance(w.Ctx, "main"))
	b.admits("the copy", lethe.ErrBackendMismatch)
	a.admits("the original", lethe.ErrBackendMismatch)
}

// Of the instances on one ledger one advances each beat, and all check.
func TestOneInstanceAdvancesEachBeat(t *testing.T) {
	w := newWorld(t)
	a, b := w.fork(w.Ledger), w.fork(w.Ledger)
	for _, f := range []*fork{a, b} {
		w.Must(f.pairing.Heartbeat(w.Ctx, "main"))
	}
	puts, lists := 0, 0
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		switch c.Op {
		case blobtest.OpPut:
			puts++
		case blobtest.OpList:
			lists++
		}
		return blobtest.Fault{}
	}
	for range 5 {
		w.Must(a.pairing.Heartbeat(w.Ctx, "main"))
		w.Must(b.pairing.Heartbeat(w.Ctx, "main"))
	}
	if puts < 4 || puts > 6 || lists < 10 {
		t.Errorf("%d epochs in 5 beats of two instances, %d looks", puts, lists)
	}
}

// cleaner is a Clean that calls the fork's pairing.
func (f *fork) cleaner(limit int) *routine.Clean {
	return &routine.Clean{Ledger: f.w.Ledger, Stores: f.w.Stores, Store: f.w.Store, Safety: f.w.Safety, Limit: limit, Clock: f.w.Clock, Admit: f.pairing.Admit}
}

// Each batch is admitted before it deletes, so that a copy that starts meanwhile
// stops the next.
func TestEachBatchAsks(t *testing.T) {
	w := newWorld(t)
	a, b := w.pair()
	for i := range 6 {
		w.Put(fmt.Sprint(i), fmt.Sprint("body ", i))
		w.Remove(fmt.Sprint(i))
	}
	deletes := 0
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpDelete && !errors.Is(b.pairing.Check(w.Ctx, "main"), lethe.ErrBackendMismatch) {
			if deletes++; deletes == 1 {
				w.Must(b.pairing.Advance(w.Ctx, "main"))
			}
		}
		return blobtest.Fault{}
	}
	counts := w.Pass(a.cleaner(2))
	if counts["gone"] != 2 || counts["held"] == 0 {
		t.Errorf("the original did %v", counts)
	}
}

// A batch costs one request beside its delete, however many there are, and a pass that
// finds nothing costs none.
func TestTwoRequestsABatch(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	for i := range 20 {
		w.Put(fmt.Sprint(i), fmt.Sprint("body ", i))
	}
	for i := range 20 {
		w.Remove(fmt.Sprint(i))
	}
	calls := map[blobtest.Op]int{}
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		calls[c.Op]++
		return blobtest.Fault{}
	}
	counts := w.Pass(a.cleaner(5))
	w.Pass(a.cleaner(5))
	if counts["gone"] != 20 || calls[blobtest.OpDelete] != 4 || len(calls) != 2 || calls[blobtest.OpList] != 4 {
		t.Errorf("%v took %v", counts, calls)
	}
}

// An absence on a backend that was emptied while it was deleted on is not believed.
func TestAnEmptiedBackendSettlesNothing(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	blob := w.Put("k", "body")
	w.Remove("k")
	disk := w.Bytes.Clone()
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpDelete {
			for _, key := range w.Bytes.Keys() {
				w.Bytes.Lose(key)
			}
		}
		return blobtest.Fault{}
	}
	counts := w.Pass(a.cleaner(10))
	row, _ := w.Ledger.Blob(blob)
	if row.State != lethe.Condemned || row.Attempts != 0 || counts["doubted"] != 1 {
		t.Fatalf("%v: the blob is %+v", counts, row)
	}
	w.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{} }
	w.Stores["main"] = stored{disk}
	w.Clock.Advance(w.Safety.BackoffMin)
	w.Must(a.pairing.Check(w.Ctx, "main"))
	if counts := w.Pass(a.cleaner(10)); counts["gone"] != 1 || w.State(blob) != 0 {
		t.Errorf("put back: %v", counts)
	}
}

// A backend that was replaced while it was advanced is not taken for the ledger's
// because of what was written to the other one.
func TestABackendThatIsReplacedWhileItIsAdvanced(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	disk := w.Bytes.Clone()
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == blobtest.OpPut {
			for _, key := range w.Bytes.Keys() {
				w.Bytes.Lose(key)
			}
		}
		return blobtest.Fault{}
	}
	for range 3 {
		if err := a.pairing.Advance(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
			t.Errorf("it was replaced: %v", err)
		}
		a.admits("the other one", lethe.ErrBackendMismatch)
	}
	w.Stores["main"] = stored{disk}
	a.admits("put back", nil)
	w.Must(a.pairing.Advance(w.Ctx, "main"))
}

// What is not found is gone only on the ledger's backend. A hold by an operator, or
// a ledger that is one of two, casts no doubt on that.
func TestAbsentIsWhatTheBackendDoesNotHave(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	w.Must(a.pairing.Absent(w.Ctx, "main"))
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", "a person says so"))
	w.Must(a.pairing.Absent(w.Ctx, "main"))
	w.Must(w.Ledger.HoldBackend(w.Ctx, "main", ""))
	disk := w.Stores["main"]
	w.Stores["main"] = memblob.New(memblob.Options{})
	if err := a.pairing.Absent(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("another disk: %v", err)
	}
	w.Stores["main"] = disk
	w.Must(a.pairing.Absent(w.Ctx, "main"))
	w.Usurp(1)
	w.Must(a.pairing.Absent(w.Ctx, "main"))
	w.Stores["main"] = memblob.New(memblob.Options{})
	if err := a.pairing.Absent(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("another disk, and another ledger: %v", err)
	}
}

// Nor is it gone if another ledger begins to use a disk that was put in the backend's place,
// before the ledger is held for that.
func TestAnotherDiskThatAnotherLedgerBeginsToUse(t *testing.T) {
	w := newWorld(t)
	a, _ := w.pair()
	w.Must(a.pairing.Absent(w.Ctx, "main"))
	other := &listed{Store: memblob.New(memblob.Options{})}
	other.then = func() {
		key := fmt.Sprintf("%s/epoch/%019d", w.Store, int64(1)<<60)
		w.Must(other.Store.Put(w.Ctx, key, strings.NewReader("{}"), 2))
	}
	w.Stores["main"] = other
	if err := a.pairing.Absent(w.Ctx, "main"); !errors.Is(err, lethe.ErrBackendMismatch) {
		t.Errorf("another disk, and then another ledger: %v", err)
	}
}

// A process that was suspended between the comparison and its deletes sends none.
func TestWhoSleptDeletesNothing(t *testing.T) {
	for slept, gone := range map[time.Duration]int64{0: 1, beat/2 - time.Second: 1, beat / 2: 0, time.Hour: 0} {
		w := newWorld(t)
		a, _ := w.pair()
		id := w.Put("k", "body")
		w.Remove("k")
		w.Fault = func(c blobtest.Call) blobtest.Fault {
			if c.Op == blobtest.OpDelete {
				a.later(slept)
			}
			return blobtest.Fault{}
		}
		clean := a.cleaner(10)
		clean.Boot = a
		counts := w.Pass(clean)
		row, _ := w.Ledger.Blob(id)
		if _, there := w.Bytes.Bytes(w.BlobName(id)); counts["gone"] != gone || there != (gone == 0) || row.Attempts != 0 {
			t.Errorf("after %s: %v, the bytes lie there: %v, the row is %+v", slept, counts, there, row)
		}
	}
}

// stored is a store without faults.
type stored struct{ blob.Store }
