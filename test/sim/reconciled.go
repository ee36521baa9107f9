package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// reconciled says that backends are compared with the ledger in this world, where
// names without a row were planted by hand: the protocol makes none.
func (w *World) reconciled() bool { return hash2(w.cfg.Seed, 21)%4 == 0 }

// planted is an orphan, and when which walks saw it.
type planted struct {
	key     string
	backend string
	first   lethe.Time
	walks   map[lethe.ID]bool
}

// plantedOrphans is how many there are in such a world.
const plantedOrphans = 3

func (w *World) plant() {
	w.orphans = map[lethe.ID]*planted{}
	if !w.reconciled() {
		return
	}
	random := w.source("orphans")
	for i := range plantedOrphans {
		id, backend := lethe.NewID(w.now, random), w.backends()[i%2]
		w.orphans[id] = &planted{lethe.BlobKey(w.store, id), backend, 0, map[lethe.ID]bool{}}
		w.disks[backend].Set(w.orphans[id].key, []byte("orphan"))
	}
}

// reconcile makes the routine of a node.
func (w *World) reconcile(l *seam, stores map[string]blob.Store, p *nodePairing) []reclaim.Routine {
	if !w.reconciled() {
		return nil
	}
	return []reclaim.Routine{reconcile.New(reconcile.Options{
		Ledger: l, Stores: stores, Pairing: p, Store: w.store, Clock: w, NewID: func() lethe.ID { return lethe.NewID(w.now, w.ids) },
		Grace: safety.OrphanGrace, Page: batch,
	})}
}

// orphansLeft counts the planted bytes that lie there still.
func (w *World) orphansLeft() (n int) {
	for _, o := range w.orphans {
		if _, there := w.disks[o.backend].Bytes(o.key); there {
			n++
		}
	}
	return n
}

// orphaned: a row appears condemned only for a planted orphan that two walks saw,
// the first of them long enough ago.
func (o *oracle) orphaned(b ledger.Blob) error {
	p := o.w.orphans[b.ID]
	switch {
	case p == nil || b.Reason != lethe.ReasonOrphan || p.backend != b.Backend:
		return broken("blob %s was condemned (%s), and never was an orphan of %s", b.ID, b.Reason, b.Backend)
	case len(p.walks) < 2:
		return broken("orphan %s was condemned, and %d walks saw it", b.ID, len(p.walks))
	case o.w.now.Sub(p.first) < safety.OrphanGrace:
		return broken("orphan %s was condemned %s after it was seen first", b.ID, o.w.now.Sub(p.first))
	}
	return nil
}

// sighted: what is called an orphan is one, what is called missing is not there, and
// what is called shorter is.
func (o *oracle) sighted(s ledger.Sighting) error {
	for _, f := range s.Findings {
		id := blobID(o.w.store, f.Key)
		switch p := o.w.orphans[id]; {
		case f.Kind == ledger.FoundForeign && o.w.foreigner(f.Key):
		case f.Kind == ledger.FoundOrphan && p == nil:
			return broken("%s is taken for an orphan", f.Key)
		case f.Kind == ledger.FoundOrphan:
			if len(p.walks) == 0 {
				p.first = o.w.now
			}
			p.walks[s.Walk] = true
		case f.Kind == ledger.FoundSize && o.damaged[id] != nil && o.damaged[id].fault == Truncated:
		case f.Kind != ledger.FoundMissing:
			return broken("%s is taken for %s", f.Key, f.Kind)
		}
	}
	return nil
}

// doubted: reconcile makes nothing suspect that lies where it should, whole.
func (o *oracle) doubted(ids []lethe.ID, why string) error {
	if !strings.HasPrefix(why, "reconcile") {
		return nil
	}
	for _, id := range ids {
		b := o.last[id]
		if b.State != lethe.Live || o.damaged[id] != nil {
			continue
		}
		if _, there := o.w.disks[b.Backend].Bytes(lethe.BlobKey(o.w.store, id)); there {
			return broken("blob %s is taken for missing, and its bytes lie there", id)
		}
	}
	return nil
}

// walkKeys is a listing as reconcile asks for it: one that fails has told half of
// its keys.
func (d *disk) walkKeys(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	err := d.refuse("walk-keys", d.arrive("walk-keys", prefix))
	var told []blob.Info
	if err := d.in.List(ctx, prefix, after, func(i blob.Info) error {
		told = append(told, i)
		return nil
	}); err != nil {
		return err
	}
	if err != nil {
		told = told[:len(told)/2]
	}
	for _, i := range told {
		if err := fn(i); err != nil {
			return err
		}
	}
	return err
}

// The methods that reconcile uses.

func (s *seam) BeginWalk(ctx context.Context, b ledger.WalkStart) (ledger.Walk, error) {
	return write(s, "begin-walk", b.Backend, scope{}, func() (ledger.Walk, error) { return s.in.BeginWalk(s.lasting(ctx), b) })
}

func (s *seam) SaveWalk(ctx context.Context, st ledger.WalkStep) error {
	return do(s, "save-walk", string(st.To), scope{}, func() error { return s.in.SaveWalk(s.lasting(ctx), st) })
}

func (s *seam) FinishWalk(ctx context.Context, e ledger.WalkEnd) (ledger.WalkEnded, error) {
	return write(s, "finish-walk", string(e.ID), scope{}, func() (ledger.WalkEnded, error) { return s.in.FinishWalk(s.lasting(ctx), e) })
}

func (s *seam) Sight(ctx context.Context, g ledger.Sighting) (int, error) {
	return write(s, "sight", fmt.Sprint(len(g.Findings)), scope{}, func() (int, error) {
		n, err := s.in.Sight(s.lasting(ctx), g)
		if err == nil {
			s.w.fail(s.w.oracle.sighted(g))
		}
		return n, err
	})
}

func (s *seam) CondemnOrphans(ctx context.Context, r ledger.OrphanRequest) (ledger.Orphans, error) {
	return write(s, "condemn-orphans", r.Backend, scope{}, func() (ledger.Orphans, error) {
		out, err := s.in.CondemnOrphans(s.lasting(ctx), r)
		s.w.fail(s.mayOrphan(r.Backend, out.Blobs))
		return out, err
	})
}

func (s *seam) TakeOrphan(ctx context.Context, f ledger.Found) (ledger.Blob, error) {
	return write(s, "take-orphan", f.Backend, scope{}, func() (ledger.Blob, error) { return s.in.TakeOrphan(s.lasting(ctx), f) })
}

// What only looks, looks without an effect.

func (s *seam) Findings(ctx context.Context, q ledger.FindingQuery) ([]ledger.Finding, error) {
	return s.in.Findings(ctx, q)
}

func (s *seam) Standings(ctx context.Context, ids []lethe.ID, limit int) ([]ledger.Standing, error) {
	return s.in.Standings(ctx, ids, limit)
}

func (s *seam) BlobStubs(ctx context.Context, after lethe.ID, limit int) ([]ledger.Stub, error) {
	return s.in.BlobStubs(ctx, after, limit)
}

var _ reconcile.Ledger = (*seam)(nil)
