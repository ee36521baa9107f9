package sim

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// node is a process's memory: the real code over the simulated world.
type node struct {
	objects  *object.Store
	routines []reclaim.Routine
	stores   map[string]blob.Store
	ledger   *seam
	limits   ledger.Limits // it was started with
	pairing  *nodePairing
	loop     *reclaim.Loop // nil where it has nothing to say
	deliver  reclaim.Routine
	calls    calls // that delete
}

// batch is the engine's batch size in a simulated world: small, so that a pass
// has several steps.
const batch = 3

// maxBlobs is how many blobs a batch condemns at most.
const maxBlobs = 2 * batch

// processCount is how many processes share the ledger and the backends.
const processCount = 2

// found makes the ledger, the backends and the buckets, and starts everything.
func (w *World) found() error {
	w.oracle = newOracle(w)
	make := w.cfg.NewLedger
	if make == nil {
		make = NewMemory
	}
	in, err := make(ledger.Options{
		Clock: machine{w}, Boot: uptime{w}, ClockJump: safety.ClockJump, Random: w.source("ledger"), MaxRefs: 4,
		ReadGrace: safety.ReadGrace, MovedGrace: safety.ReadGrace, LateWindow: safety.LateWindow, OpsKept: safety.OpsKept, Replicas: w.replicas(), TrustWindow: w.trust(),
	})
	if err != nil {
		return err
	}
	w.ledger = in
	ctx := context.Background()
	id, err := in.Identity(ctx)
	if err != nil {
		return err
	}
	w.store, w.identity = id.ID, id
	w.plant()
	w.settlers()
	if w.limited() {
		w.configure(rand.New(rand.NewPCG(w.cfg.Seed, 8)))
	}
	for _, b := range w.backends() {
		if _, err := in.AddBackend(ctx, ledger.Backend{ID: b, Quota: w.quota(b)}); err != nil {
			return err
		}
	}
	for _, name := range bucketNames {
		b := ledger.Bucket{Name: name, Owner: "owner", Domain: "owner", BucketSettings: w.settings(name)}
		if _, err := in.CreateBucket(ctx, b); err != nil {
			return err
		}
	}
	if err := w.notify(in); err != nil {
		return err
	}
	for i := range w.cfg.Clients {
		w.script = append(w.script, newScript(w, i))
	}
	for i := range processCount {
		p := &process{w: w, index: i, life: -1}
		w.procs = append(w.procs, p)
		p.boot()
	}
	return w.oracle.wrote("found", scope{}, nil)
}

func (w *World) close() {
	if w.ledger != nil {
		_ = w.ledger.Close()
	}
}

// boot gives a process new memory and its actors a new life.
func (p *process) boot() {
	p.crashed = false
	p.life++
	p.node, p.reads = p.w.newNode(), map[lethe.ID]lethe.Time{}
	for i, s := range p.w.script {
		if i%processCount == p.index && s.more(p.w) {
			p.spawn("client", i, client(s))
		}
	}
	for i := range p.w.cfg.Workers {
		if i%processCount == p.index {
			p.spawn("worker", p.w.cfg.Clients+i, worker(p.w.cfg.Clients+i))
		}
	}
	if p.index == 0 && p.w.placed() {
		p.spawn("operator", p.w.cfg.Clients+p.w.cfg.Workers, operator)
	}
	if p.index == 0 && p.w.holding() {
		p.spawn("warden", p.w.cfg.Clients+p.w.cfg.Workers+1, warden)
	}
	if p.index == 0 && p.w.decays() {
		p.spawn("decay", p.w.cfg.Clients+p.w.cfg.Workers+11, decay)
	}
	if p.w.idles() {
		p.spawn("noter", p.w.cfg.Clients+p.w.cfg.Workers+12+p.index, noter)
	}
	if p.w.tells() {
		p.spawn("teller", p.w.cfg.Clients+p.w.cfg.Workers+14+p.index, teller)
	}
	if p.w.sealing() {
		p.spawn("sealer", p.w.cfg.Clients+p.w.cfg.Workers+2+p.index, sealer)
	}
	if p.w.buries() {
		p.spawn("undertaker", p.w.cfg.Clients+p.w.cfg.Workers+9+p.index, undertaker)
	}
	if p.w.limited() {
		p.spawn("keeper", p.w.cfg.Clients+p.w.cfg.Workers+4+p.index, keeper)
	}
	if p.w.paired() {
		p.spawn("envoy", p.w.cfg.Clients+p.w.cfg.Workers+6+p.index, envoy)
		if p.index == 0 {
			p.spawn("meddler", p.w.cfg.Clients+p.w.cfg.Workers+8, meddler)
		}
	}
}

func (p *process) spawn(kind string, index int, body func(*actor)) {
	a := &actor{w: p.w, proc: p, index: index}
	a.name = kind + string(rune('0'+index)) + strings.Repeat("'", min(p.life, 9))
	a.start(body)
	p.actors = append(p.actors, a)
}

// inline is up to which size an instance keeps contents in the ledger. It changes from one
// instance to the next, as when the setting is raised and lowered.
func (w *World) inline() int64 {
	if !w.cfg.Inline {
		return 0
	}
	w.instances++
	return []int64{0, 7, 45, small}[hash2(w.cfg.Seed, 97+w.instances)%4]
}

func (w *World) newNode() *node {
	l := &seam{w: w, in: w.ledger}
	stores := map[string]blob.Store{}
	for _, id := range w.backends() {
		stores[id] = &disk{w: w, id: id, in: w.disks[id]}
	}
	inline := w.inline()
	o := object.Options{
		Ledger: ledgertest.ForObjects(l), Backends: stores, Cache: &memory{w: w, values: map[string][]byte{}}, StoreID: w.store,
		Clock: w, Monotonic: w, Random: w.ids, Inline: inline, Small: small, Block: block, MinPart: 1,
		MinAge: safety.MinAge, ReadGrace: safety.ReadGrace, OpsKept: safety.OpsKept, Sleep: w.sleep,
	}
	w.route(&o, l)
	objects, err := object.New(o)
	if err != nil {
		panic(err)
	}
	drop := func(context.Context, []lethe.ID) {}
	p := w.newPairing(l, stores)
	b := ledger.Batch{Limit: batch, MaxBlobs: maxBlobs, Limits: w.limits}
	expire, purge := b, b
	expire.Limit, purge.Limit = w.atOnce("expire"), w.atOnce("purge")
	return &node{objects: objects, stores: stores, ledger: l, limits: w.limits, pairing: p, loop: w.loop(p), deliver: w.deliverer(l), routines: append([]reclaim.Routine{
		&routine.Expire{Ledger: l, Batch: expire, Drop: drop, Plans: l},
		&routine.Evict{Ledger: l, Batch: expire, Drop: drop},
		&routine.Clean{Ledger: l, Stores: stores, Store: w.store, Safety: w.giveUp(), Limit: w.atOnce("clean"), Deletes: w.limits.Deletes, Controller: w.throttle(), Clock: w, Admit: p.admit(), Plans: l},
		&routine.Reap{Ledger: l, Stores: stores, Store: w.store, Safety: safety, Limit: w.atOnce("reap"), Plans: l},
		&routine.Uploads{Ledger: l, Safety: safety, Limit: w.atOnce("multipart")},
		&routine.Lifecycle{Ledger: l, Limit: w.atOnce("lifecycle")},
		&routine.Purge{Ledger: l, Batch: purge, Drop: drop, Plans: l},
		&routine.Watch{Ledger: l, Safety: safety, Limit: batch},
	}, append(append(w.placement(l, stores), w.moves(l, stores, inline)...), append(w.reconcile(l, stores, p), w.plans(l, stores)...)...)...)}
}

// sleep is how the real code waits: its actor waits until the time has come.
func (w *World) sleep(_ context.Context, d time.Duration) error {
	switch {
	case w.cur != nil:
		w.cur.pause(d)
	case w.quiet:
		w.advance(w.now.Add(d))
	}
	return nil
}

// worker runs passes of routines for ever.
func worker(index int) func(*actor) {
	return func(a *actor) {
		rng := rand.New(rand.NewPCG(a.w.cfg.Seed, uint64(2000+10*index+a.proc.life)))
		for {
			a.pause(time.Duration(rng.IntN(60)) * time.Second)
			a.begins(a.task + 1)
			r := pick(rng, a.proc.node.routines)
			a.looked, a.plan = false, nil
			if err := a.passes(r); err != nil {
				a.w.note("%s %s: %s", a.name, r.Name(), class(err))
				a.w.say(err)
			}
		}
	}
}
