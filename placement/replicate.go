package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// Replicate processes the queue. It makes the copies that are missing, moves those
// that have to leave their backend, and condemns those that are surplus or not
// sound. Any number of workers on any number of instances share the queue.
type Replicate struct{ o *Options }

// NewReplicate makes the routine.
func NewReplicate(o Options) *Replicate { return &Replicate{o.withDefaults()} }

// Name returns "replicate".
func (*Replicate) Name() string { return "replicate" }

// Plan counts the subjects that are due.
func (r *Replicate) Plan(ctx context.Context) (ledger.Backlog, error) {
	return r.o.Ledger.Queue.PlaceBacklog(ctx)
}

// Pass processes the queue until nothing is due.
func (r *Replicate) Pass(worker string) Step {
	return func(ctx context.Context, add func(string, int64)) (bool, error) {
		a, err := r.o.aims(ctx)
		if err != nil {
			return false, err
		}
		claimed, err := r.o.Ledger.Queue.ClaimPlacements(ctx, ledger.PlacementClaim{Worker: worker, Limit: r.o.Claim, Lease: r.o.Lease})
		if err != nil {
			return false, fmt.Errorf("placement: claim: %w", err)
		}
		more := len(claimed.Items) == r.o.Claim
		for n, p := range claimed.Items {
			if ctx.Err() != nil {
				return false, r.o.release(ctx, claimed, claimed.Items[n:])
			}
			again, err := r.one(ctx, &work{o: r.o, aims: &a, p: p, add: add, now: claimed.Now, copier: copier{r.o, claimed.Fence, p.ID}})
			if err != nil {
				return false, err
			}
			more = more || again
		}
		return more, nil
	}
}

// release gives claims back that a stop leaves unused: what has one copy waits for no
// claim's end.
func (o *Options) release(ctx context.Context, claimed ledger.Placements, left []ledger.Placement) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTime)
	defer cancel()
	back := make([]ledger.PlacementResult, len(left))
	for n, p := range left {
		back[n] = ledger.PlacementResult{ID: p.ID, RetryAt: claimed.Now}
	}
	if _, err := o.Ledger.Queue.SettlePlacements(ctx, claimed.Fence, back); err != nil {
		return fmt.Errorf("placement: release (the claims expire): %w", err)
	}
	return nil
}

// one processes a subject and settles it; again reports whether it is due at once.
func (r *Replicate) one(ctx context.Context, w *work) (again bool, err error) {
	w.add(items, 1)
	res := w.do(ctx)
	mine, err := w.settle(ctx, res)
	if err != nil {
		return false, err
	}
	return !mine || !res.Done && res.Error == "" && res.RetryAt == w.now, nil
}

// work is one subject in process.
type work struct {
	copier
	o    *Options
	aims *aims
	p    ledger.Placement
	add  func(string, int64)
	now  lethe.Time // of the claim
}

// settle ends the claim, even after ctx has ended; mine is false if another worker
// has taken it over.
func (w *work) settle(ctx context.Context, res ledger.PlacementResult) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTime)
	defer cancel()
	lost, err := w.o.Ledger.Queue.SettlePlacements(ctx, w.fence, []ledger.PlacementResult{res})
	if err != nil {
		return false, fmt.Errorf("placement: settle %s (its claim expires): %w", w.p.ID, err)
	}
	w.add(fenced, int64(lost))
	return lost == 0, nil
}

// do carries out the plan, and returns the result.
func (w *work) do(ctx context.Context) ledger.PlacementResult {
	plan := w.aims.decide(w.p)
	if plan.empty() {
		return ledger.PlacementResult{ID: w.p.ID, Done: true}
	}
	if w.o.Events.Planned != nil {
		w.o.Events.Planned(w.p.Subject, plan.String())
	}
	err := w.act(ctx, &plan)
	switch {
	case ctx.Err() != nil, err == nil && plan.stuck == "":
		return ledger.PlacementResult{ID: w.p.ID, RetryAt: w.now}
	case errors.Is(err, lethe.ErrFenced), errors.Is(err, lethe.ErrContentGone):
		return ledger.PlacementResult{ID: w.p.ID, RetryAt: w.now.Add(minRetry)}
	case err == nil:
		err = errors.New(plan.stuck)
	}
	res := ledger.PlacementResult{ID: w.p.ID, Error: err.Error(), RetryAt: w.now.Add(backoff(w.p.Attempts))}
	w.add(stuck, 1)
	if w.o.Events.Stuck != nil {
		w.o.Events.Stuck(w.p.Subject, res.Error, res.RetryAt)
	}
	return res
}

func (w *work) act(ctx context.Context, plan *decision) error {
	for _, r := range plan.copies {
		if err := w.replicate(ctx, r); err != nil {
			return err
		}
	}
	for _, t := range plan.trims {
		if err := w.trim(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// replicate makes a copy from the first source that can be read, on the first
// backend that takes it.
func (w *work) replicate(ctx context.Context, r replica) error {
	var failures []error
	for _, to := range r.to {
		for _, src := range r.from {
			if src.Suspect {
				// Only its digest proves it sound; then it is a source like others.
				return errors.Join(append(failures, w.clear(ctx, src))...)
			}
			copied, err := w.copy(ctx, src, to)
			if err == nil {
				w.made(src, copied)
				return nil
			}
			if errors.Is(err, lethe.ErrContentGone) {
				w.add(sourceGone, 1) // deleted or replaced meanwhile: no copy failed
				return err
			}
			failures = append(failures, fmt.Errorf("copy of blob %s from %s to %s: %w", src.ID, src.Backend, to, err))
			w.add(copyFailed, 1)
			if w.o.Events.CopyFailed != nil {
				w.o.Events.CopyFailed(src, to, err)
			}
			if ctx.Err() != nil || final(err) {
				return errors.Join(failures...)
			}
			w.doubt(ctx, src, err)
			if !errors.Is(err, errSource) {
				break // another backend may do
			}
		}
	}
	return errors.Join(failures...)
}

// clear reads a suspect copy when no sound one is left. If it is sound after all
// its content is processed again.
func (w *work) clear(ctx context.Context, b ledger.Blob) error {
	read, err := w.checked(ctx, b)
	if !read {
		return fmt.Errorf("blob %s on %s is suspect: %w", b.ID, b.Backend, err)
	}
	return err
}

// checked reads a copy to its end (read), and records that it is sound if it is.
func (w *work) checked(ctx context.Context, b ledger.Blob) (read bool, err error) {
	began := w.o.Clock.Now()
	if err := w.readBack(ctx, b); err != nil {
		return false, err
	}
	w.add(verified, 1)
	_, err = w.o.Ledger.Walk.MarkSound(ctx, []lethe.ID{b.ID}, w.o.Clock.Now().Sub(began))
	return true, err
}

// final reports whether neither another source nor another backend would help.
func final(err error) bool {
	return errors.Is(err, lethe.ErrFenced) || errors.Is(err, lethe.ErrReaped)
}

func (w *work) made(src, copied ledger.Blob) {
	w.add(copiesMade, 1)
	w.add(copiedBytes, src.Size)
	if w.o.Events.Copied != nil {
		w.o.Events.Copied(src, copied)
	}
}

// doubt marks a copy suspect that was found missing or damaged. That queues its
// content again, and fences the current claim.
func (w *work) doubt(ctx context.Context, b ledger.Blob, err error) {
	if b.Suspect || !errors.Is(err, errSource) || !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, lethe.ErrCorrupt) {
		return
	}
	if n, err := w.o.Ledger.Walk.MarkSuspect(ctx, []lethe.ID{b.ID}, err.Error()); err != nil || n == 0 {
		return // the next reader finds out
	}
	w.add(suspected, 1)
	if w.o.Events.Suspect != nil {
		w.o.Events.Suspect(b, err)
	}
}

// trim condemns copies beside one that was verified recently, which it verifies
// first if need be (docs/protocol.md, rule 17).
func (w *work) trim(ctx context.Context, t trim) error {
	order := ledger.Trim{Content: w.p.ID, Blobs: ids(t.blobs), Reason: t.reason, Fence: w.fence, Lease: w.o.Lease}
	n, err := 0, lethe.ErrPreconditionFailed
	if t.beside[0].VerifiedAt > 0 {
		n, err = w.o.Ledger.Copies.TrimCopies(ctx, order)
	}
	if errors.Is(err, lethe.ErrPreconditionFailed) { // the verification is too old
		if err := w.verify(ctx, t.beside); err != nil {
			return err
		}
		n, err = w.o.Ledger.Copies.TrimCopies(ctx, order)
	}
	if err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	w.add(trimmed, int64(n))
	if w.o.Events.Trimmed != nil {
		w.o.Events.Trimmed(w.p.ID, ids(t.blobs), t.reason)
	}
	return nil
}

// verify reads one of the copies to its end.
func (w *work) verify(ctx context.Context, blobs []ledger.Blob) error {
	var failures []error
	for _, b := range blobs {
		read, err := w.checked(ctx, b)
		if read {
			return err
		}
		failures = append(failures, err)
		w.doubt(ctx, b, err)
		if ctx.Err() != nil {
			break
		}
	}
	return fmt.Errorf("no copy that stays could be verified: %w", errors.Join(failures...))
}
