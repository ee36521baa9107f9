package memadopt

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe/adopt"
)

var _ adopt.Holder = (*DB)(nil)

// same reports whether two holds cover the same.
func same(a, b adopt.Hold) bool { return a.Scope == b.Scope && a.Key == b.Key }

// standing returns the holds that are not over.
func (db *DB) standing() adopt.Holds {
	now := db.o.Clock.Now()
	return slices.DeleteFunc(slices.Clone(db.holds), func(h adopt.Hold) bool { return h.Until != 0 && h.Until <= now })
}

// AddHold implements adopt.Holder.
func (db *DB) AddHold(_ context.Context, h adopt.Hold) (adopt.Hold, adopt.UnderWay, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	h.At = db.o.Clock.Now()
	h.Limit()
	if h.Until != 0 && h.Until <= h.At {
		return h, adopt.UnderWay{}, fmt.Errorf("memadopt: the hold would be over before it begins: it is %s", h.At)
	}
	db.holds = db.standing()
	if i := slices.IndexFunc(db.holds, func(have adopt.Hold) bool { return same(have, h) }); i >= 0 {
		h = db.holds[i]
	} else {
		db.holds = append(db.holds, h)
	}
	return h, db.underWay(h), nil
}

// underWay counts the deletes that may yet take effect of what a hold covers.
func (db *DB) underWay(h adopt.Hold) (out adopt.UnderWay) {
	now := db.o.Clock.Now()
	for _, m := range db.marks {
		until := m.Unseen
		if m.Fence != 0 {
			until = max(until, m.Due)
		}
		if m.State == Condemned && until > now && (adopt.Holds{h}).Object(m.Object) != nil {
			out.Objects++
			out.Until = max(out.Until, until)
		}
	}
	for _, q := range db.moved {
		until := q.Late
		if q.State == adopt.Purging {
			until = max(until, q.Due)
		}
		if q.State != adopt.Moving && q.State != adopt.Restoring && until > now && (adopt.Holds{h}).Object(q.Key) != nil {
			out.Objects++
			out.Until = max(out.Until, until)
		}
	}
	return out
}

// LiftHold implements adopt.Holder.
func (db *DB) LiftHold(_ context.Context, h adopt.Hold) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	before := len(db.holds)
	db.holds = slices.DeleteFunc(db.holds, func(have adopt.Hold) bool { return same(have, h) })
	if len(db.holds) == before {
		return fmt.Errorf("memadopt: %s: %w", h, adopt.ErrNoSuchHold)
	}
	return nil
}

// Holds implements adopt.Holder.
func (db *DB) Holds(context.Context) (adopt.Holds, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.standing(), nil
}
