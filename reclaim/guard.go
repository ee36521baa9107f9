package reclaim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/meta"
)

// Guard keeps the pact between ledger and backends: an epoch object on every
// backend names the database that may delete there, and advances (design rule
// 13). A database that was restored or copied, or a backend that was put back or
// swapped, is recognised by it, and deletes stop until a person decides.
//
// Epoch objects are written once under growing numbers, as all our keys are; the
// guard alone removes those before the last confirmed one.
type Guard struct {
	Ledger GuardLedger
	Stores map[string]blob.Store
	Clock  lethe.Clock
	Events *Events
	// Place, if set, is told at each look why what lies in a backend's place cannot
	// be the backend, or nothing if it can. Stores must not be what it shuts.
	Place func(backend, why string)

	told atomic.Bool // one of the backends has said whom it belongs to
}

// epoch is the content of an epoch object.
type epoch struct {
	Store lethe.ID   `json:"store"`
	DB    lethe.ID   `json:"db"`
	Epoch int64      `json:"epoch"`
	At    lethe.Time `json:"at"`
}

const epochDir = "/epoch/"

func epochKey(store lethe.ID, n int64) string {
	return fmt.Sprintf("%s%s%019d", store, epochDir, n)
}

func isEpochKey(store lethe.ID, key string) bool {
	return strings.HasPrefix(key, string(store)+epochDir)
}

// Check compares the backend with the ledger. What does not fit holds the
// backend's deletes and is returned as ErrBackendMismatch; other errors mean
// that it could not be told, and nothing was changed. A backend that was held
// because it carried no epoch is let go once it carries the right one again, and one
// that is held for what says nothing of the ledger is held for that as well.
func (g *Guard) Check(ctx context.Context, id string) error {
	b, why, err := g.look(ctx, id)
	if err != nil {
		return err
	}
	if why.For != meta.HeldForAbsence {
		g.told.Store(true)
	}
	g.place(id, why)
	switch {
	case b.Held == "" && why.For == "":
		return nil
	case b.Held == "":
		return g.hold(ctx, b, why)
	case why.For == meta.HeldForLedger && b.HeldFor != meta.HeldForLedger:
		return g.hold(ctx, b, besides(b, why))
	case why.For == "" && b.HeldFor == meta.HeldForAbsence:
		return g.release(ctx, b)
	}
	return fmt.Errorf("%w: deletes on backend %s are held: %s", lethe.ErrBackendMismatch, id, b.Held)
}

// besides is the reason of a backend that was held before the ledger was doubted: a
// person's stays, what is wrong with the backend is looked at again once it is let go.
func besides(b meta.Backend, why meta.BackendHold) meta.BackendHold {
	if b.HeldFor != meta.HeldForAbsence {
		why.Reason = b.Held + "; " + why.Reason
	}
	return why
}

// hold holds the backend as it was seen. If another decided meanwhile nothing is
// changed, and nothing deleted either before the next look.
func (g *Guard) hold(ctx context.Context, seen meta.Backend, why meta.BackendHold) error {
	switch err := g.Ledger.ChangeHold(ctx, seen, why); {
	case err == nil:
		g.Events.held(seen.ID, why.Reason)
	case !errors.Is(err, lethe.ErrFenced):
		return err
	}
	return fmt.Errorf("%w: deletes on backend %s are held: %s", lethe.ErrBackendMismatch, seen.ID, why.Reason)
}

func (g *Guard) release(ctx context.Context, seen meta.Backend) error {
	err := g.Ledger.ChangeHold(ctx, seen, meta.BackendHold{})
	if errors.Is(err, lethe.ErrFenced) {
		return fmt.Errorf("%w: backend %s was held or accepted while it was looked at: it is looked at again", lethe.ErrBackendMismatch, seen.ID)
	}
	if err == nil {
		g.Events.released(seen.ID)
	}
	return err
}

// place tells whether the backend is there at all.
func (g *Guard) place(id string, why meta.BackendHold) {
	if g.Place == nil {
		return
	}
	if why.For != meta.HeldForAbsence {
		why.Reason = ""
	}
	g.Place(id, why.Reason)
}

// look says why the backend does not fit the ledger, or nothing. Another
// instance may advance the epoch meanwhile: what is judged is a listing during
// which the ledger's numbers stood still.
func (g *Guard) look(ctx context.Context, id string) (b meta.Backend, why meta.BackendHold, err error) {
	const tries = 5
	for range tries {
		store, before, err := g.lookup(ctx, id)
		if err != nil {
			return before, why, err
		}
		found, err := g.newest(ctx, id, store.ID)
		if err != nil && !errors.Is(err, lethe.ErrCorrupt) {
			return before, why, fmt.Errorf("reclaim: epoch of backend %s: %w", id, err)
		}
		why := judge(store, before, found)
		if err != nil {
			// Whose it is cannot be told: refuse on doubt.
			why = meta.BackendHold{For: meta.HeldForBackend, Reason: err.Error()}
		}
		if why.For == "" {
			return before, why, nil
		}
		_, b, err = g.lookup(ctx, id)
		if err != nil || b.Epoch == before.Epoch && b.Intended == before.Intended {
			return b, why, err
		}
	}
	return b, why, fmt.Errorf("reclaim: epoch of backend %s: it advances too fast to be judged", id)
}

// judge says why a backend must not be deleted on, or nothing if all is well.
// found is nil if the backend carries no epoch object.
func judge(store meta.Store, b meta.Backend, found *epoch) meta.BackendHold {
	stop := func(about meta.HeldFor, format string, args ...any) meta.BackendHold {
		return meta.BackendHold{For: about, Reason: fmt.Sprintf(format, args...)}
	}
	switch {
	case found == nil && b.Epoch == 0:
	case found == nil:
		return stop(meta.HeldForAbsence, "the backend carries no epoch although the ledger confirmed %d: its disk is not mounted, another was mounted in its place, or it was emptied", b.Epoch)
	case found.Epoch > b.Intended:
		return stop(meta.HeldForLedger, "the backend is at epoch %d, the ledger only at %d: this ledger is an older copy", found.Epoch, b.Intended)
	case found.Epoch < b.Epoch:
		return stop(meta.HeldForBackend, "the backend is at epoch %d, the ledger confirmed %d: the backend is an older copy", found.Epoch, b.Epoch)
	case found.DB != store.DB:
		return stop(meta.HeldForLedger, "the backend belongs to database %s, this is %s: one of them is a copy", found.DB, store.DB)
	}
	return meta.BackendHold{}
}

// Advance writes the next epoch: intended in the ledger, written to the backend,
// confirmed in the ledger. A crash in between is resolved by the next call.
func (g *Guard) Advance(ctx context.Context, id string) error {
	if err := g.Check(ctx, id); err != nil {
		return err
	}
	err := g.write(ctx, id)
	if errors.Is(err, blob.ErrExist) || errors.Is(err, lethe.ErrFenced) {
		return g.Check(ctx, id) // another instance has just advanced it
	}
	return err
}

// Accept lets deletes on a held backend go on: the operator has decided that
// this ledger and this backend belong together. It takes the backend over under
// a new epoch beyond everything found there.
func (g *Guard) Accept(ctx context.Context, id string) error {
	if err := g.write(ctx, id); err != nil {
		return err
	}
	if err := g.Ledger.HoldBackend(ctx, id, ""); err != nil {
		return err
	}
	if g.Place != nil {
		g.Place(id, "")
	}
	return nil
}

func (g *Guard) write(ctx context.Context, id string) error {
	store, b, err := g.lookup(ctx, id)
	if err != nil {
		return err
	}
	found, err := g.newest(ctx, id, store.ID)
	if err != nil {
		return fmt.Errorf("reclaim: epoch of backend %s: %w", id, err)
	}
	next := b.Intended + 1
	if found != nil && found.Epoch >= next {
		next = found.Epoch + 1
	}
	if err := g.Ledger.SetEpoch(ctx, id, next, b.Epoch); err != nil {
		return err
	}
	before, err := g.Ledger.LedgerTime(ctx)
	if err != nil {
		return err
	}
	e := epoch{Store: store.ID, DB: store.DB, Epoch: next, At: g.Clock.Now()}
	body, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := g.Stores[id].Put(ctx, epochKey(store.ID, next), bytes.NewReader(body), int64(len(body))); err != nil {
		return fmt.Errorf("reclaim: write epoch %d to backend %s: %w", next, id, err)
	}
	if err := g.Ledger.SetEpoch(ctx, id, next, next); err != nil {
		return err
	}
	if err := g.compareClocks(ctx, id, epochKey(store.ID, next), before); err != nil {
		return err
	}
	return g.removeBefore(ctx, id, store.ID, next)
}

func (g *Guard) lookup(ctx context.Context, id string) (meta.Store, meta.Backend, error) {
	store, err := g.Ledger.Identity(ctx)
	if err != nil {
		return meta.Store{}, meta.Backend{}, err
	}
	all, err := g.Ledger.Backends(ctx)
	if err != nil {
		return meta.Store{}, meta.Backend{}, err
	}
	for _, b := range all {
		if b.ID == id {
			return store, b, nil
		}
	}
	return meta.Store{}, meta.Backend{}, fmt.Errorf("reclaim: backend %s is not in the ledger", id)
}

// newest reads the epoch object with the highest number, nil if there is none.
// Another instance may remove it between listing and reading: then there is a
// newer one.
func (g *Guard) newest(ctx context.Context, id string, store lethe.ID) (e *epoch, err error) {
	const tries = 5
	for range tries {
		if e, err = g.last(ctx, id, store); !errors.Is(err, blob.ErrNotExist) {
			break
		}
	}
	return e, err
}

func (g *Guard) last(ctx context.Context, id string, store lethe.ID) (*epoch, error) {
	last := ""
	if err := g.Stores[id].List(ctx, string(store)+epochDir, "", func(i blob.Info) error {
		last = i.Key
		return nil
	}); err != nil {
		return nil, err
	}
	if last == "" {
		return nil, nil
	}
	body, err := g.Stores[id].Get(ctx, last, 0, -1)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, 1<<16))
	if err != nil {
		return nil, err
	}
	var e epoch
	if err := json.Unmarshal(raw, &e); err != nil || epochKey(store, e.Epoch) != last {
		return nil, fmt.Errorf("%w: epoch object %s is not readable (%d bytes); look at it, and remove it by hand if it is not Lethe's", lethe.ErrCorrupt, last, len(raw))
	}
	return &e, nil
}

// removeBefore deletes epoch objects older than the confirmed one. What is left
// is removed the next time.
func (g *Guard) removeBefore(ctx context.Context, id string, store lethe.ID, confirmed int64) error {
	var old []string
	keep := epochKey(store, confirmed)
	if err := g.Stores[id].List(ctx, string(store)+epochDir, "", func(i blob.Info) error {
		if i.Key < keep {
			old = append(old, i.Key)
		}
		return nil
	}); err != nil || len(old) == 0 {
		return err
	}
	_, err := g.Stores[id].Delete(ctx, old)
	if errors.Is(err, blob.ErrNotExist) {
		return nil
	}
	return err
}
