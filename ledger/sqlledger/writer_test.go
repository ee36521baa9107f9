package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// hold blocks the writer until the function that it returns is called, so that writes begun
// meanwhile share a group.
func hold(t *testing.T, db *DB) (release func()) {
	t.Helper()
	running, gate, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- db.batch(context.Background(), "hold", func(*tx) error {
			close(running)
			<-gate
			return nil
		})
	}()
	<-running
	return func() {
		close(gate)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// together begins writes in order while the writer is held, and returns their
// errors.
func together(t *testing.T, db *DB, fns ...func(*tx) error) []error {
	t.Helper()
	release := hold(t, db)
	db.w.groupTime = time.Hour // the writer reads it when it is released
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = db.write(context.Background(), fmt.Sprint("write ", i), fn) })
		awaitQueue(db, i+1)
	}
	release()
	wg.Wait()
	return errs
}

// awaitQueue waits until n requests wait.
func awaitQueue(db *DB, n int) {
	for {
		db.w.queue.mu.Lock()
		have := len(db.w.queue.waiting[request])
		db.w.queue.mu.Unlock()
		if have == n {
			return
		}
	}
}

func note(kind string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.record(lethe.ID(kind), "note", "")
		return err
	}
}

// notes returns which of the notes were committed.
func notes(t *testing.T, db *DB, kinds ...string) (found []string) {
	t.Helper()
	for _, k := range kinds {
		_, ok, err := db.Outcome(context.Background(), lethe.ID(k))
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			found = append(found, k)
		}
	}
	return found
}

func wantNotes(t *testing.T, db *DB, want ...string) {
	t.Helper()
	if got := notes(t, db, "a", "b", "c", "d"); !slices.Equal(got, want) {
		t.Errorf("committed %v, want %v", got, want)
	}
}

func ledgers(t *testing.T, test func(*testing.T, *DB)) {
	for name, path := range map[string]string{"file": filePath(t), "memory": Memory} {
		t.Run(name, func(t *testing.T) { test(t, openTest(t, path, ledger.Options{Clock: newTestClock()})) })
	}
}

func TestGroupSharesOneCommit(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		before := db.Stats()
		for i, err := range together(t, db, note("a"), note("b"), note("c")) {
			if err != nil {
				t.Error(i, err)
			}
		}
		after := db.Stats()
		if m, c := after.Members-before.Members, after.Commits-before.Commits; m != 4 || c != 2 {
			t.Errorf("%d members had %d commits", m, c)
		}
		wantNotes(t, db, "a", "b", "c")
	})
}

func TestFailureIsUndoneAlone(t *testing.T) {
	broken := errors.New("broken")
	fail := func(t *tx) error { return errors.Join(note("b")(t), broken) }
	unique := func(t *tx) error {
		if err := note("b")(t); err != nil {
			return err
		}
		_, err := t.exec(createStore, "x", "y", 0)
		return err
	}
	explode := func(t *tx) error { panic(note("b")(t)) }
	for name, bad := range map[string]func(*tx) error{"error": fail, "constraint": unique, "panic": explode} {
		for place := range 3 {
			t.Run(fmt.Sprint(name, place), func(t *testing.T) {
				db := openTest(t, Memory, ledger.Options{})
				fns := []func(*tx) error{note("a"), note("c")}
				errs := together(t, db, slices.Insert(fns, place, bad)...)
				for i, err := range errs {
					if (err != nil) != (i == place) {
						t.Errorf("write %d: %v", i, err)
					}
				}
				if name == "error" && !errors.Is(errs[place], broken) {
					t.Error(errs[place])
				}
				wantNotes(t, db, "a", "c")
			})
		}
	}
}

// TestLostTransaction: a member under which the shared transaction ends costs
// the others nothing, and what it does afterwards is not committed by itself.
func TestLostTransaction(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		ends := func(t *tx) error {
			if err := t.s.Run("ROLLBACK"); err != nil {
				return err
			}
			t.failed(context.Canceled) // as the statement that was broken off would
			if err := note("b")(t); err == nil {
				return errors.New("a statement ran outside of the transaction")
			}
			return nil
		}
		errs := together(t, db, note("a"), ends, note("c"))
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
			t.Error(errs)
		}
		wantNotes(t, db, "a", "c")
	})
}

func TestFullDisk(t *testing.T) {
	db := openTest(t, filePath(t), ledger.Options{})
	limit := func(pages string) {
		if err := db.write(context.Background(), "limit", func(t *tx) error {
			return t.row("PRAGMA max_page_count = " + pages).Scan(new(int))
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	big := func(t *tx) error {
		_, err := t.record("b", strings.Repeat("x", 1<<20), "")
		return err
	}
	errs := together(t, db, note("a"), big, note("c"))
	if errs[0] != nil || !errors.Is(errs[1], lethe.ErrUnavailable) || !strings.Contains(errs[1].Error(), "full") || errs[2] != nil {
		t.Error(errs)
	}
	limit("1000000")
	wantNotes(t, db, "a", "c")
}

func TestUnknownCommit(t *testing.T) {
	lost := errors.New("lost")
	for name, committed := range map[string]bool{"happened": true, "did not happen": false} {
		t.Run(name, func(t *testing.T) {
			ledgers(t, func(t *testing.T, db *DB) {
				real := db.w.commit
				breaks := func(x *tx) error {
					db.w.commit = func(s *sqldb.Session) error {
						db.w.commit = real
						if committed {
							if err := real(s); err != nil {
								t.Error(err)
							}
						}
						return lost
					}
					return note("b")(x)
				}
				refused := func(*tx) error { return lethe.ErrNoRoom }
				errs := together(t, db, note("a"), breaks, refused)
				for _, err := range errs[:2] {
					if !errors.Is(err, lethe.ErrUnknownOutcome) || !errors.Is(err, lost) {
						t.Error(err)
					}
				}
				if errors.Is(errs[2], lethe.ErrUnknownOutcome) || !errors.Is(errs[2], lethe.ErrNoRoom) {
					t.Error(errs[2])
				}
				want := []string{}
				if committed {
					want = []string{"a", "b"}
				}
				wantNotes(t, db, want...)
				if err := db.write(context.Background(), "afterwards", note("c")); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAFailedFlushIsNotBroughtBack: a failed flush leaves the COMMIT in the log. It is
// overwritten before any caller learns that it did not happen; otherwise a crash would bring
// it back.
func TestAFailedFlushIsNotBroughtBack(t *testing.T) {
	path := filePath(t)
	db := openTest(t, path, ledger.Options{Clock: clocktest.New()})
	if err := db.write(t.Context(), "before", note("a")); err != nil {
		t.Fatal(err)
	}
	log := func() string {
		text, err := os.ReadFile(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	ask := func() {
		if _, found, err := db.Outcome(t.Context(), "b"); found || err != nil {
			t.Fatal(found, err)
		}
	}
	// While a connection has the file open for reading, the log outlives its writer.
	if _, err := db.Buckets(t.Context(), ledger.BucketQuery{Limit: 1}); err != nil {
		t.Fatal(err)
	}
	before := log()
	ask()
	if log() != before {
		t.Fatal("a question writes although nothing is in doubt")
	}
	real := db.w.commit
	db.w.commit = func(*sqldb.Session) error {
		db.w.commit = real
		return errors.New("the flush failed")
	}
	if err := db.write(t.Context(), "put", note("b")); !errors.Is(err, lethe.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	before = log()
	ask()
	if log() == before {
		t.Error("it was told that nothing happened, and nothing was written over what may lie in the log")
	}
}

func TestCallerWhoLeaves(t *testing.T) {
	db := openTest(t, Memory, ledger.Options{})
	release := hold(t, db)
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- db.write(ctx, "leave", note("a")) }()
	awaitQueue(db, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error("left before its turn:", err)
	}
	release()
	wantNotes(t, db)

	ctx, cancel = context.WithCancel(context.Background())
	err := db.write(ctx, "leave while running", func(t *tx) error {
		cancel()
		return note("b")(t)
	})
	if err != nil {
		t.Error("left while running:", err)
	}
	wantNotes(t, db, "b")
}

func TestQueueTakesTurns(t *testing.T) {
	q := newQueue()
	for range 3 {
		q.put(request, &member{})
		q.put(batch, &member{})
	}
	var order []kind
	for range 6 {
		k, ok := q.next()
		if !ok || q.pop(k) == nil {
			t.Fatal("nothing waits")
		}
		order = append(order, k)
	}
	if order[0] == order[1] || order[2] == order[3] || order[4] == order[5] {
		t.Error(order)
	}
	q.close()
	if _, ok := q.next(); ok || q.put(request, &member{}) {
		t.Error("a closed queue goes on")
	}
}

func TestCloseEndsWhatWasBegun(t *testing.T) {
	path := filePath(t)
	db, err := Open(context.Background(), path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, db)
	answer := make(chan error, 1)
	go func() { answer <- db.write(context.Background(), "late", note("a")) }()
	awaitQueue(db, 1)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	release()
	if err := errors.Join(<-answer, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := db.write(context.Background(), "after", note("b")); !errors.Is(err, lethe.ErrUnavailable) {
		t.Error(err)
	}
	if _, err := db.Bucket(context.Background(), "b"); !errors.Is(err, lethe.ErrUnavailable) {
		t.Error(err)
	}
	wantNotes(t, openTest(t, path, ledger.Options{}), "a")
}

// TestCloseTwice: a second Close returns the result of the first.
func TestCloseTwice(t *testing.T) {
	for _, path := range []string{Memory, filePath(t)} {
		db, err := Open(context.Background(), path, ledger.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(db.Close(), db.Close()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestManyWriters: every write is there once, whatever shares its commit.
func TestManyWriters(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		setUp(t, db)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 25 {
					if _, err := put(db, fmt.Sprintf("k%d", (w+i)%10), fmt.Sprintf("d%d", i%7)); err != nil {
						t.Error(err)
					}
					if _, err := db.Resolve(context.Background(), "b", fmt.Sprintf("k%d", (w+i)%10)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b, err := db.Bucket(context.Background(), "b")
		if err != nil || b.Objects != 10 || b.Bytes != 1000 {
			t.Error(b, err)
		}
		sound(t, db)
	})
}

// TestRowNamesItsError: a statement that does not run any more returns the reason, and does
// not look like one whose caller has left.
func TestRowNamesItsError(t *testing.T) {
	db := openMemory(t)
	full := errors.New("the disk is full")
	err := db.read(context.Background(), "after a failure", func(x *tx) error {
		x.spoilt = full
		var n int
		return x.row("SELECT 1").Scan(&n)
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}
