package reclaim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// settleTime bounds how long results are recorded after a stop was requested. What
// was deleted should be settled; if it is not, it is deleted again without harm.
const settleTime = 10 * time.Second

// Clean is the only place that deletes blobs (docs/protocol.md, rule 5). It claims
// condemned blobs that are due, deletes them in one call per batch, and settles
// each key by its own result.
type Clean struct {
	Ledger CleanLedger
	Stores map[string]blob.Store // by backend id
	Store  lethe.ID              // begins the name of every blob
	Safety Safety
	Limit  int // blobs per claim and delete call
	// Deletes bounds what is deleted on each backend.
	Deletes ledger.Limit
	Clock   lethe.Clock
	// Boot measures how long a batch's deletes last (default lethe.Monotonic).
	Boot   lethe.Clock
	Events *Events
	// Controller decides how many blobs of a backend a batch has, and how many batches
	// are under way while the next one is claimed.
	Controller *throttle.Controller
	// Admit, if set, returns nil if ledger and backend belong together
	// (Guard.Admit). It is called before each batch, and again before bytes are
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

// Pass visits the backends in rotation, one batch a step, until none has anything
// due. After Rounds.Time it begins anew.
func (k *Clean) Pass(worker string) Step {
	return k.Rounds.of(func() Step { return k.round(worker) })
}

func (k *Clean) round(worker string) Step {
	todo := k.backends()
	queues := make(map[string]*queue)
	for _, id := range todo {
		queues[id] = &queue{ring: k.ring(id), request: ledger.ClaimRequest{Worker: worker, Backend: id}}
	}
	next := 0
	return func(ctx context.Context, c *Counts) (bool, error) {
		if len(todo) == 0 {
			return false, nil
		}
		next %= len(todo)
		id := todo[next]
		q := queues[id]
		limit, parallel := k.Controller.Deletes(id, k.Limit)
		q.request.Limit = limit
		if err := k.batches(ctx, q, parallel, c); err != nil || q.empty {
			todo = slices.Delete(todo, next, next+1)
			return len(todo) > 0 && ctx.Err() == nil, err
		}
		next++
		return ctx.Err() == nil, nil
	}
}

func (k *Clean) backends() []string {
	ids := make([]string, 0, len(k.Stores))
	for id := range k.Stores {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

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
func (k *Clean) batches(ctx context.Context, q *queue, parallel int, c *Counts) error {
	if parallel > 1 {
		return k.overlap(ctx, q, parallel, c)
	}
	b, err := k.next(ctx, q, c)
	if err != nil || len(b.Blobs) == 0 {
		return err
	}
	return k.Controller.Batch(ctx, q.request.Backend, func() error { return k.finish(ctx, q.request.Backend, b, c) })
}

// batch is what was claimed to be deleted by one call.
type batch struct {
	ledger.Claimed
	ended func(deleted int)
	at    lethe.Time // when it was admitted, by the monotonic clock
}

// next claims a batch as soon as the limits allow a call. It returns none if
// nothing is due, or if the backend is down or held.
func (k *Clean) next(ctx context.Context, q *queue, c *Counts) (batch, error) {
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
	claimed, err := k.claim(ctx, q, c)
	if len(claimed.Blobs) == 0 {
		ended(0)
	}
	return batch{claimed, ended, at}, err
}

// claim takes a batch, or none if deletes on the backend are not allowed now. It
// first compares the backend with the ledger, which costs a request.
func (k *Clean) claim(ctx context.Context, q *queue, c *Counts) (claimed ledger.Claimed, err error) {
	backend := q.request.Backend
	if err := k.admit(ctx, backend); err != nil {
		q.empty = true
		return claimed, waits(err, c)
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
		c.Add("held", 1)
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
	if claimed.Stopped != nil {
		c.Add("stopped", 1)
		k.Events.stopped([]ledger.Guard{*claimed.Stopped})
	}
	return claimed, nil
}

// finish deletes a batch and settles it.
func (k *Clean) finish(ctx context.Context, backend string, b batch, c *Counts) error {
	_, err := k.deleteAndSettle(ctx, backend, b, c)
	return err
}

func (k *Clean) deleteAndSettle(ctx context.Context, backend string, b batch, c *Counts) ([]ledger.SettleItem, error) {
	items, absent := k.delete(ctx, backend, b, c)
	b.ended(len(items))
	if absent > 0 {
		if err := k.admit(ctx, backend); err != nil {
			absent = k.disbelieve(b, items, err, c)
		}
	}
	settleCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	ended := k.Controller.Time(throttle.Database, "settle")
	settled, err := k.Ledger.Settle(settleCtx, ledger.Settlement{Fence: b.Fence, Items: items})
	if err != nil {
		k.Events.unsettled(backend, b.Blobs, err)
		return nil, fmt.Errorf("reclaim: settle %d blobs on %s (their claim goes stale and is taken over): %w", len(items), backend, err)
	}
	ended(len(items))
	count(c, settled)
	k.Events.settled(backend, absent, settled)
	k.Events.results(backend, b.Blobs, items)
	return items, nil
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
func waits(err error, c *Counts) error {
	switch {
	case errors.Is(err, ErrNotQuiet):
		c.Add("waiting", 1)
	case errors.Is(err, lethe.ErrBackendMismatch):
		c.Add("held", 1)
	default:
		return err
	}
	return nil
}

// disbelieve defers the blobs that were reported absent: another backend may lie in
// the place, so absence proves nothing. It returns how many are believed, which is
// 0.
func (k *Clean) disbelieve(b batch, items []ledger.SettleItem, why error, c *Counts) (absent int) {
	for i := range items {
		if items[i].Result == ledger.Absent {
			items[i].Result, items[i].Error, items[i].RetryAt = ledger.Waits, why.Error(), b.Now.Add(k.Safety.BackoffMin)
		}
	}
	c.Add("doubted", 1)
	return 0
}

// delete issues the one delete call for a claimed batch and decides what to record
// for each blob. The call is bounded by Safety.DeleteTime: a process that was
// suspended for longer sends nothing.
func (k *Clean) delete(ctx context.Context, backend string, claimed batch, c *Counts) ([]ledger.SettleItem, int) {
	intime := func() error {
		if took := k.boot().Sub(claimed.at); took >= k.Safety.DeleteTime() {
			return fmt.Errorf("%w: it is %s since ledger and backend were compared", errCutOff, took)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, k.Safety.DeleteTime()-k.boot().Sub(claimed.at))
	defer cancel()
	ctx = blob.WithCheck(ctx, intime)
	keys := make([]string, len(claimed.Blobs))
	for i, b := range claimed.Blobs {
		keys[i] = lethe.BlobKey(k.Store, b.ID)
	}
	k.Events.deleting(backend, len(keys))
	ended := k.Controller.Time(backend, "delete")
	results, err := k.Stores[backend].Delete(ctx, keys)
	ended(len(keys))
	c.Add("calls", 1)
	said := outcomes(keys, results, err)
	items := make([]ledger.SettleItem, len(keys))
	absent, down := 0, false
	for i, b := range claimed.Blobs {
		if (ctx.Err() != nil || intime() != nil) && !confirmed(said[i]) {
			said[i] = fmt.Errorf("%w: %w", errCutOff, said[i])
		}
		items[i] = k.Safety.decide(b, said[i], claimed.Now)
		switch items[i].Result {
		case ledger.Absent:
			absent++
		case ledger.Waits:
			down = down || errors.Is(said[i], blob.ErrDown)
		case ledger.Failed:
			k.Events.deleteFailed(b, items[i].Error, items[i].Dead)
		}
	}
	if down {
		k.rest(backend)
		k.Events.backendDown(backend, err)
	}
	return items, absent
}

func (k *Clean) boot() lethe.Time { return cmp.Or[lethe.Clock](k.Boot, lethe.Monotonic{}).Now() }

// outcomes finds the backend's result for each key. A key that the response leaves
// out is unknown (docs/protocol.md, rule 8). Of two results for one key the worse
// counts.
func outcomes(keys []string, results []blob.Result, whole error) []error {
	said := make([]error, len(keys))
	if inOrder(keys, results) {
		for i, r := range results {
			said[i] = r.Err
		}
		return said
	}
	if whole == nil {
		whole = fmt.Errorf("%w: the response of the backend has no result for this key", blob.ErrUnknown)
	}
	spoken := make(map[string]error, len(results))
	for _, r := range results {
		if before, twice := spoken[r.Key]; !twice || confirmed(before) {
			spoken[r.Key] = r.Err
		}
	}
	for i, key := range keys {
		err, ok := spoken[key]
		if !ok {
			err = whole
		}
		said[i] = err
	}
	return said
}

// inOrder reports whether the response has each key once, in the order asked.
func inOrder(keys []string, results []blob.Result) bool {
	return slices.EqualFunc(keys, results, func(key string, r blob.Result) bool { return r.Key == key })
}

// confirmed reports whether a key's bytes are certainly gone.
func confirmed(err error) bool { return err == nil || errors.Is(err, blob.ErrNotExist) }

// errCutOff is recorded for a delete that the end of the pass interrupted (its
// window or time ended, or the process stops). It proves nothing about the blob.
var errCutOff = errors.New("cut off")

// decide returns what to record for a claimed blob after its delete ended in err.
func (s Safety) decide(b ledger.Blob, err error, now lethe.Time) ledger.SettleItem {
	item := ledger.SettleItem{ID: b.ID}
	switch {
	case err == nil:
		item.Result = ledger.Gone
	case errors.Is(err, blob.ErrNotExist):
		item.Result = ledger.Absent
	case errors.Is(err, blob.ErrDown), errors.Is(err, errCutOff):
		item.Result, item.Error = ledger.Waits, err.Error()
		item.RetryAt = now.Add(s.BackoffMin)
	default:
		item.Result, item.Error = ledger.Failed, err.Error()
		item.Dead = b.Attempts+1 >= s.Attempts
		item.RetryAt = now.Add(s.Backoff(b.Attempts + 1))
	}
	return item
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

func count(c *Counts, s ledger.Settled) {
	c.Add(Items, int64(s.Gone+s.Kept+s.Retried+s.Dead))
	c.Add("gone", int64(s.Gone))
	c.Add("gone_bytes", s.GoneBytes)
	c.Add("kept", int64(s.Kept))
	c.Add("retried", int64(s.Retried))
	c.Add("dead", int64(s.Dead))
	c.Add("fenced", int64(s.Fenced))
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
