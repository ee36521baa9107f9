package memadopt

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

var (
	_ adopt.Holder = (*DB)(nil)
	_ adopt.Holder = (*Folders)(nil)
	_ adopt.Holder = (*Keys)(nil)
)

// same reports whether two holds cover the same.
func same(a, b adopt.Hold) bool { return a.Scope == b.Scope && a.Key == b.Key }

// held are the holds of a collection. Callers of its methods have locked the
// collection.
type held struct {
	clock lethe.Clock
	list  adopt.Holds
}

// standing returns the holds in force.
func (s *held) standing() adopt.Holds {
	now := s.clock.Now()
	return slices.DeleteFunc(slices.Clone(s.list), func(h adopt.Hold) bool { return h.Until != 0 && h.Until <= now })
}

// add sets a hold, or returns the existing equal one.
func (s *held) add(h adopt.Hold) (adopt.Hold, error) {
	h.At = s.clock.Now()
	h.Limit()
	if h.Until != 0 && h.Until <= h.At {
		return h, fmt.Errorf("memadopt: the hold would be over before it begins: it is %s", h.At)
	}
	s.list = s.standing()
	if i := slices.IndexFunc(s.list, func(have adopt.Hold) bool { return same(have, h) }); i >= 0 {
		return s.list[i], nil
	}
	s.list = append(s.list, h)
	return h, nil
}

// release removes a hold.
func (s *held) release(h adopt.Hold) error {
	before := len(s.list)
	s.list = slices.DeleteFunc(s.list, func(have adopt.Hold) bool { return same(have, h) })
	if len(s.list) == before {
		return fmt.Errorf("memadopt: %s: %w", h, adopt.ErrNoSuchHold)
	}
	return nil
}

// allowedLate returns how long after its permission a delete of a folder's
// page, or of an orphan, may take effect.
func allowedLate() time.Duration { return adopt.DefaultGrace.Landed() }

// AddHold implements adopt.Holder.
func (db *DB) AddHold(_ context.Context, h adopt.Hold) (adopt.Hold, adopt.UnderWay, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	h, err := db.holds.add(h)
	if err != nil {
		return h, adopt.UnderWay{}, err
	}
	return h, db.underWay(h), nil
}

// underWay counts the deletions of what a hold covers that may yet take effect.
func (db *DB) underWay(h adopt.Hold) (out adopt.UnderWay) {
	now := db.o.Clock.Now()
	for _, m := range db.marks {
		until := m.Unseen
		if m.Fence != 0 { // it is due Late after it was marked
			until = max(until, m.Due.Add(db.o.Grace.Landed()-db.o.Grace.Late))
		}
		if until > now && (adopt.Holds{h}).Object(m.Object) != nil {
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

// ReleaseHold implements adopt.Holder.
func (db *DB) ReleaseHold(_ context.Context, h adopt.Hold) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.holds.release(h)
}

// Holds implements adopt.Holder.
func (db *DB) Holds(context.Context) (adopt.Holds, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.holds.standing(), nil
}

// AddHold implements adopt.Holder.
func (f *Folders) AddHold(_ context.Context, h adopt.Hold) (out adopt.Hold, under adopt.UnderWay, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if out, err = f.holds.add(h); err != nil {
		return out, under, err
	}
	for _, name := range sorted(f.allowed) {
		until := f.allowed[name].Add(allowedLate())
		if k := f.known[name]; k != nil && k.State == adopt.FolderPurging && until > f.clock.Now() && (adopt.Holds{h}).Folder(name+"/") != nil {
			under.Folders++
			under.Until = max(under.Until, until)
		}
	}
	return out, under, nil
}

// AddHold implements adopt.Holder.
func (k *Keys) AddHold(_ context.Context, h adopt.Hold) (out adopt.Hold, under adopt.UnderWay, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if out, err = k.holds.add(h); err != nil {
		return out, under, err
	}
	for key, o := range k.orphans {
		until := o.Allowed.Add(allowedLate())
		if o.Allowed != 0 && until > k.clock.Now() && (adopt.Holds{h}).Object(key) != nil {
			under.Objects++
			under.Until = max(under.Until, until)
		}
	}
	return out, under, nil
}

// ReleaseHold implements adopt.Holder.
func (n *names) ReleaseHold(_ context.Context, h adopt.Hold) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.holds.release(h)
}

// Holds implements adopt.Holder.
func (n *names) Holds(context.Context) (adopt.Holds, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.holds.standing(), nil
}
