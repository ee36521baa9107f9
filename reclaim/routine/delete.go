package routine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// settleTime bounds how long results are recorded after a stop was requested. A
// deleted blob that is not settled is deleted again, without harm.
const settleTime = 10 * time.Second

func (k *Clean) deleteAndSettle(ctx context.Context, backend string, b batch, add reclaim.Add) ([]ledger.SettleItem, error) {
	items, absent := k.delete(ctx, backend, b, add)
	b.ended(len(items))
	if absent > 0 {
		if err := k.admit(ctx, backend); err != nil {
			absent = k.disbelieve(b, items, err, add)
		}
	}
	settleCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	ended := k.Controller.Time(throttle.Database, "settle")
	settled, err := k.Ledger.Settle(settleCtx, ledger.Settlement{Fence: b.Fence, Items: items})
	if err != nil {
		k.Events.EmitUnsettled(backend, b.Blobs, err)
		return nil, fmt.Errorf("reclaim: settle %s on %s (the claim goes stale and is taken over): %w", words.Plural(int64(len(items)), "blob", "blobs"), backend, err)
	}
	ended(len(items))
	count(add, settled)
	k.Events.EmitSettled(backend, absent, settled)
	k.Events.EmitResults(backend, b.Blobs, items)
	return items, nil
}

// disbelieve has the blobs wait that were reported absent: another backend may lie in
// the place, so absence proves nothing. It returns how many are believed, which is
// 0.
func (k *Clean) disbelieve(b batch, items []ledger.SettleItem, why error, add reclaim.Add) (absent int) {
	for i := range items {
		if items[i].Result == ledger.Absent {
			items[i].Result, items[i].Error, items[i].RetryAt = ledger.Waits, why.Error(), b.Now.Add(k.Safety.BackoffMin)
		}
	}
	add("doubted", 1)
	return 0
}

// delete issues the one delete call for a claimed batch and decides what to record
// for each blob. The call is bounded by Safety.DeleteTime: a process that was
// suspended for longer sends nothing.
func (k *Clean) delete(ctx context.Context, backend string, claimed batch, add reclaim.Add) ([]ledger.SettleItem, int) {
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
	k.Events.EmitDeleting(backend, len(keys))
	ended := k.Controller.Time(backend, "delete")
	results, err := k.Stores[backend].Delete(ctx, keys)
	ended(len(keys))
	add("calls", 1)
	said := blob.Outcomes(keys, results, err)
	items := make([]ledger.SettleItem, len(keys))
	absent, down := 0, false
	for i, b := range claimed.Blobs {
		if (ctx.Err() != nil || intime() != nil) && !blob.Gone(said[i]) {
			said[i] = fmt.Errorf("%w: %w", errCutOff, said[i])
		}
		items[i] = decide(k.Safety, b, said[i], claimed.Now)
		switch items[i].Result {
		case ledger.Absent:
			absent++
		case ledger.Waits:
			down = down || errors.Is(said[i], blob.ErrDown)
		case ledger.Failed:
			k.Events.EmitDeleteFailed(b, items[i].Error, items[i].Dead)
		}
	}
	if down {
		k.rest(backend)
		k.Events.EmitBackendDown(backend, err)
	}
	return items, absent
}

func (k *Clean) boot() lethe.Time { return cmp.Or[lethe.Clock](k.Boot, lethe.Monotonic{}).Now() }

// errCutOff is recorded for a delete that the end of the pass interrupted (its
// window or time ended, or the process stops). It proves nothing about the blob.
var errCutOff = errors.New("cut off")

// decide returns what to record for a claimed blob after its delete ended in err.
func decide(s reclaim.Safety, b ledger.Blob, err error, now lethe.Time) ledger.SettleItem {
	item := ledger.SettleItem{ID: b.ID}
	switch {
	case err == nil, errors.Is(err, blob.ErrLate):
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

func count(add reclaim.Add, s ledger.Settled) {
	add(reclaim.Items, int64(s.Gone+s.Kept+s.Retried+s.Dead))
	add("gone", int64(s.Gone))
	add("gone_bytes", s.GoneBytes)
	add("kept", int64(s.Kept))
	add("retried", int64(s.Retried))
	add("dead", int64(s.Dead))
	add("fenced", int64(s.Fenced))
}
