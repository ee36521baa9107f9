package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// hold blocks the writer until the function that it returns is called, so that writes begun
// meanwhile share a group.
func hold(t *testing.T, e *Engine) (release func()) {
	t.Helper()
	running, gate, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- e.Write(context.Background(), Batch, Job{Do: func(*Tx) error {
			close(running)
			<-gate
			return nil
		}})
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
func together(t *testing.T, e *Engine, fns ...func(*Tx) error) []error {
	t.Helper()
	release := hold(t, e)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = write(context.Background(), e, fn) })
		awaitQueue(e, i+1)
	}
	release()
	wg.Wait()
	return errs
}

// awaitQueue waits until n requests wait.
func awaitQueue(e *Engine, n int) {
	for e.File.Waiting() != n {
		runtime.Gosched()
	}
}

func ledgers(t *testing.T, test func(*testing.T, *Engine)) {
	for name, path := range map[string]string{"file": filePath(t), "memory": Memory} {
		t.Run(name, func(t *testing.T) { test(t, openTest(t, path, Options{})) })
	}
}

func TestGroupSharesOneCommit(t *testing.T) {
	ledgers(t, func(t *testing.T, e *Engine) {
		before := e.Stats()
		for i, err := range together(t, e, note("a"), note("b"), note("c")) {
			if err != nil {
				t.Error(i, err)
			}
		}
		after := e.Stats()
		if m, c := after.Members-before.Members, after.Commits-before.Commits; m != 4 || c != 2 {
			t.Errorf("%d members had %d commits", m, c)
		}
		wantNotes(t, e, "a", "b", "c")
	})
}

func TestFailureIsUndoneAlone(t *testing.T) {
	broken := errors.New("broken")
	fail := func(t *Tx) error { return errors.Join(note("b")(t), broken) }
	unique := func(t *Tx) error {
		if err := note("b")(t); err != nil {
			return err
		}
		_, err := t.Exec(createStore, "x", "y", 0)
		return err
	}
	explode := func(t *Tx) error { panic(note("b")(t)) }
	for name, bad := range map[string]func(*Tx) error{"error": fail, "constraint": unique, "panic": explode} {
		for place := range 3 {
			t.Run(fmt.Sprint(name, place), func(t *testing.T) {
				e := openTest(t, Memory, Options{})
				fns := []func(*Tx) error{note("a"), note("c")}
				errs := together(t, e, slices.Insert(fns, place, bad)...)
				for i, err := range errs {
					if (err != nil) != (i == place) {
						t.Errorf("write %d: %v", i, err)
					}
				}
				if name == "error" && !errors.Is(errs[place], broken) {
					t.Error(errs[place])
				}
				wantNotes(t, e, "a", "c")
			})
		}
	}
}

// TestWhatRunsAgain: a member that fails before it changed anything makes no other run again.
// One that has to be undone does, once: the groups after it have savepoints.
func TestWhatRunsAgain(t *testing.T) {
	refused := errors.New("refused")
	asks := func(x *Tx) error { return errors.Join(x.Row("SELECT 1").Scan(new(int)), refused) }
	changes := func(x *Tx) error { return errors.Join(note("no")(x), refused) }
	for name, c := range map[string]struct {
		bad  func(*Tx) error
		runs int64 // with the one that holds the writer
	}{"fails at once": {asks, 4}, "has changed something": {changes, 6}} {
		t.Run(name, func(t *testing.T) {
			e := openTest(t, Memory, Options{})
			run := func(first, last string, want int64) {
				t.Helper()
				before := e.Stats().Members
				if errs := together(t, e, note(first), c.bad, note(last)); errs[0] != nil || !errors.Is(errs[1], refused) || errs[2] != nil {
					t.Error(errs)
				}
				if n := e.Stats().Members - before; n != want {
					t.Errorf("members ran %d times, want %d", n, want)
				}
			}
			run("a", "b", c.runs)
			run("c", "d", 4)
			wantNotes(t, e, "a", "b", "c", "d")
		})
	}
}

// TestClockOfAGroupThatRunsAgain: a member that has lowered the clock sees the former time when it
// runs again, with the others or by itself.
func TestClockOfAGroupThatRunsAgain(t *testing.T) {
	refused := errors.New("refused")
	for name, bad := range map[string]func(*Tx) error{
		"with savepoints": func(x *Tx) error { return errors.Join(note("no")(x), refused) },
		"singly": func(x *Tx) error {
			err := x.s.Run("ROLLBACK")
			x.Failed(context.Canceled) // as the statement that was broken off would
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := openTest(t, Memory, Options{})
			wall := e.HighestTime()
			ahead := wall.Add(time.Hour)
			e.RaiseClock(ahead)
			var saw []lethe.Time
			lower := func(x *Tx) error {
				saw = append(saw, x.Now)
				x.LowerClock(wall)
				return note("a")(x)
			}
			if errs := together(t, e, lower, bad); errs[0] != nil || errs[1] == nil {
				t.Error(errs)
			}
			if !slices.Equal(saw, []lethe.Time{ahead, ahead}) || e.HighestTime() >= ahead {
				t.Errorf("it saw %v; the clock was at %v, and is at %v", saw, ahead, e.HighestTime())
			}
			wantNotes(t, e, "a")
		})
	}
}

// TestLostTransaction: a member under which the shared transaction ends costs
// the others nothing, and what it does afterwards is not committed by itself.
func TestLostTransaction(t *testing.T) {
	ledgers(t, func(t *testing.T, e *Engine) {
		ends := func(t *Tx) error {
			if err := t.s.Run("ROLLBACK"); err != nil {
				return err
			}
			t.Failed(context.Canceled) // as the statement that was broken off would
			if err := note("b")(t); err == nil {
				return errors.New("a statement ran outside of the transaction")
			}
			return nil
		}
		errs := together(t, e, note("a"), ends, note("c"))
		if errs[0] != nil || !errors.Is(errs[1], context.Canceled) || errs[2] != nil {
			t.Error(errs)
		}
		wantNotes(t, e, "a", "c")
	})
}

func TestFullDisk(t *testing.T) {
	e := openTest(t, filePath(t), Options{})
	limit := func(pages string) {
		if err := write(context.Background(), e, func(t *Tx) error {
			return t.Row("PRAGMA max_page_count = " + pages).Scan(new(int))
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit("1")
	big := func(t *Tx) error {
		_, err := t.Exec(addNote, "b", strings.Repeat("x", 1<<20))
		return err
	}
	errs := together(t, e, note("a"), big, note("c"))
	if errs[0] != nil || !errors.Is(errs[1], lethe.ErrUnavailable) || !strings.Contains(errs[1].Error(), "full") || errs[2] != nil {
		t.Error(errs)
	}
	limit("1000000")
	wantNotes(t, e, "a", "c")
}

// TestAReferenceToNothingFailsAlone: what COMMIT refuses does not take others with it.
func TestAReferenceToNothingFailsAlone(t *testing.T) {
	ledgers(t, func(t *testing.T, e *Engine) {
		dangles := func(t *Tx) error {
			_, err := t.Exec(`INSERT INTO trash (id, bucket, key, object_id, content_id, size, etag, modified_at, ttl_at, rule_at, attrs, tags, deleted_at, purge_at, reason)
				VALUES ('t', 'b', 'k', 'o', 'nothing', 1, '', 0, 0, 0, '', '', 0, 0, '')`)
			return errors.Join(err, note("b")(t))
		}
		for _, fns := range [][]func(*Tx) error{{dangles}, {note("a"), dangles, note("c")}} {
			for i, err := range together(t, e, fns...) {
				if i != len(fns)/2 && err != nil || i == len(fns)/2 && (!errors.Is(err, lethe.ErrCorrupt) || errors.Is(err, lethe.ErrUnknownOutcome)) {
					t.Errorf("%d of %d: %v", i, len(fns), err)
				}
			}
		}
		wantNotes(t, e, "a", "c")
	})
}

func TestUnknownCommit(t *testing.T) {
	lost := errors.New("lost")
	for name, committed := range map[string]bool{"happened": true, "did not happen": false} {
		t.Run(name, func(t *testing.T) {
			ledgers(t, func(t *testing.T, e *Engine) {
				real := e.File.w.commit
				breaks := func(x *Tx) error {
					e.File.w.commit = func(s *sqldb.Session) error {
						e.File.w.commit = real
						if committed {
							if err := real(s); err != nil {
								t.Error(err)
							}
						}
						return lost
					}
					return note("b")(x)
				}
				refused := func(*Tx) error { return lethe.ErrNoRoom }
				errs := together(t, e, note("a"), breaks, refused)
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
				wantNotes(t, e, want...)
				if err := write(context.Background(), e, note("c")); err != nil {
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
	e := openTest(t, path, Options{})
	if err := write(t.Context(), e, note("a")); err != nil {
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
		nothing := errors.New("nothing to do")
		if err := write(t.Context(), e, func(*Tx) error { return nothing }); !errors.Is(err, nothing) {
			t.Fatal(err)
		}
	}
	// While a connection has the file open for reading, the log outlives its writer.
	wantNotes(t, e, "a")
	before := log()
	ask()
	if log() != before {
		t.Fatal("a question writes although nothing is in doubt")
	}
	real := e.File.w.commit
	e.File.w.commit = func(*sqldb.Session) error {
		e.File.w.commit = real
		return errors.New("the flush failed")
	}
	if err := write(t.Context(), e, note("b")); !errors.Is(err, lethe.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	before = log()
	ask()
	if log() == before {
		t.Error("it was told that nothing happened, and nothing was written over what may lie in the log")
	}
}

func TestCallerWhoLeaves(t *testing.T) {
	e := openTest(t, Memory, Options{})
	release := hold(t, e)
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	go func() { left <- write(ctx, e, note("a")) }()
	awaitQueue(e, 1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Error("left before its turn:", err)
	}
	release()
	wantNotes(t, e)

	ctx, cancel = context.WithCancel(context.Background())
	err := write(ctx, e, func(t *Tx) error {
		cancel()
		return note("b")(t)
	})
	if err != nil {
		t.Error("left while running:", err)
	}
	wantNotes(t, e, "b")
}

func TestQueueTakesTurns(t *testing.T) {
	q := newQueue()
	for range 3 {
		q.put(Request, &member{})
		q.put(Batch, &member{})
	}
	var order []Kind
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
	if _, ok := q.next(); ok || q.put(Request, &member{}) {
		t.Error("a closed queue goes on")
	}
}

// TestARequestWaitsForOneBatch: batches that wait do not join the group of one that runs while
// requests wait.
func TestARequestWaitsForOneBatch(t *testing.T) {
	e := openTest(t, filePath(t), Options{GroupTime: time.Hour})
	release := hold(t, e)
	var order []string
	var wg sync.WaitGroup
	begin := func(k Kind, name string) {
		wg.Go(func() {
			if err := e.Write(context.Background(), k, Job{Do: func(*Tx) error { order = append(order, name); return nil }}); err != nil {
				t.Error(err)
			}
		})
	}
	begin(Batch, "batch")
	for e.File.w.queue.length(Batch) != 1 {
		runtime.Gosched()
	}
	begin(Request, "request")
	awaitQueue(e, 1)
	release()
	wg.Wait()
	if want := []string{"request", "batch"}; !slices.Equal(order, want) {
		t.Errorf("%v ran, not %v", order, want)
	}
}

func TestCloseEndsWhatWasBegun(t *testing.T) {
	path := filePath(t)
	e, err := open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	release := hold(t, e)
	answer := make(chan error, 1)
	go func() { answer <- write(context.Background(), e, note("a")) }()
	awaitQueue(e, 1)
	closed := make(chan error, 1)
	go func() { closed <- e.Close() }()
	release()
	if err := errors.Join(<-answer, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := write(context.Background(), e, note("b")); !errors.Is(err, lethe.ErrUnavailable) {
		t.Error(err)
	}
	if err := e.View(context.Background(), Request, func(*Tx) error { return nil }); !errors.Is(err, lethe.ErrUnavailable) {
		t.Error(err)
	}
	wantNotes(t, openTest(t, path, Options{}), "a")
}

// TestCloseTwice: a second Close returns the result of the first.
func TestCloseTwice(t *testing.T) {
	for _, path := range []string{Memory, filePath(t)} {
		e, err := open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestRowNamesItsError: a statement that does not run any more returns the reason, and does
// not look like one whose caller has left.
func TestRowNamesItsError(t *testing.T) {
	e := openTest(t, Memory, Options{})
	full := errors.New("the disk is full")
	err := e.View(context.Background(), Request, func(x *Tx) error {
		x.aborted = full
		var n int
		return x.Row("SELECT 1").Scan(&n)
	})
	if !errors.Is(err, full) {
		t.Error(err)
	}
}

// TestFailedRowIsNoted: nothing runs in a transaction after a row could not be read, whatever the
// caller does with the error.
func TestFailedRowIsNoted(t *testing.T) {
	ledgers(t, func(t *testing.T, e *Engine) {
		ignores := func(x *Tx) error {
			_ = x.Row("SELECT absent FROM ops").Scan(new(int))
			return note("b")(x)
		}
		errs := together(t, e, note("a"), ignores, note("c"))
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Error(errs)
		}
		wantNotes(t, e, "a", "c")
	})
}
