package meta

import (
	"cmp"
	"context"
	"database/sql"
	"slices"

	"github.com/lethe-storage/lethe"
)

var stoppedGuards = register(`SELECT '', ` + guardColumns + ` FROM guards WHERE held_at > 0 AND kind <> 'clock' ORDER BY kind, subject`)

// EndStops ends the stops for limits that there are no more, and answers them as
// they were: what they parked returns by and by (Unpark). What went within the hour
// stays counted. A limit that is only higher than it was ends none; a person does.
func (db *DB) EndStops(ctx context.Context, l Limits) (ended []Guard, err error) {
	var list []Guard
	err = db.read(ctx, "look for stops without a limit", func(t *tx) error {
		found, err := all(t, func(r *sql.Rows) (Guard, error) { return scanGuard(r) }, stoppedGuards)
		list = slices.DeleteFunc(found, func(g Guard) bool { return l.Of(g.Kind).Upholds(g) })
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	err = db.write(ctx, "end stops without a limit", func(t *tx) error {
		ended, err = t.freeGuards(list, func(g *Guard) bool {
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

// end makes a guard one that stops nothing.
func (g *Guard) Clear() { g.HeldAt, g.HeldUntil, g.Reason = 0, 0, "" }

// parks says that a guard parks what it stops: what is its subject's own.
func (g Guard) Defers() bool { return g.Kind == GuardRules || g.Kind == GuardTTL }

// freeGuards changes guards, and has looked through what those parked that were
// changed; it answers these as they were. In the lock order (docs/protocol.md, rule 16): the
// buckets, the guards, then where something was let go, each sorted.
func (t *tx) freeGuards(list []Guard, change func(*Guard) bool) (changed []Guard, err error) {
	if _, err := t.rulesByID(parkedBy(list)); err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Guard) int {
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

// parkedBy are the buckets of guards that park, each once, sorted.
func parkedBy(list []Guard) (ids []lethe.ID) {
	for _, g := range list {
		if g.Defers() {
			ids = append(ids, lethe.ID(g.Subject))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
