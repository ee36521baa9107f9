package fate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/failpoint"
	"github.com/lethe-storage/lethe/internal/fate"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
)

// faulty is a ledger whose transactions fail, after or before they happened.
type faulty struct {
	*memmeta.DB
	fail error
}

func (f *faulty) Commit(ctx context.Context, c meta.Commit) (out meta.Committed, err error) {
	if f.fail == nil {
		return f.DB.Commit(ctx, c)
	}
	return out, f.fail
}

func (f *faulty) Settle(ctx context.Context, s meta.Settlement) (out meta.Settled, err error) {
	if f.fail == nil {
		return f.DB.Settle(ctx, s)
	}
	return out, f.fail
}

func (f *faulty) Abandon(ctx context.Context, id lethe.ID, late bool) error {
	if f.fail == nil {
		return f.DB.Abandon(ctx, id, late)
	}
	return f.fail
}

func (f *faulty) Expire(ctx context.Context, b meta.Batch) (out meta.Reclaimed, err error) {
	if f.fail == nil {
		return f.DB.Expire(ctx, b)
	}
	return out, f.fail
}

func (f *faulty) ClockBehind() time.Duration { return time.Hour }

type world struct {
	t    *testing.T
	in   *faulty
	l    failpoint.Ledger
	told []fate.Failure
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, in: &faulty{DB: memmeta.New(meta.Options{ReadGrace: time.Microsecond})}}
	watch := &fate.Watch{Failed: func(f fate.Failure) { w.told = append(w.told, f) }}
	w.l = watch.Ledger(w.in)
	if _, err := w.in.AddBackend(t.Context(), meta.Backend{ID: "main"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.in.CreateBucket(t.Context(), meta.Bucket{Name: "b", Owner: "o"}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) begin() lethe.ID {
	w.t.Helper()
	id := lethe.RandomID(1)
	if _, err := w.l.Begin(w.t.Context(), meta.Intent{ID: id, Backend: "main", Size: 7}); err != nil {
		w.t.Fatal(err)
	}
	return id
}

func (w *world) take() (out []string) {
	for _, f := range w.told {
		line := fmt.Sprintf("%s %s %s %d", f.Stage, f.Reason, f.Backend, f.Size)
		for _, b := range f.Blobs {
			line += fmt.Sprintf(" %s=%d", b.Blob, b.Size)
		}
		out = append(out, line)
	}
	w.told = nil
	return out
}

func (w *world) wants(want ...string) {
	w.t.Helper()
	if have := w.take(); !slices.Equal(have, want) {
		w.t.Fatalf("told %q, want %q", have, want)
	}
}

// A transaction that failed is told with backend, name and size; one that was
// refused is not, and neither is one that succeeded.
func TestFailuresAreTold(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.begin()
	w.in.fail = fmt.Errorf("commit: %w", lethe.ErrUnknownOutcome)
	c := meta.Commit{Op: lethe.RandomID(1), What: "put", Object: meta.Object{Bucket: "b", Key: "k", Size: 7}, Blobs: []meta.Uploaded{{Blob: id, Size: 7}}}
	_, _ = w.l.Commit(ctx, c)
	w.wants("commit unknown main 7 " + string(id) + "=7")
	_ = w.l.Abandon(ctx, id, true) // is tried again
	w.in.fail = lethe.ErrUnavailable
	_ = w.l.Abandon(ctx, id, true)
	_, _ = w.l.Expire(ctx, meta.Batch{}) // has taken nothing
	w.wants("abandon unknown main 7 "+string(id)+"=7", "abandon unavailable main 7 "+string(id)+"=7")
	for _, refused := range []error{lethe.ErrPreconditionFailed, lethe.ErrHeld} {
		w.in.fail = refused
		_, _ = w.l.Commit(ctx, c)
		w.wants()
	}
	w.in.fail = errors.New("disk I/O error")
	_, _ = w.l.Commit(ctx, c)
	w.wants("commit other  0 " + string(id) + "=0") // given up before: nobody knows its place any more
}

// A batch that fails with blobs in its hands is told with all of them, by backend,
// also where it certainly did nothing; one that failed otherwise, without.
func TestCondemningIsTold(t *testing.T) {
	w := newWorld(t)
	held := []meta.Doomed{{ID: "a", Backend: "main", Size: 1}, {ID: "b", Backend: "other", Size: 2}, {ID: "c", Backend: "main", Size: 4}}
	w.in.fail = fmt.Errorf("expire: %w", &meta.CondemnError{Blobs: held, Err: lethe.ErrUnavailable})
	_, _ = w.l.Expire(t.Context(), meta.Batch{})
	w.wants("condemn unavailable main 5 a=1 c=4", "condemn unavailable other 2 b=2")
	w.in.fail = &meta.CondemnError{Blobs: held[:1], Err: lethe.ErrFenced}
	_, _ = w.l.Expire(t.Context(), meta.Batch{})
	w.wants()
	w.in.fail = errors.New("disk I/O error")
	_, _ = w.l.Expire(t.Context(), meta.Batch{})
	w.wants("condemn other  0")
}

// A batch that a window's end or a stop cut off before its turn came has taken
// nothing; one that it cut off between two tries is told with what it had taken.
func TestBatchesThatNeverBeganAreNotTold(t *testing.T) {
	db, err := meta.Open(t.Context(), meta.Memory, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func(c io.Closer) { _ = c.Close() }(db)
	w := newWorld(t)
	l := (&fate.Watch{Failed: func(f fate.Failure) { w.told = append(w.told, f) }}).Ledger(db)
	ended, end := context.WithCancel(t.Context())
	end()
	_, expired := l.Expire(ended, meta.Batch{})
	_, purged := l.Purge(ended, meta.Batch{})
	_, ruled := l.AbortRuled(ended, lethe.RandomID(1))
	for _, err := range []error{expired, purged, ruled, l.AbortStale(ended, lethe.RandomID(1), meta.Stale{})} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the answer is %v", err)
		}
	}
	w.wants()
	w.in.fail = fmt.Errorf("expire: %w", &meta.CondemnError{Blobs: []meta.Doomed{{ID: "a", Backend: "main", Size: 1}}, Err: context.Canceled})
	_, _ = w.l.Expire(t.Context(), meta.Batch{})
	w.wants("condemn cut off main 1 a=1")
}

func TestSettleIsTold(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	a, b := w.begin(), w.begin()
	for _, id := range []lethe.ID{a, b} {
		if err := w.l.Abandon(ctx, id, false); err != nil {
			t.Fatal(err)
		}
	}
	claimed, err := w.l.ClaimCondemned(ctx, meta.ClaimRequest{Backend: "main", Worker: "w"})
	if err != nil || len(claimed.Blobs) != 2 {
		t.Fatal(claimed, err)
	}
	w.in.fail = lethe.ErrUnknownOutcome
	_, _ = w.l.Settle(ctx, meta.Settlement{Fence: claimed.Fence})
	first, second := claimed.Blobs[0], claimed.Blobs[1]
	w.wants(fmt.Sprintf("settle unknown main 14 %s=7 %s=7", first.ID, second.ID))
	if _, err = w.l.Settle(ctx, meta.Settlement{Fence: claimed.Fence}); err == nil || len(w.take()) != 0 {
		t.Fatal("a claim is told twice")
	}
}

// What the engine asks a ledger beside its methods reaches the ledger.
func TestQuestionsPass(t *testing.T) {
	w := newWorld(t)
	if c, ok := w.l.(interface{ ClockBehind() time.Duration }); !ok || c.ClockBehind() != time.Hour {
		t.Error("nobody hears of a clock that is behind")
	}
	v, ok := w.l.(interface {
		Vacuum(ctx context.Context, pages int) (int, error)
	})
	if !ok {
		t.Fatal("no vacuum")
	}
	if _, err := v.Vacuum(t.Context(), 1); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	db, err := meta.Open(t.Context(), meta.Memory, meta.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func(c io.Closer) { _ = c.Close() }(db)
	v, _ = (&fate.Watch{}).Ledger(db).(interface {
		Vacuum(ctx context.Context, pages int) (int, error)
	})
	if _, err := v.Vacuum(t.Context(), 1); err != nil {
		t.Error(err)
	}
}
