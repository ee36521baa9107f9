package pairing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// Ledger is what the pairing needs of a ledger. Every method is atomic.
type Ledger interface {
	ClockLedger
	Identity(ctx context.Context) (ledger.Store, error)
	Backends(ctx context.Context) ([]ledger.Backend, error)
	// SetEpoch moves (intended, epoch) forward and never back. What is intended has
	// to be confirmed before another is: ErrFenced.
	SetEpoch(ctx context.Context, backend string, intended, epoch int64) error
	// ChangeHold holds deletes on a backend, or releases them with the zero hold,
	// if hold and epoch are as seen: ErrFenced otherwise.
	ChangeHold(ctx context.Context, seen ledger.Backend, s ledger.BackendHold) error
	// IntendEpoch notes the epoch under which an operator is about to give a backend to
	// this ledger, instead of what it intends: ErrFenced unless its epochs are as seen.
	IntendEpoch(ctx context.Context, seen ledger.Backend, epoch int64) error
	// AcceptEpoch gives a backend to this ledger under an epoch that was so noted and
	// written, and ends its hold: ErrFenced.
	AcceptEpoch(ctx context.Context, backend string, epoch int64) error
}

// Pairing keeps the pairing of ledger and backends (docs/protocol.md, rule 13). An
// epoch object on every backend names the ledger that may delete there, and
// advances. It reveals a ledger that was restored, copied or cloned, and a backend
// that was restored or swapped. Deletes then stop until an operator decides.
//
// The distance to the next epoch is random, so that an epoch is a nonce as well: of
// two ledgers with one origin neither knows the other's next. Its object is written
// once, under its number, so that one listing shows who has advanced, and no ledger
// overwrites another's. Only Pairing removes those before the confirmed one.
type Pairing struct {
	Ledger Ledger
	Stores map[string]blob.Store
	Clock  lethe.Clock
	Events *reclaim.Events
	// Place, if set, is given at each look why the backend cannot lie in its place,
	// or "" if it can. Stores must not be what it shuts.
	Place func(backend, why string)
	// Beat is how often Advance is called (default as in Safety). Boot measures how
	// long no other ledger has advanced an epoch (default lethe.Monotonic).
	Beat time.Duration
	Boot lethe.Clock
	// Sleep, if set, makes Admit wait instead of refuse, for callers without a
	// later pass.
	Sleep func(ctx context.Context, d time.Duration) error
	// Draw returns a random number in [0, n); n is a power of two (default
	// crypto/rand).
	Draw func(n int64) int64

	told atomic.Bool // the epoch of one backend at least was read

	mu    sync.Mutex
	quiet map[string]quiet // by backend
}

// Check compares the backend with the ledger. A mismatch holds the backend's
// deletes and is returned as ErrBackendMismatch. Other errors mean that the
// comparison failed, and nothing was changed.
//
// A backend that was held because it carried no epoch is released once it carries
// the right one again. One that is held for a fault of its own is held for a doubt
// in the ledger as well.
func (g *Pairing) Check(ctx context.Context, id string) error {
	b, why, err := g.look(ctx, id)
	if err != nil {
		return err
	}
	if why.For != ledger.HeldForAbsence {
		g.told.Store(true)
	}
	g.place(id, why)
	switch {
	case b.Held == "" && why.For == "":
		return nil
	case b.Held == "":
		return g.hold(ctx, b, why)
	case why.For == ledger.HeldForLedger && b.HeldFor != ledger.HeldForLedger:
		return g.hold(ctx, b, besides(b, why))
	case why.For == "" && b.HeldFor == ledger.HeldForAbsence:
		return g.release(ctx, b)
	}
	return errors.Join(stopped(id, b.Held), g.contest(ctx, b))
}

// Absent returns nil if what is not found on a backend is gone for certain. Another
// backend, or an older copy, may lie in its place (ErrBackendMismatch). A hold by
// an operator, or for a ledger that is one of two, does not cast doubt on the bytes:
// after a restore, absent bytes must be found.
func (g *Pairing) Absent(ctx context.Context, id string) error {
	err := g.Check(ctx, id)
	if !errors.Is(err, lethe.ErrBackendMismatch) {
		return err
	}
	b, why, lerr := g.look(ctx, id)
	if lerr == nil && (why.For == "" || why.For == ledger.HeldForLedger && b.HeldFor == ledger.HeldForLedger) {
		return nil
	}
	return errors.Join(err, lerr)
}

func stopped(id, why string) error {
	return fmt.Errorf("%w: deletes on backend %s are held: %s", lethe.ErrBackendMismatch, id, why)
}

// besides is the reason of a backend that was held before the ledger was in doubt.
// An operator's reason stays. A fault of the backend is checked again once it is
// released.
func besides(b ledger.Backend, why ledger.BackendHold) ledger.BackendHold {
	if b.HeldFor != ledger.HeldForAbsence {
		why.Reason = b.Held + "; " + why.Reason
	}
	return why
}

// hold holds the backend as it was seen. If another instance decided meanwhile
// nothing is changed, and nothing deleted before the next look.
func (g *Pairing) hold(ctx context.Context, seen ledger.Backend, why ledger.BackendHold) error {
	switch err := g.Ledger.ChangeHold(ctx, seen, why); {
	case errors.Is(err, lethe.ErrFenced):
		return stopped(seen.ID, why.Reason)
	case err != nil:
		return err
	}
	g.Events.EmitHeld(seen.ID, why.Reason)
	seen.Held, seen.HeldFor = why.Reason, why.For
	return errors.Join(stopped(seen.ID, why.Reason), g.contest(ctx, seen))
}

func (g *Pairing) release(ctx context.Context, seen ledger.Backend) error {
	err := g.Ledger.ChangeHold(ctx, seen, ledger.BackendHold{})
	if errors.Is(err, lethe.ErrFenced) {
		return fmt.Errorf("%w: backend %s was held or accepted during the check: it is checked again", lethe.ErrBackendMismatch, seen.ID)
	}
	if err == nil {
		g.Events.EmitReleased(seen.ID)
	}
	return err
}

// place checks that the backend is there at all.
func (g *Pairing) place(id string, why ledger.BackendHold) {
	if g.Place == nil {
		return
	}
	if why.For != ledger.HeldForAbsence {
		why.Reason = ""
	}
	g.Place(id, why.Reason)
}

// look returns why the backend does not fit the ledger, or nothing. Another
// instance may advance the epoch meanwhile, so a listing counts only if the
// ledger's numbers did not change during it.
func (g *Pairing) look(ctx context.Context, id string) (b ledger.Backend, why ledger.BackendHold, err error) {
	const tries = 5
	for range tries {
		store, before, err := g.lookup(ctx, id)
		if err != nil {
			return before, why, err
		}
		found, err := g.standing(ctx, store, before)
		if err != nil && !errors.Is(err, lethe.ErrCorrupt) {
			return before, why, fmt.Errorf("pairing: epoch of backend %s: %w", id, err)
		}
		why := judge(before, found)
		if err != nil {
			// The backend cannot be identified: refuse on doubt.
			why = ledger.BackendHold{For: ledger.HeldForBackend, Reason: err.Error()}
		}
		if why.For == "" {
			g.fits(store, before)
			return before, why, nil
		}
		_, b, err = g.lookup(ctx, id)
		if err != nil || b.Epoch == before.Epoch && b.Intended == before.Intended {
			return b, why, err
		}
	}
	return b, why, fmt.Errorf("pairing: epoch of backend %s: it advances too fast to be compared", id)
}

// judge returns why the backend must not be deleted on, or nothing. The last epoch
// there has to be the one that the ledger has confirmed, or the one that it
// intends.
func judge(b ledger.Backend, found epochs) ledger.BackendHold {
	stop := func(about ledger.HeldFor, format string, args ...any) ledger.BackendHold {
		return ledger.BackendHold{For: about, Reason: fmt.Sprintf(format, args...)}
	}
	switch last := found.last(); {
	case len(found) == 0 && b.Epoch == 0:
	case len(found) == 0:
		return stop(ledger.HeldForAbsence, "the backend carries no epoch although the ledger confirmed %d: its disk is not mounted, another was mounted in its place, or it was emptied", b.Epoch)
	case last == b.Intended && found.between(b.Epoch, last):
		return stop(ledger.HeldForLedger, "the backend was advanced by another while this ledger went from epoch %d to %d: one of two ledgers is a copy", b.Epoch, b.Intended)
	case last == b.Intended && b.Epoch > 0 && !slices.Contains(found, b.Epoch):
		return stop(ledger.HeldForAbsence, "the backend carries no epoch %d, which the ledger confirmed, beside %d, which was just written: another disk was mounted in its place, or it was emptied", b.Epoch, b.Intended)
	case last == b.Epoch, last == b.Intended:
	case b.Intended == 0:
		return stop(ledger.HeldForLedger, "the backend is at epoch %d, and the ledger knows none: the backend was removed from the ledger before, or this ledger is an older copy, or one of two", last)
	case last > b.Intended:
		return stop(ledger.HeldForLedger, "the backend is at epoch %d, the ledger only at %d: another ledger has advanced it, and this ledger is an older copy, or one of two", last, b.Intended)
	case last < b.Epoch:
		return stop(ledger.HeldForBackend, "the backend is at epoch %d, the ledger confirmed %d: the backend is an older copy", last, b.Epoch)
	default:
		return stop(ledger.HeldForLedger, "the backend is at epoch %d, which is neither the ledger's %d nor its next, %d: one of two ledgers is a copy", last, b.Epoch, b.Intended)
	}
	return ledger.BackendHold{}
}

// Advance writes the next epoch: intended in the ledger, written to the backend,
// confirmed in the ledger. The next call completes what a crash interrupts.
func (g *Pairing) Advance(ctx context.Context, id string) error {
	if err := g.Check(ctx, id); err != nil {
		return err
	}
	resumed, err := g.write(ctx, id)
	if err == nil && resumed {
		// A copy may know the intended epoch, but not the one after it.
		_, err = g.write(ctx, id)
	}
	if errors.Is(err, lethe.ErrFenced) {
		return g.Check(ctx, id) // another instance has just advanced it
	}
	return err
}

// Heartbeat is Advance, unless another instance of the ledger has advanced the
// epoch since the last call: then it is Check. One instance writes in each beat,
// all check.
func (g *Pairing) Heartbeat(ctx context.Context, id string) error {
	if g.begun(id) {
		_, b, err := g.lookup(ctx, id)
		if err != nil {
			return err
		}
		if g.moved(id, b.Epoch) {
			return g.Check(ctx, id)
		}
	}
	return g.Advance(ctx, id)
}

// Accept releases a held backend after one quiet beat: the operator has decided
// that it belongs to this ledger. The backend gets an epoch beyond all that are
// found there, which shows the decision to other ledgers. An error leaves the hold,
// or its release is not known: Accept may be called again.
func (g *Pairing) Accept(ctx context.Context, id string) (err error) {
	const tries = 5
	for range tries {
		err = g.accept(ctx, id)
		if !errors.Is(err, lethe.ErrFenced) && !errors.Is(err, blob.ErrExist) {
			return err
		}
	}
	return err // another instance keeps advancing it
}

// accept is one try of Accept. The epoch is noted before it is written: its write may
// be reported as failed and land later, and is not to be taken for another ledger's.
func (g *Pairing) accept(ctx context.Context, id string) error {
	if err := g.complete(ctx, id); err != nil {
		return err
	}
	store, b, err := g.lookup(ctx, id)
	if err != nil {
		return err
	}
	found, err := g.epochs(ctx, id, store.ID)
	if err != nil {
		return fmt.Errorf("pairing: epoch of backend %s: %w", id, err)
	}
	next, err := g.beyond(max(b.Intended, found.last()))
	if err != nil {
		return err
	}
	g.restart(id)
	if err := g.Ledger.IntendEpoch(ctx, b, next); err != nil {
		return err
	}
	before, err := g.Ledger.LedgerTime(ctx)
	if err != nil {
		return err
	}
	e := epoch{Store: store.ID, DB: store.DB, Epoch: next, Accepted: next, At: g.Clock.Now()}
	if err := g.put(ctx, id, e); err != nil {
		return err
	}
	if err := g.Ledger.AcceptEpoch(ctx, id, next); err != nil {
		return err
	}
	store, b, err = g.lookup(ctx, id)
	if err != nil {
		return err
	}
	g.begin(store, b, false)
	if g.Place != nil {
		g.Place(id, "")
	}
	if err := g.compareClocks(ctx, id, epochKey(store.ID, next), before); err != nil {
		return err
	}
	return g.remove(ctx, id, store.ID, found)
}

// complete confirms an interrupted advance of a backend that fits. Its epoch would
// otherwise be unknown if the acceptance that replaces it is interrupted as well.
func (g *Pairing) complete(ctx context.Context, id string) error {
	b, why, err := g.look(ctx, id)
	if err != nil || why.For != "" || b.Intended == b.Epoch {
		return err
	}
	_, err = g.write(ctx, id)
	return err
}

// write advances the epoch, or completes an interrupted advance (resumed).
func (g *Pairing) write(ctx context.Context, id string) (resumed bool, err error) {
	store, b, err := g.lookup(ctx, id)
	if err != nil {
		return false, err
	}
	first := b.Intended == 0
	if resumed = b.Intended != b.Epoch; !resumed {
		if b.Intended, err = g.beyond(b.Epoch); err != nil {
			return false, err
		}
		if err := g.Ledger.SetEpoch(ctx, id, b.Intended, b.Epoch); err != nil {
			return false, err
		}
	}
	before, err := g.Ledger.LedgerTime(ctx)
	if err != nil {
		return false, err
	}
	e := epoch{Store: store.ID, DB: store.DB, Epoch: b.Intended, Accepted: b.Accepted, At: g.Clock.Now()}
	err = g.put(ctx, id, e)
	written := err == nil
	if err != nil && !errors.Is(err, blob.ErrExist) {
		return false, err
	}
	old, err := g.confirm(ctx, store, b)
	if err != nil {
		return false, err
	}
	b.Epoch = b.Intended
	g.begin(store, b, first && len(old) == 0)
	if written {
		if err := g.compareClocks(ctx, id, epochKey(store.ID, b.Epoch), before); err != nil {
			return false, err
		}
	}
	return resumed, g.remove(ctx, id, store.ID, old)
}

// confirm records that the intended epoch lies on the backend, and returns the
// epochs before it. Epochs between the last confirmed one and this one are of
// another ledger, which may have taken itself for the first to advance. If the last
// confirmed one is missing, the intended one was written to another disk.
func (g *Pairing) confirm(ctx context.Context, store ledger.Store, b ledger.Backend) (old epochs, err error) {
	found, err := g.standing(ctx, store, b)
	if err != nil {
		return nil, fmt.Errorf("pairing: epoch of backend %s: %w", b.ID, err)
	}
	switch why := judge(b, found); {
	case found.last() > b.Intended:
	case why.For != "":
		if err := g.Check(ctx, b.ID); err != nil {
			return nil, err
		}
		return nil, lethe.ErrFenced // another instance confirmed it first
	case found.last() < b.Intended:
		return nil, fmt.Errorf("pairing: epoch %d was written to backend %s, which does not list it", b.Intended, b.ID)
	}
	if err := g.Ledger.SetEpoch(ctx, b.ID, b.Intended, b.Intended); err != nil {
		return nil, err
	}
	if found.last() > b.Intended { // another instance's, or another ledger's
		return nil, g.Check(ctx, b.ID)
	}
	return found.before(b.Intended), nil
}

func (g *Pairing) lookup(ctx context.Context, id string) (ledger.Store, ledger.Backend, error) {
	store, err := g.Ledger.Identity(ctx)
	if err != nil {
		return ledger.Store{}, ledger.Backend{}, err
	}
	all, err := g.Ledger.Backends(ctx)
	if err != nil {
		return ledger.Store{}, ledger.Backend{}, err
	}
	for _, b := range all {
		if b.ID == id {
			return store, b, nil
		}
	}
	return ledger.Store{}, ledger.Backend{}, fmt.Errorf("pairing: backend %s is not in the ledger", id)
}
