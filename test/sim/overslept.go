package sim

import (
	"context"
	"errors"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// sleeper is a writer that stood still between the last look whether its intent
// stands and the request: nothing can keep it from sending what has no row any more.
type sleeper struct {
	actor *actor
	life  int  // of its process
	told  bool // it could not tell the ledger
}

// setOut is the way of a Put to its request. Its process may stand still behind the
// check or before; epochs, which have none, go by the time that a request may take.
func (d *disk) setOut(ctx context.Context, key string) (Fault, error) {
	behind := d.w.cur != nil && draw(d.w.cfg.Seed, uint64(d.w.effects), 31)%2 == 0
	if behind {
		if err := blob.Check(ctx); err != nil {
			return None, err
		}
	}
	began := d.w.now
	fault := d.arrive("put", key)
	slept := d.w.now.Sub(began)
	switch {
	case d.w.isEpoch(key) && slept >= safety.LateWindow:
		return fault, errors.New("the request timed out before it was carried out")
	case ctx.Err() != nil:
		return fault, ctx.Err()
	case !behind:
		return fault, blob.Check(ctx)
	}
	if a := d.w.cur; a != nil && slept >= safety.MinAge+safety.LateWindow {
		d.w.sleepers[blobID(d.w.store, key)] = &sleeper{actor: a, life: a.proc.life}
	}
	return fault, nil
}

// strays says that bytes without a row were sent by one who overslept. They are
// orphans, until he gives them a row.
func (w *World) strays(backend, key string) bool {
	id := blobID(w.store, key)
	s := w.sleepers[id]
	if s == nil {
		return false
	}
	if w.orphans[id] == nil {
		w.orphans[id] = &planted{key, backend, 0, map[lethe.ID]bool{}}
		w.reached.Overslept++
	}
	return true
}

// rowed notes that a sleeper gave a row to what he sent, or could not.
func (w *World) rowed(id lethe.ID, err error) {
	switch s := w.sleepers[id]; {
	case err == nil:
		delete(w.orphans, id)
	case s != nil:
		s.told = true
	}
}

// rowless: who lived on, and was not kept from it, left no bytes without a row.
func (w *World) rowless(a *actor) error {
	for id, s := range w.sleepers {
		if s.actor == a && s.life == a.proc.life && !s.told && w.orphans[id] != nil {
			return broken("blob %s was sent when its intent had gone, and its writer has not given it a row", id)
		}
	}
	return nil
}

// sweepStrays removes what sleepers left who died: where backends are compared with
// the ledger that finds it, elsewhere a person does.
func (w *World) sweepStrays() {
	if w.reconciled() {
		return
	}
	for id, o := range w.orphans {
		w.disks[o.backend].Lose(o.key)
		delete(w.orphans, id)
	}
}
