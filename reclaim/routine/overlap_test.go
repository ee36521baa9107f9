package routine_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/test/reclaimtest"
)

// together is a backend whose first deletes return only once so many of them are in
// flight at the same time.
type together struct {
	blob.Store
	wanted  int
	mu      sync.Mutex
	running int
	most    int
	met     chan struct{}
}

func (d *together) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	d.mu.Lock()
	d.running++
	if d.most = max(d.most, d.running); d.running == d.wanted {
		select {
		case <-d.met:
		default:
			close(d.met)
		}
	}
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.running--
		d.mu.Unlock()
	}()
	select {
	case <-d.met:
	case <-time.After(10 * time.Second):
		return nil, errors.New("the others did not come")
	}
	return d.Store.Delete(ctx, keys)
}

// backingOff is a controller at a level, for the clients of another instance.
func backingOff(w *world, l throttle.Level, main throttle.Backend) *throttle.Controller {
	c := &throttle.Controller{ClientLatency: 1.2, Clock: w.Clock, Backends: map[string]throttle.Backend{"main": main}}
	c.SetPeers([]throttle.Peer{{Level: l}})
	return c
}

// condemned makes a world with so many blobs to delete.
func condemned(t *testing.T, n int) *world {
	w := newWorld(t)
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
		w.Put(keys[i], fmt.Sprint("body ", i))
	}
	w.Remove(keys...)
	return w
}

// One worker has as many deletes in flight as it may, and no more; what it claims
// is disjoint, and all of it is settled.
func TestCleanOverlaps(t *testing.T) {
	w := condemned(t, 405)
	d := &together{Store: w.Stores["main"], wanted: 3, met: make(chan struct{})}
	w.Stores["main"] = d
	k := w.clean()
	k.Controller = backingOff(w, 0, throttle.Backend{Parallel: 3})
	got := w.Pass(k)
	reclaimtest.Want(w, "gone", got["gone"], 405)
	reclaimtest.Want(w, "calls", got["calls"], 41)
	reclaimtest.Want(w, "fenced", got["fenced"], 0)
	reclaimtest.Want(w, "deletes at once", d.most, 3)
	reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 0)
	w.Sound()
}

// While clients wait the batches are smaller, and run one by one.
func TestCleanDoesNotOverlapWhileClientsWait(t *testing.T) {
	w := condemned(t, 40)
	d := &together{Store: w.Stores["main"], wanted: 1, met: make(chan struct{})}
	w.Stores["main"] = d
	k := w.clean()
	k.Controller = backingOff(w, 1, throttle.Backend{Parallel: 3})
	reclaimtest.Want(w, "gone", w.Pass(k)["gone"], 40)
	reclaimtest.Want(w, "deletes at once", d.most, 1)
}

// At the slowest backoff level a folder gets a few files at a time, a service as
// many as make a request worth it.
func TestCleanBatchesWhileClientsWait(t *testing.T) {
	for _, c := range []struct{ service, calls int64 }{{0, 32}, {1, 4}} {
		w := condemned(t, 64)
		k := w.clean()
		k.Limit = 32
		k.Controller = backingOff(w, throttle.Slowest, throttle.Backend{Requests: c.service == 1})
		got := w.Pass(k)
		reclaimtest.Want(w, "gone", got["gone"], 64)
		reclaimtest.Want(w, "calls", got["calls"], c.calls)
	}
}

// Deletes in flight do not call a backend that is down again and again.
func TestOverlapStopsWhereTheBackendIsDown(t *testing.T) {
	w := condemned(t, 300)
	w.faults(blobtest.Fault{Kind: blobtest.Down})
	k := w.clean()
	k.Controller = backingOff(w, 0, throttle.Backend{Parallel: 3})
	got := w.Pass(k)
	reclaimtest.Want(w, "gone", got["gone"], 0)
	if got["calls"] > 4 || got["calls"] != got["retried"]/10 {
		t.Errorf("%d calls, %d blobs wait", got["calls"], got["retried"])
	}
	w.faults(blobtest.Fault{})
	w.Clock.Advance(w.Safety.BackoffMin)
	reclaimtest.Want(w, "gone later", w.Pass(k)["gone"], 300)
	w.Sound()
}

// refusing is a ledger that cannot settle.
type refusing struct{ routine.CleanLedger }

func (refusing) Settle(context.Context, ledger.Settlement) (ledger.Settled, error) {
	return ledger.Settled{}, errors.New("the database went away")
}

// A ledger that fails ends the step once all that is in flight has ended.
func TestOverlapStopsWhereTheLedgerFails(t *testing.T) {
	w := condemned(t, 300)
	k := w.clean()
	k.Controller = backingOff(w, 0, throttle.Backend{Parallel: 3})
	k.Ledger = refusing{w.Ledger}
	counts := &reclaim.Counts{}
	if _, err := k.Pass("worker")(w.Ctx, counts.Add); err == nil || counts.Get("calls") > 6 {
		t.Errorf("%v after %d calls", err, counts.Get("calls"))
	}
}

// What is in flight when the process is to stop is settled.
func TestOverlapIsCutOff(t *testing.T) {
	w := condemned(t, 300)
	ctx, cancel := context.WithCancel(w.Ctx)
	calls := 0
	var mu sync.Mutex
	w.Fault = func(c blobtest.Call) blobtest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Op == blobtest.OpDelete {
			if calls++; calls == 5 {
				cancel()
			}
		}
		return blobtest.Fault{}
	}
	k := w.clean()
	k.Controller = backingOff(w, 0, throttle.Backend{Parallel: 3})
	counts := &reclaim.Counts{}
	if _, err := k.Pass("worker")(ctx, counts.Add); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if counts.Get("calls") > 9 || counts.Get("gone")+counts.Get("retried") != 10*counts.Get("calls") {
		t.Errorf("%v", counts.Map())
	}
	w.Clock.Advance(w.Safety.BackoffMin)
	w.Pass(k)
	reclaimtest.Want(w, "blobs left", w.Bytes.Len(), 0)
	w.Sound()
}
