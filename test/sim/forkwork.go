package sim

import (
	"context"
	"io"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/pairing"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// memory of a process: the real code over its ledger and the shelves.
type forkMemory struct {
	seam    *forkSeam
	stores  map[string]blob.Store
	objects *object.Store
}

// open makes what a process has in memory.
func (n *forkNode) open() {
	w := n.f.World
	n.seam = &forkSeam{DB: n.side.db, f: n.f, side: n.side}
	raw := map[string]blob.Store{}
	n.stores = map[string]blob.Store{}
	guards := map[string]*intercept.MountGuard{}
	for _, id := range shelves {
		raw[id] = &forkDisk{f: n.f, id: id, side: n.side}
		guards[id] = &intercept.MountGuard{Absent: func(ctx context.Context, _ string) error { return n.pairing.Absent(ctx, id) }}
		n.stores[id] = intercept.New(raw[id], guards[id])
	}
	if n.pairing == nil {
		n.pairing = &pairing.Pairing{Clock: w, Boot: w, Beat: beat, Draw: rand.New(rand.NewPCG(w.cfg.Seed, uint64(9600+100*n.index+n.life))).Int64N}
	}
	n.pairing.Ledger, n.pairing.Stores = n.seam, raw
	n.pairing.Place = func(id, why string) {
		if why == "" {
			guards[id].Open()
		} else {
			guards[id].Shut(why)
		}
	}
	var err error
	n.objects, err = object.New(object.Options{
		Ledger: ledgertest.ForObjects(n.seam), Backends: n.stores, StoreID: w.store, Clock: w, Monotonic: w, Random: w.ids, Small: small, Block: block, MinPart: 1,
		MinAge: safety.MinAge, ReadGrace: safety.ReadGrace, OpsKept: safety.OpsKept, Sleep: w.sleep,
	})
	if err != nil {
		panic(err)
	}
}

// routines are those of a worker; what admits its deletes is noted with it.
func (n *forkNode) routines(a *actor) []reclaim.Routine {
	b := ledger.Batch{Limit: batch, MaxBlobs: maxBlobs}
	drop := func(context.Context, []lethe.ID) {}
	admit := func(ctx context.Context, id string) error { return n.asks(a, id, n.pairing.Admit, false) }
	clean := &routine.Clean{Ledger: n.seam, Stores: n.stores, Store: n.f.store, Safety: safety, Limit: batch, Clock: n.f, Boot: n.f, Admit: admit}
	return []reclaim.Routine{
		clean, &routine.Expire{Ledger: n.seam, Batch: b, Drop: drop}, clean,
		&routine.Reap{Ledger: n.seam, Stores: n.stores, Store: n.f.store, Safety: safety, Limit: batch}, clean,
		&routine.Watch{Ledger: n.seam, Safety: safety, Limit: batch},
		&routine.Verify{Ledger: n.seam, Stores: n.stores, Store: n.f.store, Limit: 100},
	}
}

// work is an actor that runs passes of routines.
func (n *forkNode) work() func(*actor) {
	return func(a *actor) {
		rng := rand.New(rand.NewPCG(n.f.cfg.Seed, uint64(9700+100*a.index+n.life)))
		list := n.routines(a)
		loop := &reclaim.Loop{Clock: n.f, NewID: func() lethe.ID { return "" }, Confirmed: n.pairing.Confirmed}
		for {
			a.pause(time.Duration(rng.IntN(30)) * time.Second)
			a.begins(a.task + 1)
			r := pick(rng, list)
			_, err := loop.Pass(context.Background(), reclaim.Scheduled{Routine: r}, a.name)
			n.f.note("%s %s of the %s: %s", a.name, r.Name(), n.side.name, class(err))
			n.f.say(err)
		}
	}
}

// heart is an actor that keeps the pairing of all backends, each beat.
func (n *forkNode) heart() func(*actor) {
	return func(a *actor) {
		for {
			a.begins(a.task + 1)
			for _, id := range shelves {
				err := n.asks(a, id, n.pairing.Heartbeat, true)
				n.f.note("%s of the %s on %s: %s", a.name, n.side.name, id, class(err))
				n.f.say(err)
			}
			a.pause(beat)
		}
	}
}

// client is an actor that stores, changes and deletes objects.
func (n *forkNode) client() func(*actor) {
	return func(a *actor) {
		rng := rand.New(rand.NewPCG(n.f.cfg.Seed, uint64(9800+100*a.index+n.life)))
		ctx := context.Background()
		for {
			a.pause(time.Duration(rng.IntN(20)) * time.Second)
			a.begins(a.task + 1)
			key := pick(rng, keyNames)
			var err error
			switch k := rng.IntN(10); {
			case k < 5:
				body := pick(rng, corpus[:3])
				_, err = n.objects.Put(ctx, object.PutRequest{Bucket: "plain", Key: key, Body: &slowBody{a: a, data: body}, Size: int64(len(body)), TTL: life(rng) / 4})
			case k < 7:
				_, err = n.objects.Delete(ctx, object.DeleteRequest{Bucket: "plain", Items: []ledger.DeleteItem{{Key: key}}})
			case k < 9:
				_, err = n.objects.Update(ctx, ledger.Update{Bucket: "plain", Key: key, TTL: &ledger.TTLChange{TTL: life(rng)}})
			default:
				err = n.reads(ctx, key)
			}
			n.f.note("%s of the %s, %s: %s", a.name, n.side.name, key, class(err))
			n.f.say(err)
		}
	}
}

// reads reads an object to its end.
func (n *forkNode) reads(ctx context.Context, key string) error {
	rd, err := n.objects.Get(ctx, object.GetRequest{Bucket: "plain", Key: key})
	if err != nil {
		return err
	}
	defer rd.Body.Close()
	_, err = io.Copy(io.Discard, rd.Body)
	return err
}
