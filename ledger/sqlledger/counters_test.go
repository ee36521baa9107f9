package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
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
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() { errs[i] = db.write(context.Background(), fmt.Sprint("write ", i), fn) })
		for db.engine.File.Waiting() != i+1 {
			runtime.Gosched()
		}
	}
	release()
	wg.Wait()
	return errs
}

// longGroups lets groups end only when nobody waits.
func longGroups(s *settings) { s.engine.GroupTime = time.Hour }

func ledgers(t *testing.T, test func(*testing.T, *DB)) {
	for name, path := range map[string]string{"file": filePath(t), "memory": Memory} {
		t.Run(name, func(t *testing.T) {
			test(t, openTest(t, path, ledger.Options{Clock: newTestClock()}, longGroups))
		})
	}
}

// counted adds n objects of a byte each to a bucket's counter.
func counted(b lethe.ID, n int64) func(*tx) error {
	return func(t *tx) error {
		t.counts.bucket(b, n, n)
		return nil
	}
}

// sees reads a bucket's counter into n.
func sees(b lethe.ID, n *int64) func(*tx) error {
	return func(t *tx) error {
		var size, slots int64
		return t.Row(bucketSums, b).Scan(n, &size, &slots)
	}
}

func TestGroupSharesItsCounters(t *testing.T) {
	refused := errors.New("refused")
	ledgers(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		b, err := db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "o"})
		if err != nil {
			t.Fatal(err)
		}
		// What a member wrote for those before it goes with it when it is undone, and
		// is written again for the next that looks.
		var first, second, last int64
		undone := func(t *tx) error { return errors.Join(sees(b.ID, &second)(t), counted(b.ID, 100)(t), refused) }
		errs := together(t, db, counted(b.ID, 1), sees(b.ID, &first), counted(b.ID, 2), undone, counted(b.ID, 4), sees(b.ID, &last))
		for i, err := range errs {
			if want := i == 3; errors.Is(err, refused) != want {
				t.Errorf("write %d: %v", i, err)
			}
		}
		if first != 1 || second != 3 || last != 7 {
			t.Errorf("members saw %d, %d, %d objects", first, second, last)
		}
		if b, err = db.Bucket(ctx, "b"); err != nil || b.Objects != 7 || b.Bytes != 7 {
			t.Errorf("the bucket has %d objects of %d bytes (%v)", b.Objects, b.Bytes, err)
		}
	})
}

// TestGroupSharesBuckets: members see each bucket as the transaction has it, whoever read it before.
func TestGroupSharesBuckets(t *testing.T) {
	refused := errors.New("refused")
	reads := func(undo *time.Duration) func(*tx) error {
		return func(t *tx) error {
			b, _, err := t.ruledBucket("b")
			*undo = b.Undo
			return err
		}
	}
	sets := func(undo time.Duration) func(*tx) error {
		return func(t *tx) error {
			_, err := t.Exec(`UPDATE buckets SET undo = ?1 WHERE name = 'b'`, micros(undo))
			return err
		}
	}
	var saw [6]time.Duration
	undone := func(n int) func(*tx) error {
		return func(t *tx) error { return errors.Join(sets(time.Hour)(t), reads(&saw[n])(t), refused) }
	}
	known := func(t *tx) error {
		if group, _ := t.Group.(*common); group == nil || len(group.ruled) != 1 {
			return errors.New("the group has not kept the bucket")
		}
		return nil
	}
	ledgers(t, func(t *testing.T, db *DB) {
		if _, err := db.CreateBucket(context.Background(), ledger.Bucket{Name: "b", Owner: "o"}); err != nil {
			t.Fatal(err)
		}
		// The first member is undone alone, the other one by running the group anew.
		fns := []func(*tx) error{undone(0), reads(&saw[1]), known, sets(time.Second), reads(&saw[2]), undone(3), reads(&saw[4]), sets(time.Minute), reads(&saw[5])}
		for i, err := range together(t, db, fns...) {
			if want := i == 0 || i == 5; errors.Is(err, refused) != want || err != nil && !want {
				t.Errorf("write %d: %v", i, err)
			}
		}
		if want := [6]time.Duration{time.Hour, 0, time.Second, time.Hour, time.Second, time.Minute}; saw != want {
			t.Errorf("members saw %v instead of %v", saw, want)
		}
	})
}

// TestCountersThatCannotBeWritten: each member gets its own result, and those that can be
// written are.
func TestCountersThatCannotBeWritten(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		b, err := db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "o"})
		if err != nil {
			t.Fatal(err)
		}
		err = db.write(ctx, "break", func(t *tx) error {
			_, err := t.Exec(`CREATE TRIGGER broken BEFORE INSERT ON bucket_counters WHEN new.bucket_id = 'broken'
				BEGIN SELECT raise(ABORT, 'broken'); END`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		errs := together(t, db, counted(b.ID, 1), counted("broken", 1), counted(b.ID, 2))
		if errs[0] != nil || errs[1] == nil || errs[2] != nil {
			t.Error(errs)
		}
		if errors.Is(errs[1], lethe.ErrUnknownOutcome) {
			t.Errorf("it is certain that nothing happened: %v", errs[1])
		}
		if b, err = db.Bucket(ctx, "b"); err != nil || b.Objects != 3 {
			t.Errorf("the bucket has %d objects (%v)", b.Objects, err)
		}
	})
}

// TestMembersInAnyOrder: members that stay, look, are refused, panic, or go on after a
// statement that may have ended the transaction: counted is what stays, and each that
// looks sees all before it.
func TestMembersInAnyOrder(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		ctx := context.Background()
		b, err := db.CreateBucket(ctx, ledger.Bucket{Name: "b", Owner: "o"})
		if err != nil {
			t.Fatal(err)
		}
		refused, random, all := errors.New("refused"), rand.New(rand.NewPCG(1, 2)), int64(0)
		for range 200 {
			var members []func(*tx) error
			var stay []bool
			var want []int64
			saw := make([]int64, 1+random.IntN(7))
			for i := range saw {
				n, kind := 1+random.Int64N(9), random.IntN(6)
				stays := kind < 3
				members = append(members, func(t *tx) error {
					saw[i] = -1
					if kind%2 == 1 {
						if err := sees(b.ID, &saw[i])(t); err != nil {
							return err
						}
					}
					counted(b.ID, n)(t)
					switch kind {
					case 3:
						return refused
					case 4:
						t.Exec(`SELECT nothing`)
					case 5:
						panic("as it has to")
					}
					return nil
				})
				before := int64(-1)
				if kind%2 == 1 {
					before = all
				}
				stay, want = append(stay, stays), append(want, before)
				if stays {
					all += n
				}
			}
			for i, err := range together(t, db, members...) {
				if stay[i] != (err == nil) || saw[i] != want[i] {
					t.Fatalf("member %d of %d: %v, saw %d, want %d", i, len(stay), err, saw[i], want[i])
				}
			}
			if b, err = db.Bucket(ctx, "b"); err != nil || b.Objects != all {
				t.Fatalf("the bucket has %d objects of %d (%v)", b.Objects, all, err)
			}
		}
	})
}

// TestMovesAddUpToTheTotals: every move of a committed transaction is reported once, and
// none of a failed one. Together they are the totals.
func TestMovesAddUpToTheTotals(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, Memory, ledger.Options{ReadGrace: time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	told := map[ledger.Move]int64{}
	have := map[lethe.State]int64{}
	db.OnMoves(func(list []ledger.Move) {
		for _, m := range list {
			have[m.From] -= m.Blobs
			have[m.To] += m.Blobs
			told[ledger.Move{From: m.From, To: m.To, Reason: m.Reason}] += m.Blobs
		}
	})
	moveThroughAll(t, db)
	want := map[ledger.Move]int64{
		{To: lethe.Pending}: 2,
		{From: lethe.Pending, To: lethe.Condemned, Reason: lethe.ReasonUploadOrphan}: 1,
		{From: lethe.Pending, To: lethe.Live}:                                        1,
		{From: lethe.Live, To: lethe.Condemned, Reason: lethe.ReasonDelete}:          1,
		{From: lethe.Condemned, Reason: moveConfirmed}:                               1,
		{From: lethe.Condemned, To: lethe.Dead, Reason: moveAttempts}:                1,
	}
	for m, n := range want {
		if told[m] != n {
			t.Errorf("told %d of %+v, want %d", told[m], m, n)
		}
	}
	if len(told) != len(want) {
		t.Errorf("told of %v", told)
	}
	totals, err := db.Totals(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range totals {
		if have[x.State] != x.Blobs {
			t.Errorf("moves leave %d blobs %s, the totals say %d", have[x.State], x.State, x.Blobs)
		}
	}
}

// moveThroughAll takes one blob from its intent to the confirmed end, and another to the
// dead letters.
func moveThroughAll(t *testing.T, db *DB) {
	t.Helper()
	ctx := context.Background()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := db.AddBackend(ctx, ledger.Backend{ID: "main"})
	must(err)
	_, err = db.CreateBucket(ctx, ledger.Bucket{Name: "bucket", Owner: "me"})
	must(err)
	id := func() lethe.ID { return lethe.RandomID(lethe.SystemClock{}.Now()) }
	blob, lost := id(), id()
	for _, b := range []lethe.ID{blob, lost} {
		_, err = db.Begin(ctx, ledger.Intent{ID: b, Backend: "main", Size: 10})
		must(err)
	}
	must(db.Abandon(ctx, lost, false))
	if err := db.Abandon(ctx, lost, false); err == nil {
		t.Fatal("an intent was abandoned twice")
	}
	digest := "aa"
	_, err = db.Commit(ctx, ledger.Commit{
		Op: id(), What: "put", Object: ledger.Object{Bucket: "bucket", Key: "k", Size: 7},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 7}, Blobs: []ledger.Uploaded{{Blob: blob, Size: 7, Digest: digest}},
	})
	must(err)
	_, err = db.Delete(ctx, ledger.Deletion{Op: id(), Bucket: "bucket", Items: []ledger.DeleteItem{{Key: "k"}}})
	must(err)
	claimed, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "w", Backend: "main", Limit: 10})
	must(err)
	s := ledger.Settlement{Fence: claimed.Fence}
	for i, b := range claimed.Blobs {
		s.Items = append(s.Items, ledger.SettleItem{ID: b.ID, Result: []ledger.Result{ledger.Gone, ledger.Failed}[i], Dead: i == 1, Error: "no", RetryAt: claimed.Now})
	}
	_, err = db.Settle(ctx, s)
	must(err)
}
