package pairing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// ErrNotQuiet is returned while the process has not yet watched for long enough
// that no other ledger advances the epoch of a backend. It resolves by itself.
var ErrNotQuiet = errors.New("waits for one beat in which no other ledger advances the backend")

// quiet records since when a process has seen no other ledger advance the epoch of
// a backend.
type quiet struct {
	since lethe.Time // by Pairing.Boot; 0: it has not advanced the epoch itself yet
	of    string     // the ledger's identity, see paired
	epoch int64      // as last seen by Heartbeat
}

// paired identifies the life of the ledger in which its epochs were seen. Another
// server, another timeline, or a decision of an operator begins a new one.
func paired(store ledger.Store, b ledger.Backend) string {
	return fmt.Sprintf("%s %s %d", store.DB, store.Life, b.Accepted)
}

// fits records that a backend and a ledger were seen to match.
func (g *Pairing) fits(store ledger.Store, b ledger.Backend) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if of := paired(store, b); g.quiet[b.ID].of != of {
		g.note(b.ID, quiet{of: of})
	}
}

// begin records that this process has advanced an epoch. No other ledger can know
// the first one of a backend, so there is nothing to wait for.
func (g *Pairing) begin(store ledger.Store, b ledger.Backend, first bool) {
	now := g.boot()
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.quiet[b.ID]
	if of := paired(store, b); q.of != of || q.since == 0 {
		q = quiet{since: now, of: of}
		if first {
			q.since = now.Add(-g.quietTime())
		}
	}
	q.epoch = b.Epoch
	g.note(b.ID, q)
}

func (g *Pairing) note(id string, q quiet) {
	if g.quiet == nil {
		g.quiet = make(map[string]quiet)
	}
	g.quiet[id] = q
}

// restart begins the wait anew.
func (g *Pairing) restart(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.quiet, id)
}

func (g *Pairing) begun(id string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.quiet[id].since != 0
}

// moved reports whether the epoch has changed since it was last read or written.
func (g *Pairing) moved(id string, epoch int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.quiet[id]
	moved := q.epoch != epoch
	q.epoch = epoch
	g.quiet[id] = q
	return moved
}

func (g *Pairing) boot() lethe.Time { return cmp.Or[lethe.Clock](g.Boot, lethe.Monotonic{}).Now() }

// quietTime is one beat, in which every other ledger checks, and half of one. By
// then such a check has ended, and so have the deletes of an earlier one
// (Safety.DeleteTime).
func (g *Pairing) quietTime() time.Duration {
	return cmp.Or(g.Beat, reclaim.Safety{}.WithDefaults().Beat) * 3 / 2
}

// wait returns how much longer no other ledger may be seen; begun reports whether
// the wait has begun.
func (g *Pairing) wait(id string) (d time.Duration, begun bool) {
	now := g.boot()
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.quiet[id]
	return max(0, g.quietTime()-now.Sub(q.since)), q.since != 0
}

// Admit returns nil if deletes on a backend may go on now. The backend has to match
// (Check), and for one beat since this process, or the life of the ledger, began no
// other ledger may have advanced its epoch (ErrNotQuiet).
func (g *Pairing) Admit(ctx context.Context, id string) error {
	for {
		if err := g.Check(ctx, id); err != nil {
			return err
		}
		d, begun := g.wait(id)
		if !begun {
			if err := g.Advance(ctx, id); err != nil {
				return err
			}
			d, _ = g.wait(id)
		}
		switch {
		case d == 0:
			return nil
		case g.Sleep == nil:
			return fmt.Errorf("pairing: backend %s %w: %s more", id, ErrNotQuiet, d.Round(time.Second))
		}
		if err := g.Sleep(ctx, d); err != nil {
			return err
		}
	}
}

// ledgerInDoubt reports whether a backend is held because it may not belong to this
// ledger, and not for a fault of the backend.
func ledgerInDoubt(b ledger.Backend) bool { return b.HeldFor == ledger.HeldForLedger }

// Confirmed returns nil if what the ledger has due may be removed. It returns
// ErrBackendMismatch while a backend is held because the ledger was restored or is
// a copy, until an operator accepts it (Accept), and while no backend carries an
// epoch.
//
// Another error means that no backend could be read yet. One that was read is
// enough, as Check reads each of the others before anything is deleted there.
func (g *Pairing) Confirmed(ctx context.Context) error {
	all, err := g.Ledger.Backends(ctx)
	if err != nil {
		return err
	}
	for _, b := range all {
		if g.Stores[b.ID] != nil && ledgerInDoubt(b) {
			return fmt.Errorf("%w: backend %s is held: %s; look into it, then: lethe backend accept %s", lethe.ErrBackendMismatch, b.ID, b.Held, b.ID)
		}
	}
	if g.told.Load() || len(g.Stores) == 0 {
		return nil
	}
	var errs []error
	var none error
	for _, id := range slices.Sorted(maps.Keys(g.Stores)) {
		switch err := g.Check(ctx, id); {
		case errors.Is(err, lethe.ErrBackendMismatch):
			none = err
		case err != nil:
			errs = append(errs, err)
		}
	}
	if g.told.Load() {
		return g.Confirmed(ctx)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return none
}
