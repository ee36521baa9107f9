package routine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// ReapLedger resolves intents without a heartbeat.
type ReapLedger interface {
	AgeLedger
	// ClaimIntents stamps unclaimed pending rows whose heartbeat is older than
	// MinAge, so that their writer fails (ErrReaped) from now on.
	ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error)
	// Promote commits a proven intent in its writer's place: ErrFenced,
	// ErrPreconditionFailed if it was superseded meanwhile (nothing changed), and
	// the errors of Commit. Bytes that the writer has in flight may land late. The sums
	// are those of the proving bytes, kept if the writer recorded none.
	Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (ledger.Committed, error)
	// CondemnIntent condemns a claimed intent, due after the late window: ErrFenced.
	CondemnIntent(ctx context.Context, fence int64, blob lethe.ID) error
	// ReleaseIntent gives a claimed intent back for the next tick: ErrFenced.
	ReleaseIntent(ctx context.Context, fence int64, blob lethe.ID) error
	ReapBacklog(ctx context.Context, minAge time.Duration) (ledger.Backlog, error)
}

// Reap resolves intents whose writers stopped their heartbeat (docs/protocol.md,
// rule 19). Only proof promotes: size and digest fixed beforehand, and bytes that
// match both.
type Reap struct {
	Ledger ReapLedger
	Stores map[string]blob.Store
	Store  lethe.ID
	Safety reclaim.Safety
	Limit  int // intents per claim
	Events *reclaim.Events
	Lock   ClaimLock  // of claims
	Plans  PlanLedger // of plans only
}

// Name returns "reap".
func (*Reap) Name() string { return "reap" }

// Plan counts the intents whose heartbeat is too old.
func (r *Reap) Plan(ctx context.Context) (ledger.Backlog, error) {
	return r.Ledger.ReapBacklog(ctx, r.Safety.MinAge)
}

// claim takes intents without a heartbeat, under the lock.
func (r *Reap) claim(ctx context.Context, q ledger.ClaimRequest) (ledger.ClaimedIntents, error) {
	return locked(r.Lock, "reap", r.Ledger.ClaimIntents)(ctx, q)
}

// Pass claims intents without a heartbeat batch by batch, the oldest first, and
// resolves each. Ambiguous ones wait for the next pass: this one continues behind
// them, so that a backend that is down does not block others.
func (r *Reap) Pass(worker string) reclaim.Step {
	q := ledger.ClaimRequest{Worker: worker, Limit: r.Limit, MinAge: r.Safety.MinAge}
	return unlessBehind(r.Ledger, func(ctx context.Context, add reclaim.Add) (bool, error) {
		claimed, err := r.claim(ctx, q)
		if err != nil {
			return false, fmt.Errorf("reclaim: claim intents: %w", err)
		}
		for _, in := range claimed.Intents {
			res, err := r.finish(ctx, claimed.Fence, in, add)
			if err != nil {
				return false, err
			}
			if res == reclaim.Ambiguous {
				q.After = in.Blob.BeatAt + 1
			}
		}
		return r.Limit > 0 && len(claimed.Intents) >= r.Limit, nil
	})
}

// finish resolves one claimed intent and reports it.
func (r *Reap) finish(ctx context.Context, fence int64, in ledger.ClaimedIntent, add reclaim.Add) (reclaim.Resolution, error) {
	res, err := r.resolve(ctx, fence, in)
	if err != nil {
		return "", fmt.Errorf("reclaim: intent %s on %s: %w", in.Blob.ID, in.Blob.Backend, err)
	}
	add(reclaim.Items, 1)
	add(string(res), 1)
	r.Events.EmitIntentResolved(in.Blob, res)
	return res, nil
}

// resolve promotes, condemns or releases one claimed intent.
func (r *Reap) resolve(ctx context.Context, fence int64, in ledger.ClaimedIntent) (reclaim.Resolution, error) {
	proven, sums, err := r.prove(ctx, in)
	if err != nil {
		return reclaim.Ambiguous, ignoreFenced(r.Ledger.ReleaseIntent(ctx, fence, in.Blob.ID))
	}
	if proven {
		res, err := r.promote(ctx, fence, in.Blob.ID, sums)
		if res != reclaim.Superseded || err != nil {
			return res, err
		}
	}
	res := reclaim.Dropped
	if proven || in.Promotion == nil && in.Blob.Digest != "" {
		res = reclaim.Superseded
	}
	switch err := r.Ledger.CondemnIntent(ctx, fence, in.Blob.ID); {
	case errors.Is(err, lethe.ErrFenced):
		return reclaim.Vanished, nil
	case err != nil:
		return "", err
	}
	return res, nil
}

// promote commits a proven intent, with the sums of the bytes that proved it.
func (r *Reap) promote(ctx context.Context, fence int64, b lethe.ID, sums lethe.BlockSums) (reclaim.Resolution, error) {
	_, err := r.Ledger.Promote(ctx, fence, b, sums)
	switch {
	case err == nil:
		return reclaim.Promoted, nil
	case errors.Is(err, lethe.ErrFenced):
		return reclaim.Vanished, nil
	case errors.Is(err, lethe.ErrUnknownOutcome), errors.Is(err, lethe.ErrUnavailable):
		return "", err
	}
	// Every other error is certain: the write cannot be made any more, because its
	// bucket is gone, its quota used up, or its precondition false.
	return reclaim.Superseded, nil
}

// prove reports whether the bytes are there and match what was promised, and
// returns the sums of their blocks. An error means that it is undecided.
func (r *Reap) prove(ctx context.Context, in ledger.ClaimedIntent) (bool, lethe.BlockSums, error) {
	var none lethe.BlockSums
	if in.Promotion == nil || len(in.Promotion.Commit.Blobs) != 1 {
		return false, none, nil
	}
	want := in.Promotion.Commit.Blobs[0]
	store, ok := r.Stores[in.Blob.Backend]
	if !ok {
		return false, none, fmt.Errorf("backend %s is not configured", in.Blob.Backend)
	}
	key := lethe.BlobKey(r.Store, in.Blob.ID)
	// Only Stat proves that the bytes survive a loss of power.
	switch info, err := store.Stat(ctx, key); {
	case errors.Is(err, blob.ErrNotExist):
		return false, none, nil
	case err != nil:
		return false, none, err
	case info.Size != want.Size:
		return false, none, nil
	}
	have, err := readSums(ctx, store, key, lethe.BlockSize)
	if errors.Is(err, blob.ErrNotExist) {
		return false, none, nil
	}
	return err == nil && have.Size == want.Size && have.Digest == want.Digest, have.Blocks, err
}

// readSums reads what lies under a key to its end.
func readSums(ctx context.Context, store blob.Store, key string, block int64) (blob.Sums, error) {
	body, err := store.Get(ctx, key, 0, -1)
	if err != nil {
		return blob.Sums{}, err
	}
	defer body.Close()
	return blob.SumsOf(body, block)
}

// ignoreFenced drops the error of a lost claim: another worker has the item now.
func ignoreFenced(err error) error {
	if errors.Is(err, lethe.ErrFenced) {
		return nil
	}
	return err
}

// HasBacklog implements reclaim.Backlogged.
func (r *Reap) HasBacklog(ctx context.Context) (bool, error) {
	return hasDue(ctx, r.Plans, blobOf(ledger.DueQuery{State: lethe.Pending, MinAge: r.Safety.MinAge, Limit: 1}))
}

// Items are the intents whose writers have sent no heartbeat for too long.
func (r *Reap) Items(ctx context.Context, yield func(plan.Item) error) error {
	q := ledger.DueQuery{State: lethe.Pending, MinAge: r.Safety.MinAge}
	yield = unlessKept(r.Ledger, yield)
	return blobPages(ctx, r.Plans, q, func(b ledger.Blob) error {
		return yield(plan.Item{Do: r.Name(), Kind: kindIntent, ID: string(b.ID), Backend: b.Backend, Size: b.Size,
			Why: "no heartbeat of its writer: promoted if its bytes prove the write, else condemned", Due: b.BeatAt.Add(r.Safety.MinAge).Time()})
	})
}

// Apply resolves the intents that still have no heartbeat.
func (r *Reap) Apply(ctx context.Context, worker string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, r.Ledger, func(ctx context.Context) error {
		claimed, err := r.claim(ctx, ledger.ClaimRequest{Worker: worker, MinAge: r.Safety.MinAge, Only: idsOf(a.left)})
		if err != nil {
			return fmt.Errorf("reclaim: claim intents: %w", err)
		}
		for _, in := range claimed.Intents {
			res, err := r.finish(ctx, claimed.Fence, in, add)
			if err != nil {
				return err
			}
			a.resolved(ledger.Named{Key: string(in.Blob.ID), ID: in.Blob.ID}, res)
		}
		return a.explain(ctx, r.Plans, lethe.Pending, claimed.Now)
	})
	return a.out, err
}
