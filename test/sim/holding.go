package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// holding says that holds are set and released in this world.
func (w *World) holding() bool { return hash2(w.cfg.Seed, 23)%8 == 0 }

// warden sets holds on buckets, prefixes and keys, and releases them again; some stay
// until the quiet end.
func warden(a *actor) {
	w, objects := a.w, a.proc.node.objects
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(6000+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(90)) * time.Second)
		var err error
		if holds := w.oracle.holds; len(holds) > 0 && rng.IntN(len(holds)+2) > 1 {
			err = objects.ReleaseHold(context.Background(), pick(rng, holds))
		} else {
			_, err = objects.AddHold(context.Background(), drawHold(rng))
		}
		w.note("%s: %s, %d holds", a.name, class(err), len(w.oracle.holds))
		w.say(err)
		if rng.IntN(3) == 0 {
			a.pause(time.Duration(rng.IntN(60)) * time.Minute)
		}
	}
}

func drawHold(rng *rand.Rand) ledger.Hold {
	h := ledger.Hold{Bucket: pick(rng, bucketNames), Reason: "simulated", By: "warden"}
	switch rng.IntN(6) {
	case 0:
		h.Scope = ledger.HoldPrefix // of the whole bucket
	case 1, 2:
		h.Scope, h.Key = ledger.HoldPrefix, pick(rng, []string{"a", "a/", "c", "ü"})
	case 3:
		h.Scope, h.Key = ledger.HoldLegal, pick(rng, keyNames)
	default:
		h.Scope, h.Key = ledger.HoldObject, pick(rng, keyNames)
	}
	return h
}

// released has all that is due come due under the holds that are left, which it must
// outlive; then it releases them, and what was kept has to go.
func (w *World) released(n *node) error {
	if !w.holding() || w.err != nil {
		return nil
	}
	w.advance(w.now.Add(safety.MultipartStale + time.Hour))
	for _, r := range n.routines {
		w.drain(r)
	}
	for len(w.oracle.holds) > 0 && w.err == nil {
		if err := n.objects.ReleaseHold(context.Background(), w.oracle.holds[0]); err != nil {
			return broken("release a hold that is set: %w", err)
		}
	}
	return nil
}

// returnDeferred is a step of its own where there are holds or limits.
func (s *seam) returnDeferred(ctx context.Context, limit int) (ledger.ReturnedRows, error) {
	if !s.w.holding() && !s.w.limited() {
		return s.in.ReturnDeferred(ctx, limit)
	}
	return write(s, "return-deferred", fmt.Sprint(limit), scope{}, func() (ledger.ReturnedRows, error) { return s.in.ReturnDeferred(s.lasting(ctx), limit) })
}

// sameHold says that two holds are one: a bucket has a scope and key once.
func sameHold(a, b ledger.Hold) bool {
	return a.Bucket == b.Bucket && a.Scope == b.Scope && a.Key == b.Key
}

// heldBy finds a hold on a place, by what holds mean and not by what the ledger says.
func (o *oracle) heldBy(at place) (ledger.Hold, bool) {
	for _, h := range o.holds {
		if h.Bucket == at.bucket && (h.Key == at.key || h.Scope == ledger.HoldPrefix && strings.HasPrefix(at.key, h.Key)) {
			return h, true
		}
	}
	return ledger.Hold{}, false
}

// kept: what lies under a hold stays as it is, and where it is, whoever comes.
func (o *oracle) kept(before View, step Step) error {
	if len(o.holds) == 0 {
		return nil
	}
	is := byPlace(o.view.Objects)
	for at, old := range byPlace(before.Objects) {
		h, held := o.heldBy(at)
		now, there := is[at]
		switch {
		case !held:
		case !there:
			return broken("%v vanished under a hold on the %s %q", at, h.Scope, h.Key)
		case now.ID != old.ID:
			return broken("%v was replaced under a hold on the %s %q", at, h.Scope, h.Key)
		case now.ModifiedAt != old.ModifiedAt:
			return broken("%v was changed under a hold on the %s %q", at, h.Scope, h.Key)
		case now.TTLAt != 0 && now.ReadsLeft != ledger.AllRead && (old.TTLAt == 0 || now.TTLAt < old.TTLAt):
			return broken("%v ends sooner (%s, was %s) under a hold on the %s %q", at, now.TTLAt, old.TTLAt, h.Scope, h.Key)
		}
	}
	switch step {
	case "purge":
		return o.keptTrash(before)
	case "abort-stale", "abort-ruled":
		return o.keptUploads(before, step)
	}
	return nil
}

// keptUploads: neither age nor a rule ends an upload to a held key.
func (o *oracle) keptUploads(before View, step Step) error {
	left := map[lethe.ID]bool{}
	for _, u := range o.view.Uploads {
		left[u.ID] = true
	}
	for _, u := range before.Uploads {
		if h, held := o.heldBy(place{u.Bucket, u.Key}); held && !left[u.ID] {
			return broken("upload %s (%s/%s) was ended by %s under a hold on the %s %q", u.ID, u.Bucket, u.Key, step, h.Scope, h.Key)
		}
	}
	return nil
}

// keptTrash: nothing is purged that lay under a held key.
func (o *oracle) keptTrash(before View) error {
	left := map[lethe.ID]bool{}
	for _, e := range o.view.Trash {
		left[e.ID] = true
	}
	for _, e := range before.Trash {
		if h, held := o.heldBy(place{e.Object.Bucket, e.Object.Key}); held && !left[e.ID] {
			return broken("trash entry %s (%s/%s) was purged under a hold on the %s %q", e.ID, e.Object.Bucket, e.Object.Key, h.Scope, h.Key)
		}
	}
	return nil
}

var _ routine.ExpireLedger = (*seam)(nil)
