package routine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/predict"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// CleanLedger hands out condemned blobs and records their results.
type CleanLedger interface {
	FairLedger
	// CondemnedDue reports whether there is something to claim, due at after or later.
	CondemnedDue(ctx context.Context, backend string, after lethe.Time) (bool, error)
	// ClaimCondemned stamps due, unclaimed condemned blobs of one backend. It
	// refuses with ErrBackendMismatch while deletes on the backend are held, or if
	// it is not registered.
	ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error)
	// Settle removes the rows of bytes that are confirmed gone, schedules retries,
	// and moves the rest to the dead letters. A row whose claim is older than its
	// late_until is kept, due then: an upload may have landed after the delete,
	// however late it is settled. Fence 0 settles nothing.
	Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error)
	CleanBacklog(ctx context.Context, backend string) (ledger.Backlog, error)
}

// Clean is the only place that deletes blobs (docs/protocol.md, rule 5). It claims
// condemned blobs that are due, deletes them in one call per batch, and settles
// each key by its own result.
type Clean struct {
	Ledger CleanLedger
	Stores map[string]blob.Store // by backend id
	Store  lethe.ID              // begins the name of every blob
	Safety reclaim.Safety
	Limit  int // blobs per claim and delete call
	// Deletes bounds what is deleted on each backend.
	Deletes ledger.Limit
	Clock   lethe.Clock
	// Boot measures how long a batch's deletes last (default lethe.Monotonic).
	Boot   lethe.Clock
	Events *reclaim.Events
	// Controller decides how many blobs of a backend a batch has, and how many batches
	// are under way while the next one is claimed.
	Controller *throttle.Controller
	// Admit, if set, returns nil if ledger and backend belong together
	// (Pairing.Admit). It is called before each batch, and again before bytes are
	// recorded as absent. Doubt refuses the batch (docs/protocol.md, rule 13).
	Admit  func(ctx context.Context, backend string) error
	Lock   ClaimLock  // of claims, for each backend
	Plans  PlanLedger // of plans only
	Rounds RestartInterval

	mu    sync.Mutex
	down  map[string]lethe.Time // backend -> not to be tried before
	rings map[string]*cursor    // of buckets, by backend
}

// Name returns "clean".
func (*Clean) Name() string { return "clean" }

// Plan counts the condemned blobs that are due, over all backends.
func (k *Clean) Plan(ctx context.Context) (ledger.Backlog, error) {
	var sum ledger.Backlog
	for _, id := range k.backends() {
		b, err := k.Ledger.CleanBacklog(ctx, id)
		if err != nil {
			return sum, err
		}
		sum = addBacklog(sum, b)
	}
	return sum, nil
}

// BatchSize is how many blobs one call deletes at most.
func (k *Clean) BatchSize() int { return k.Limit }

// Pass visits the backends in rotation, one batch a step, until none has anything
// due. After Rounds.Time it begins anew.
func (k *Clean) Pass(worker string) reclaim.Step {
	return k.Rounds.of(func() reclaim.Step { return k.round(worker) })
}

func (k *Clean) round(worker string) reclaim.Step {
	todo := k.backends()
	queues := make(map[string]*queue)
	for _, id := range todo {
		queues[id] = &queue{ring: k.ring(id), request: ledger.ClaimRequest{Worker: worker, Backend: id}}
	}
	next := 0
	return func(ctx context.Context, add reclaim.Add) (bool, error) {
		if len(todo) == 0 {
			return false, nil
		}
		next %= len(todo)
		id := todo[next]
		q := queues[id]
		limit, parallel := k.Controller.Deletes(id, k.Limit)
		q.request.Limit = limit
		if err := k.batches(ctx, q, parallel, add); err != nil || q.empty {
			todo = slices.Delete(todo, next, next+1)
			return len(todo) > 0 && ctx.Err() == nil, err
		}
		next++
		return ctx.Err() == nil, nil
	}
}

func (k *Clean) backends() []string { return slices.Sorted(maps.Keys(k.Stores)) }

// queue is what a pass knows of the blobs to be deleted on one backend.
type queue struct {
	request ledger.ClaimRequest // for the oldest first; After advances
	ring    *cursor
	turns   fairScheduler
	empty   bool // nothing more is due
}

func (k *Clean) ring(backend string) *cursor {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rings == nil {
		k.rings = make(map[string]*cursor)
	}
	if k.rings[backend] == nil {
		k.rings[backend] = &cursor{}
	}
	return k.rings[backend]
}

// batches claims, deletes and settles: once, or several times side by side.
func (k *Clean) batches(ctx context.Context, q *queue, parallel int, add reclaim.Add) error {
	if parallel > 1 {
		return k.overlap(ctx, q, parallel, add)
	}
	b, err := k.next(ctx, q, add)
	if err != nil || len(b.Blobs) == 0 {
		return err
	}
	return k.Controller.Batch(ctx, q.request.Backend, func() error { return k.finish(ctx, q.request.Backend, b, add) })
}

// batch is what was claimed to be deleted by one call.
type batch struct {
	ledger.Claimed
	ended func(deleted int)
	at    lethe.Time // when it was admitted, by the monotonic clock
}

// next claims a batch as soon as the limits allow a call. It returns none if
// nothing is due, or if the backend is down or held.
func (k *Clean) next(ctx context.Context, q *queue, add reclaim.Add) (batch, error) {
	backend := q.request.Backend
	due, err := !k.resting(backend), error(nil)
	if due {
		due, err = k.Ledger.CondemnedDue(ctx, backend, q.request.After)
	}
	if err != nil || !due {
		q.empty = true
		return batch{}, err
	}
	ended, err := k.Controller.Call(ctx, backend)
	if err != nil {
		return batch{}, err
	}
	at := k.boot()
	claimed, err := k.claim(ctx, q, add)
	if len(claimed.Blobs) == 0 {
		ended(0)
	}
	return batch{claimed, ended, at}, err
}

// claim takes a batch, or none if deletes on the backend are not allowed now. It
// first compares the backend with the ledger, which costs a request.
func (k *Clean) claim(ctx context.Context, q *queue, add reclaim.Add) (claimed ledger.Claimed, err error) {
	backend := q.request.Backend
	if err := k.admit(ctx, backend); err != nil {
		q.empty = true
		return claimed, waits(err, add)
	}
	r := q.request
	r.Deletes = k.Deletes
	if r.Only == nil {
		if r.Turns, err = q.turns.look(ctx, k.Ledger, q.ring, backend); err != nil {
			return claimed, fmt.Errorf("reclaim: look for work on %s: %w", backend, err)
		}
	}
	ended := k.Controller.Time(throttle.Database, "claim")
	claimed, err = locked(k.Lock, "clean:"+backend, k.Ledger.ClaimCondemned)(ctx, r)
	ended(len(claimed.Blobs))
	if errors.Is(err, lethe.ErrBackendMismatch) {
		q.empty = true
		add("held", 1)
		return ledger.Claimed{}, nil
	}
	if err != nil {
		return ledger.Claimed{}, fmt.Errorf("reclaim: claim on %s: %w", backend, err)
	}
	if len(r.Turns) == 0 { // only a claim of the oldest shows that nothing is left
		q.request.After = claimed.LastDue
		q.empty = len(claimed.Blobs) < r.Limit || len(claimed.Blobs) == 0
		q.turns.oldest(!q.empty)
	}
	if claimed.Tripped != nil {
		add("tripped", 1)
		k.Events.EmitTripped([]ledger.LimitState{*claimed.Tripped})
	}
	return claimed, nil
}

// rounds is how many batches per place in flight one step takes. A higher number
// hides that the places run empty at its end.
const rounds = 8

// overlap keeps n batches of a backend in flight: some are deleted while others are
// claimed and settled, so that neither backend nor ledger waits for the other. It
// returns when all that it claimed is settled.
func (k *Clean) overlap(ctx context.Context, q *queue, n int, add reclaim.Add) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var errs []error
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			errs = append(errs, err)
		}
	}
	failed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(errs) > 0
	}
	places := make(chan struct{}, n)
	for i := 0; !q.empty && i < n*rounds && ctx.Err() == nil && !failed(); i++ {
		places <- struct{}{}
		b, err := k.next(ctx, q, add)
		if note(err); len(b.Blobs) == 0 {
			<-places
			continue
		}
		wg.Go(func() {
			defer func() { <-places }()
			note(k.finish(ctx, q.request.Backend, b, add))
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// finish deletes a batch and settles it.
func (k *Clean) finish(ctx context.Context, backend string, b batch, add reclaim.Add) error {
	_, err := k.deleteAndSettle(ctx, backend, b, add)
	return err
}

// admit checks that the backend belongs to the ledger.
func (k *Clean) admit(ctx context.Context, backend string) error {
	if k.Admit == nil {
		return nil
	}
	return k.Admit(ctx, backend)
}

// waits turns a backend that is held, or not yet known to be unused by other
// ledgers, into no failure of the pass.
func waits(err error, add reclaim.Add) error {
	switch {
	case errors.Is(err, pairing.ErrNotQuiet):
		add("waiting", 1)
	case errors.Is(err, lethe.ErrBackendMismatch):
		add("held", 1)
	default:
		return err
	}
	return nil
}

// resting reports whether the backend was found down a moment ago.
func (k *Clean) resting(backend string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Clock.Now() < k.down[backend]
}

func (k *Clean) rest(backend string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down == nil {
		k.down = make(map[string]lethe.Time)
	}
	k.down[backend] = k.Clock.Now().Add(k.Safety.BackoffMin)
}

// WhySafe implements reclaim.SafeUnpaired.
func (*Clean) WhySafe() string {
	return "it asks for each backend, and claims nothing where deletes are held"
}

// HasBacklog implements reclaim.Backlogged.
func (k *Clean) HasBacklog(ctx context.Context) (bool, error) {
	for _, id := range k.backends() {
		left, err := hasDue(ctx, k.Plans, blobOf(ledger.DueQuery{State: lethe.Condemned, Backend: id, Limit: 1}))
		if left || err != nil {
			return left, err
		}
	}
	return false, nil
}

// predicted reads what decides how many due blobs of a backend may go.
func (k *Clean) predicted(ctx context.Context, backend string) (d predict.Deletes, err error) {
	d = predict.Deletes{Limit: k.Deletes, Backend: ledger.Backend{ID: backend}}
	due, err := k.Ledger.CleanBacklog(ctx, backend)
	if err != nil {
		return d, err
	}
	d.Due = due.Count
	if d.Now, err = k.Plans.LedgerTime(ctx); err != nil {
		return d, err
	}
	states, err := k.Plans.LimitStates(ctx)
	if err != nil {
		return d, err
	}
	for _, g := range states {
		switch {
		case g.Subject != backend:
		case g.Kind == ledger.LimitDeletes:
			d.State = g
		case g.Kind == ledger.LimitClock && g.Tripped(d.Now):
			d.Doubt = g.Reason
		}
	}
	totals, err := k.Plans.Totals(ctx)
	if err != nil {
		return d, err
	}
	for _, t := range totals {
		if t.Backend == backend {
			d.Has += t.Blobs
		}
	}
	list, err := k.Plans.Backends(ctx)
	for _, b := range list {
		if b.ID == backend {
			d.Backend = b
		}
	}
	return d, err
}

// Items are the condemned blobs that are due, on all backends, with those that a held backend
// or the limit on deletes keeps.
func (k *Clean) Items(ctx context.Context, yield func(plan.Item) error) error {
	for _, id := range k.backends() {
		deletes, err := k.predicted(ctx, id)
		if err != nil {
			return err
		}
		goes, why := deletes.Goes()
		q := ledger.DueQuery{State: lethe.Condemned, Backend: id}
		err = blobPages(ctx, k.Plans, q, func(b ledger.Blob) error {
			i := plan.Item{Do: k.Name(), Kind: kindBlob, ID: string(b.ID), Backend: b.Backend, Size: b.Size,
				Frees: b.Size, Blobs: 1, Why: string(b.Reason), Due: b.DueAt.Time()}
			if b.LateUntil != 0 && deletes.Doubt != "" && deletes.Backend.Held == "" {
				i.Stays = "its upload may land late, and the clock decides when that ends: " + deletes.Doubt
			} else if goes--; goes < 0 {
				i.Stays = why
			}
			return yield(i)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Apply deletes the blobs that are still condemned, due and unclaimed.
func (k *Clean) Apply(ctx context.Context, worker string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	byBackend := map[string][]plan.Item{}
	for _, i := range items {
		byBackend[i.Backend] = append(byBackend[i.Backend], i)
	}
	var out []plan.Result
	for _, backend := range slices.Sorted(maps.Keys(byBackend)) {
		a := applied(byBackend[backend])
		err := k.applyOn(ctx, ledger.ClaimRequest{Worker: worker, Backend: backend, Limit: k.Limit}, a, add)
		out = append(out, a.out...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (k *Clean) applyOn(ctx context.Context, r ledger.ClaimRequest, a *application, add reclaim.Add) error {
	if k.Stores[r.Backend] == nil {
		a.rest(plan.Changed, "backend "+r.Backend+" is not configured any more")
		return nil
	}
	for len(a.left) > 0 && ctx.Err() == nil {
		if k.resting(r.Backend) {
			a.rest(plan.Busy, "the backend is down")
			return nil
		}
		var own reclaim.Counts
		r.Only = idsOf(a.left)
		b, err := k.next(ctx, &queue{request: r}, func(name string, n int64) {
			own.Add(name, n)
			add(name, n)
		})
		if err != nil {
			return err
		}
		if len(b.Blobs) == 0 {
			switch {
			case own.Get("held") > 0:
				a.rest(plan.Held, "deletes on the backend are held")
				return nil
			case own.Get("waiting") > 0:
				a.rest(plan.Busy, "the backend "+pairing.ErrNotQuiet.Error())
				return nil
			}
			return a.explain(ctx, k.Plans, lethe.Condemned, b.Now)
		}
		items, err := k.deleteAndSettle(ctx, r.Backend, b, add)
		if err != nil {
			return err
		}
		a.settled(items)
	}
	return ctx.Err()
}

func addBacklog(a, b ledger.Backlog) ledger.Backlog {
	a.Count += b.Count
	a.Bytes += b.Bytes
	a.Scheduled += b.Scheduled
	a.Oldest = earlier(a.Oldest, b.Oldest)
	a.NextDue = earlier(a.NextDue, b.NextDue)
	return a
}

// earlier returns the earlier of two optional instants.
func earlier(a, b lethe.Time) lethe.Time {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
