package routine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// EvictLedger makes room in buckets that evict.
type EvictLedger interface {
	AgeLedger
	// EvictingBuckets lists up to limit buckets that evict, with their totals, by id.
	EvictingBuckets(ctx context.Context, after lethe.ID, limit int) ([]ledger.Bucket, error)
	// Evict ends up to a batch of a bucket's objects, if it is above its high mark, the one
	// that was used longest ago first, until it is at its low mark.
	Evict(ctx context.Context, r ledger.EvictRequest) (ledger.Evicted, error)
	// NextEvicted pages through what Evict would take, in its order.
	NextEvicted(ctx context.Context, q ledger.EvictQuery) ([]ledger.Due, error)
	// LimitStates lists the limits, of which that on what ends by itself counts evictions.
	LimitStates(ctx context.Context) ([]ledger.LimitState, error)
	LedgerTime(ctx context.Context) (lethe.Time, error)
}

// Evict makes room in buckets that evict, ahead of need: those above their high mark, down to the
// low one. Its cost depends on what it evicts.
type Evict struct {
	Ledger EvictLedger
	Batch  ledger.Batch
	Drop   Drop
	Events *reclaim.Events
	// Note notes the reads that this process has served. Nil: it serves none.
	Note func(ctx context.Context) error
	// Controller decides the size of batches.
	Controller *throttle.Controller
}

// Name returns "evict".
func (*Evict) Name() string { return "evict" }

// bucketPage is how many buckets are listed at a time.
const bucketPage = 1000

// eachBucket calls each for the buckets above their high mark, with what has to go of each.
func (e *Evict) eachBucket(ctx context.Context, each func(ledger.Bucket, ledger.Room) error) error {
	for after := lethe.ID(""); ; {
		page, err := e.Ledger.EvictingBuckets(ctx, after, bucketPage)
		if err != nil {
			return err
		}
		for _, b := range page {
			if excess := b.Excess(ledger.EvictRequest{}); excess != (ledger.Room{}) {
				if err := each(b, excess); err != nil {
					return err
				}
			}
		}
		if len(page) < bucketPage {
			return nil
		}
		after = page[len(page)-1].ID
	}
}

// Pass makes room in one bucket after the other, a batch at a time.
func (e *Evict) Pass(string) reclaim.Step {
	var todo []ledger.Bucket
	listed, begun := false, false
	var after ledger.UseMark
	return unlessBehind(e.Ledger, func(ctx context.Context, add reclaim.Add) (bool, error) {
		if !listed {
			listed = true
			if e.Note != nil {
				if err := e.Note(ctx); err != nil {
					return false, fmt.Errorf("reclaim: note reads before eviction: %w", err)
				}
			}
			err := e.eachBucket(ctx, func(b ledger.Bucket, _ ledger.Room) error {
				todo = append(todo, b)
				return nil
			})
			if err != nil {
				return false, fmt.Errorf("reclaim: buckets that evict: %w", err)
			}
		}
		if len(todo) == 0 {
			return false, nil
		}
		out, err := e.batch(ctx, ledger.EvictRequest{Bucket: todo[0].Name, Batch: e.Batch, After: after, Begun: begun}, add)
		if err != nil {
			return false, fmt.Errorf("reclaim: evict from bucket %s: %w", todo[0].Name, err)
		}
		after, begun = out.Next, true
		if stuck := out.Busy > 0 && out.Objects == 0; stuck || !out.More {
			todo, after, begun = todo[1:], ledger.UseMark{}, false
		}
		return len(todo) > 0, nil
	})
}

// batch evicts one batch; a bucket that is gone has nothing to evict.
func (e *Evict) batch(ctx context.Context, r ledger.EvictRequest, add reclaim.Add) (ledger.Evicted, error) {
	r.Batch.Limit, r.Batch.MaxBlobs = e.Controller.Size(r.Batch.Limit), e.Controller.Size(r.Batch.MaxBlobs)
	out, err := e.Ledger.Evict(ctx, r)
	if errors.Is(err, lethe.ErrNoSuchBucket) {
		return ledger.Evicted{}, nil
	}
	if err != nil {
		return out, err
	}
	countReclaimed(add, out.Reclaimed)
	add("held", int64(out.Held))
	drop(ctx, e.Drop, out.Dropped)
	e.Events.EmitReclaimed(lethe.ReasonEvicted, out.Reclaimed)
	e.Events.EmitTripped(out.Tripped)
	return out, nil
}

// Plan counts what a pass would evict.
func (e *Evict) Plan(ctx context.Context) (b ledger.Backlog, err error) {
	err = e.Items(ctx, func(i plan.Item) error {
		if i.Stays != "" {
			b.Held++
			b.HeldBytes += i.Size
			return nil
		}
		b.Count++
		b.Bytes += i.Size
		return nil
	})
	return b, err
}

// errFound ends the search of HasBacklog.
var errFound = errors.New("found")

// HasBacklog implements reclaim.Backlogged.
func (e *Evict) HasBacklog(ctx context.Context) (bool, error) {
	err := e.eachBucket(ctx, func(ledger.Bucket, ledger.Room) error { return errFound })
	if errors.Is(err, errFound) {
		return true, nil
	}
	return false, err
}

// stopped returns why a limit lets nothing go from a bucket; empty: none does.
func (e *Evict) stopped(ctx context.Context, bucket lethe.ID) (string, error) {
	if !e.Batch.Limits.TTL.On() {
		return "", nil
	}
	now, err := e.Ledger.LedgerTime(ctx)
	if err != nil {
		return "", err
	}
	list, err := e.Ledger.LimitStates(ctx)
	for _, g := range list {
		if g.Kind == ledger.LimitTTL && g.Subject == string(bucket) && g.Tripped(now) {
			return g.Reason, nil
		}
	}
	return "", err
}

// Items are the objects that a pass would evict, with those before them that a hold keeps.
func (e *Evict) Items(ctx context.Context, yield func(plan.Item) error) error {
	yield = unlessKept(e.Ledger, yield)
	return e.eachBucket(ctx, func(b ledger.Bucket, excess ledger.Room) error {
		stopped, err := e.stopped(ctx, b.ID)
		if err != nil {
			return err
		}
		q, most := ledger.EvictQuery{Bucket: b.Name, Limit: planPage}, b.MayEvict(ledger.EvictRequest{})
		for {
			page, err := e.Ledger.NextEvicted(ctx, q)
			if err != nil {
				return err
			}
			for _, d := range page {
				i := dueItem(e.Name(), kindObject, predict.Due{Due: d, Stays: stopped})
				if d.Held {
					i.Stays = predict.HeldText
				} else if excess, most = excess.Less(d.Size), most-1; excess == (ledger.Room{}) || most == 0 {
					return yield(i)
				}
				if err := yield(i); err != nil {
					return err
				}
				q.After = ledger.DueMark{Due: d.At, Name: d.Key}
			}
			if len(page) < planPage {
				return nil
			}
		}
	})
}

// Apply evicts the objects that still have the version that was seen, as long as their buckets are
// above the high mark.
func (e *Evict) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	byBucket := map[string][]plan.Item{}
	for _, i := range items {
		byBucket[i.Bucket] = append(byBucket[i.Bucket], i)
	}
	in := map[string]*application{}
	for name, list := range byBucket {
		in[name] = applied(list)
	}
	names := slices.Sorted(maps.Keys(in))
	err := unlessDoubted(ctx, e.Ledger, func(ctx context.Context) error {
		for _, name := range names {
			err := in[name].reclaim(ctx, func(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
				evicted, err := e.batch(ctx, ledger.EvictRequest{Bucket: name, Batch: b, Begun: true}, add)
				return evicted.Reclaimed, err
			}, e.Batch, func(ledger.Reclaimed) {})
			if err != nil {
				return err
			}
		}
		return nil
	})
	var out []plan.Result
	for _, name := range names {
		in[name].rest(plan.NotDue, "it was used, written or removed, a hold keeps it, or its bucket has room")
		out = append(out, in[name].out...)
	}
	return out, err
}
