package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/placement"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// placed says that placement is at work in this world: three backends, a factor,
// and an operator who drains backends and may lose one.
func (w *World) placed() bool { return hash2(w.cfg.Seed, 8)%3 == 0 }

// tight says that the first backend has little room.
func (w *World) tight() bool { return w.placed() && hash2(w.cfg.Seed, 10)%4 == 0 }

// replicas is the factor of this world.
func (w *World) replicas() int {
	switch h := hash2(w.cfg.Seed, 9) % 8; {
	case !w.placed() || h < 2:
		return 1
	case h == 7 && !w.tight():
		return 3
	}
	return 2
}

// backends are the simulated backends by name.
func (w *World) backends() []string {
	if w.placed() {
		return []string{"a", "b", "c"}
	}
	return []string{"a", "b"}
}

func (w *World) quota(id string) int64 {
	switch {
	case w.tight() && id == "a":
		return 1500
	case w.placed():
		return 1 << 16
	}
	return 1 << 20
}

// strategy alternates between worlds.
func (w *World) strategy() placement.Strategy {
	if hash2(w.cfg.Seed, 11)%2 == 0 {
		return placement.Pack
	}
	return placement.Spread
}

// route lets the real router choose, with figures of this very moment.
func (w *World) route(o *object.Options, l *seam) {
	if !w.placed() {
		return
	}
	r := placement.NewRouter(placement.RouterOptions{Strategy: w.strategy(), Order: w.backends(), Ledger: l})
	o.Pick = func(size int64) []string {
		if err := r.Refresh(context.Background()); err != nil {
			w.fail(err)
		}
		return r.Pick(size)
	}
	o.Refuse = r.Refuse
}

// placement makes the routines of a node; walks are rarer than work.
func (w *World) placement(l *seam, stores map[string]blob.Store) []reclaim.Routine {
	if !w.placed() {
		return nil
	}
	o := w.placing(l, stores)
	replicate := placement.NewReplicate(o)
	return []reclaim.Routine{
		replicate, &inTurns{w: w, routines: []reclaim.Routine{
			placement.NewDrain(o), placement.NewRebalance(o),
		}}, replicate,
	}
}

// placing are the options of placement's routines.
func (w *World) placing(l *seam, stores map[string]blob.Store) placement.Options {
	return placement.Options{
		Ledger: ledgertest.ForPlacement(l), Stores: stores, Store: w.store, Order: w.backends(), Strategy: w.strategy(), Replicas: w.replicas(),
		Threshold: 0.01, MaxMove: 1000, Claim: batch, Page: batch, Clock: w, NewID: func() lethe.ID { return lethe.NewID(w.now, w.ids) },
		Events: &placement.Events{Planned: func(s ledger.Subject, plan string) { w.say(fmt.Errorf("plan for %s: %s", s.ID, plan)) }},
	}
}

// moves makes the routine that moves contents between backends and ledger, up to the limit of
// its instance. In the quiet end nobody asks for it.
func (w *World) moves(l *seam, stores map[string]blob.Store, inline int64) []reclaim.Routine {
	if !w.cfg.Inline {
		return nil
	}
	o := w.placing(l, stores)
	o.Inline = inline
	return []reclaim.Routine{&inTurns{w: w, routines: []reclaim.Routine{&routine.Watch{Ledger: l, Safety: safety, Limit: batch}, placement.NewInline(o)}}}
}

// survey is the walk that finds what no transaction told of.
func (w *World) survey(l *seam) reclaim.Routine {
	return placement.NewSurvey(placement.Options{
		Ledger: ledgertest.ForPlacement(l), Order: w.backends(), Strategy: w.strategy(), Replicas: w.replicas(), Clock: w,
	})
}

// inTurns is routines of which each pass runs the next; in the quiet end, only the
// first.
type inTurns struct {
	w        *World
	routines []reclaim.Routine
	next     int
}

func (r *inTurns) Name() string { return r.routines[r.next%len(r.routines)].Name() }

func (r *inTurns) Plan(ctx context.Context) (ledger.Backlog, error) { return ledger.Backlog{}, nil }

func (r *inTurns) Pass(worker string) reclaim.Step {
	if r.next++; r.w.quiet {
		r.next = 0
	}
	return r.routines[r.next%len(r.routines)].Pass(worker)
}

// operator drains backends, ends that, and in some worlds loses one for good.
func operator(a *actor) {
	w := a.w
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(4000+a.proc.life)))
	l := &seam{w: w, in: w.ledger}
	for {
		if w.dwelling != "" {
			a.pause(time.Duration(rng.IntN(60)) * time.Second)
			w.chase(l)
			continue
		}
		if w.lurks() && !w.destroyed {
			a.pause(time.Duration(rng.IntN(20)) * time.Second)
			if id := w.unread(); id != "" {
				w.destroy(id, rng)
			} else if rng.IntN(20) == 0 {
				w.drainOne(l, rng)
			}
			continue
		}
		a.pause(time.Duration(rng.IntN(15*60)) * time.Second)
		switch n := rng.IntN(10); {
		case w.prey != "" && !w.destroyed:
			w.destroy(w.prey, rng)
			w.inspect(l, a.proc.node.stores)
		case n == 0 && !w.destroyed && w.replicas() > 1 && hash2(w.cfg.Seed, 12)%2 == 0:
			w.destroy(pick(rng, w.backends()), rng)
		case n < 3 && w.destroyed:
			w.inspect(l, a.proc.node.stores)
		case n < 6:
			w.drainOne(l, rng)
		}
	}
}

// trust is the trust window of the world: none, or one shorter than it, or longer.
func (w *World) trust() time.Duration {
	return []time.Duration{-1, 20 * time.Minute, ledger.DefaultTrust}[hash2(w.cfg.Seed, 90)%3]
}

// lurks says that the operator of this world waits until a copy that nobody has
// read lies beside another one, and loses just that.
func (w *World) lurks() bool { return w.replicas() == 1 && hash2(w.cfg.Seed, 12)%3 == 0 }

// unread names a backend with a copy that nobody has read, of which there is
// another one on a backend that drains.
func (w *World) unread() string {
	from := w.drained()
	leaving := map[piece]bool{}
	for _, b := range w.oracle.view.Blobs {
		if b.Backend == from && b.State == lethe.Live && b.ContentID != "" {
			leaving[piece{b.ContentID, b.Segment}] = true
		}
	}
	for _, b := range w.oracle.view.Blobs {
		if b.Backend != from && b.State == lethe.Live && b.VerifiedAt == 0 && leaving[piece{b.ContentID, b.Segment}] {
			return b.Backend
		}
	}
	return ""
}

// drainOne begins to drain a backend, or ends it: never two at once.
func (w *World) drainOne(l *seam, rng *rand.Rand) {
	w.landCommits("set-draining") // one person, who looks what came of the last
	id, on := pick(rng, w.backends()), true
	if w.tight() {
		id = "a"
	}
	if now := w.drained(); now != "" {
		id, on, w.undrained = now, false, true
	}
	if err := l.SetDraining(context.Background(), id, on); err != nil {
		w.say(err) // it asks again later
	}
}

// drained is the backend that is being drained; empty if none is.
func (w *World) drained() string {
	backends, err := w.ledger.Backends(context.Background())
	w.fail(err)
	for _, b := range backends {
		if b.Draining {
			return b.ID
		}
	}
	return ""
}

// destroy takes what lies on a backend: lost, or turned into other bytes.
func (w *World) destroy(id string, rng *rand.Rand) {
	w.note("backend %s is destroyed", id)
	w.destroyed = true
	if w.paired() {
		w.tampered(id, "loses its epoch")
	}
	for _, key := range w.disks[id].Keys() {
		if w.foreigner(key) {
			continue
		}
		if data, ok := w.disks[id].Bytes(key); ok && len(data) > 0 && rng.IntN(3) == 0 {
			bad := append([]byte(nil), data...)
			bad[rng.IntN(len(bad))] ^= 1
			w.disks[id].Set(key, bad)
			continue
		}
		w.disks[id].Lose(key)
	}
	w.oracle.destroyed(id)
	for _, p := range w.procs {
		for _, a := range p.actors {
			if a.op != nil {
				a.op.faulted, a.op.reading.harmed = true, true
			}
		}
	}
}

// inspect lets the real check find what is lost and damaged.
func (w *World) inspect(l *seam, stores map[string]blob.Store) {
	v := &routine.Verify{Ledger: l, Stores: stores, Store: w.store, Checksums: true, Limit: 100}
	step := v.Pass("operator")
	var counts reclaim.Counts
	for more := true; more; {
		var err error
		if more, err = step(context.Background(), counts.Add); err != nil {
			return
		}
	}
}

// prepareEnd finds, as an operator would, what was lost, and what is wanted again
// of a backend that drains no more.
func (w *World) prepareEnd(n *node) {
	if !w.placed() {
		return
	}
	w.draining = w.drained()
	l := &seam{w: w, in: w.ledger}
	if w.destroyed || w.decays() {
		w.inspect(l, n.stores)
	}
	if w.undrained {
		w.drain(w.survey(l))
	}
}

// placedWell: every content that was not ruined has as many copies as are wanted,
// each on a backend of its own, none of them suspect, and nothing lies on a backend
// that was drained.
func (w *World) placedWell() error {
	if !w.placed() {
		return nil
	}
	want := len(w.backends())
	if w.draining != "" {
		want--
	}
	want = min(w.replicas(), want)
	on := map[piece]map[string]bool{}
	copies := map[piece]int{}
	for _, b := range w.oracle.view.Blobs {
		if w.oracle.ruined[b.ContentID] || w.oracle.lost[b.ID] && b.UploadID != "" {
			continue
		}
		if b.Backend == w.draining {
			return broken("blob %s is %s on %s, which was drained", b.ID, b.State, b.Backend)
		}
		if b.State != lethe.Live || b.ContentID == "" {
			continue
		}
		at := piece{b.ContentID, b.Segment}
		if on[at] == nil {
			on[at] = map[string]bool{}
		}
		on[at][b.Backend] = true
		if copies[at]++; b.Suspect {
			return broken("blob %s is suspect", b.ID)
		}
	}
	for at, n := range copies {
		if n != want || len(on[at]) != want {
			return broken("segment %d of content %s has %d copies on %d backends, want %d", at.segment, at.content, n, len(on[at]), want)
		}
	}
	return nil
}

// retire forgets the backend that was drained.
func (w *World) retire() error {
	if w.err != nil || w.draining == "" || len(w.oracle.ruined) > 0 {
		return nil
	}
	delete(w.oracle.tallies, limitKey{ledger.LimitDeletes, w.draining}) // goes with it
	return w.ledger.RemoveBackend(context.Background(), w.draining)
}
