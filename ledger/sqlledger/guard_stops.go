package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var stoppedGuards = register(`SELECT '', ` + guardColumns + ` FROM guards WHERE held_at > 0 AND kind <> 'clock' ORDER BY kind, subject`)

// EndStops resets limits that have tripped and no longer exist, and returns their guards as
// they were. Unpark then releases the deferred rows step by step. What went within the hour
// stays counted. A limit that was only raised is not reset; a person does that.
func (db *DB) EndStops(ctx context.Context, l ledger.Limits) (ended []ledger.Guard, err error) {
	var list []ledger.Guard
	err = db.read(ctx, "look for stops without a limit", func(t *tx) error {
		found, err := all(t, func(r *sql.Rows) (ledger.Guard, error) { return scanGuard(r) }, stoppedGuards)
		list = slices.DeleteFunc(found, func(g ledger.Guard) bool { return l.Of(g.Kind).Upholds(g) })
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	err = db.write(ctx, "end stops without a limit", func(t *tx) error {
		ended, err = t.freeGuards(list, func(g *ledger.Guard) bool {
			if g.HeldAt == 0 || l.Of(g.Kind).Upholds(*g) {
				return false
			}
			g.Clear()
			return true
		})
		return err
	})
	return ended, err
}

// freeGuards changes guards, and has the rows deferred by those looked at again. It returns
// the changed ones as they were. In the lock order (docs/protocol.md, rule 16): the buckets,
// the guards, then the releases, each sorted.
func (t *tx) freeGuards(list []ledger.Guard, change func(*ledger.Guard) bool) (changed []ledger.Guard, err error) {
	if _, err := t.rulesByID(parkedBy(list)); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b ledger.Guard) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Subject, b.Subject))
	})
	for _, x := range list {
		g, err := t.guard(x.Kind, x.Subject)
		if err != nil {
			return nil, err
		}
		before := g
		if !change(&g) {
			continue
		}
		if err := t.saveGuard(g); err != nil {
			return nil, err
		}
		changed = append(changed, before)
	}
	for _, bucket := range parkedBy(changed) {
		if err := t.lift(bucket, ""); err != nil {
			return nil, err
		}
	}
	return changed, nil
}

// parkedBy returns the buckets of guards that defer rows, each once, sorted.
func parkedBy(list []ledger.Guard) (ids []lethe.ID) {
	for _, g := range list {
		if g.Defers() {
			ids = append(ids, lethe.ID(g.Subject))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
