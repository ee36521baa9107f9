package sqlledger

import (
	"context"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var trippedLimits = register(`SELECT '', ` + limitColumns + ` FROM limits WHERE tripped_at > 0 AND kind <> 'clock' ORDER BY kind, subject`)

// EndTrips resets limits that have tripped and are no longer set, and returns their states as
// they were. ReturnDeferred then returns the deferred rows step by step. What went within the
// hour stays counted. A limit that was only raised is not reset; a person does that.
func (db *DB) EndTrips(ctx context.Context, l ledger.Limits) (ended []ledger.LimitState, err error) {
	var list []ledger.LimitState
	err = db.read(ctx, "look for tripped limits that are no longer set", func(t *tx) error {
		found, err := all(t, scanLimitRow, trippedLimits)
		list = slices.DeleteFunc(found, func(g ledger.LimitState) bool { return l.Of(g.Kind).Explains(g) })
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	err = db.write(ctx, "reset tripped limits that are no longer set", func(t *tx) error {
		ended, err = t.resetLimits(list, func(g *ledger.LimitState) bool {
			if g.TrippedAt == 0 || l.Of(g.Kind).Explains(*g) {
				return false
			}
			g.Clear()
			return true
		})
		return err
	})
	return ended, err
}

// resetLimits changes limits, and has the rows deferred by those looked at again. It returns
// the changed ones as they were. In the lock order (docs/protocol.md, rule 16): the buckets,
// the limits, then the releases, each sorted.
func (t *tx) resetLimits(list []ledger.LimitState, change func(*ledger.LimitState) bool) (changed []ledger.LimitState, err error) {
	if _, err := t.rulesByID(deferredBy(list)); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b ledger.LimitState) int {
		return compareLimitKeys(limitKey{a.Kind, a.Subject}, limitKey{b.Kind, b.Subject})
	})
	for _, x := range list {
		g, err := t.limitState(x.Kind, x.Subject)
		if err != nil {
			return nil, err
		}
		before := g
		if !change(&g) {
			continue
		}
		if err := t.saveLimit(g); err != nil {
			return nil, err
		}
		changed = append(changed, before)
	}
	for _, bucket := range deferredBy(changed) {
		if err := t.releaseDeferred(bucket, ""); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// deferredBy returns the buckets of limits that defer rows, each once, sorted.
func deferredBy(list []ledger.LimitState) (ids []lethe.ID) {
	for _, g := range list {
		if g.Defers() {
			ids = append(ids, lethe.ID(g.Subject))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
