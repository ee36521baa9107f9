package memadopt

import (
	"context"
	"maps"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Orphan is a recorded object that no row names.
type Orphan struct {
	adopt.OrphanObject
	Since lethe.Time // since when it is known, unchanged
	Seen  lethe.Time
	// Allowed is when its delete was allowed, 0 if never.
	Allowed lethe.Time
}

// Keys are rows that name keys, and the record of objects without a row. They
// are safe for concurrent use.
type Keys struct {
	names
	orphans map[string]*Orphan
}

var _ adopt.KeyRows = (*Keys)(nil)

// NewKeys returns a collection without rows.
func NewKeys(clock lethe.Clock) *Keys {
	return &Keys{names: newNames(clock), orphans: map[string]*Orphan{}}
}

// Copy returns those of a copy of the database. Holds are left out.
func (k *Keys) Copy() *Keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := NewKeys(k.clock)
	c.named, c.last, c.at = maps.Clone(k.named), k.last, k.at
	for key, o := range k.orphans {
		same := *o
		c.orphans[key] = &same
	}
	return c
}

// Orphans returns the record, by key.
func (k *Keys) Orphans() []Orphan {
	k.mu.Lock()
	defer k.mu.Unlock()
	return values(k.orphans)
}

// Stream implements adopt.NamedKeys.
func (k *Keys) Stream(_ context.Context, fn func(string) error) (at lethe.Time, last int64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range sorted(k.named) {
		for range k.named[key] {
			if err := fn(key); err != nil {
				return 0, 0, err
			}
		}
	}
	return k.clock.Now(), k.last, nil
}

// Named implements adopt.NamedKeys.
func (k *Keys) Named(_ context.Context, keys []string) (out []string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if k.named[key] > 0 {
			out = append(out, key)
		}
	}
	return out, nil
}

// See implements adopt.KeyRows.
func (k *Keys) See(_ context.Context, s adopt.Seeing) (out adopt.Seen, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now, holds := k.clock.Now(), k.holds.standing()
	seen := map[string]*Orphan{}
	for _, o := range s.Orphans {
		if k.named[o.Key] > 0 {
			delete(k.orphans, o.Key)
			continue
		}
		out.Orphans++
		have := k.orphans[o.Key]
		if have == nil || have.Modified != o.Modified || have.Size != o.Size {
			anew := &Orphan{Since: now}
			if have != nil {
				anew.Allowed = have.Allowed // it may take what was put since
			}
			have, k.orphans[o.Key] = anew, anew
		}
		have.OrphanObject, have.Seen = o, now
		if holds.Object(o.Key) != nil {
			out.Held++
			continue
		}
		seen[o.Key] = have
	}
	before := now.Add(-s.Retention)
	for _, key := range sorted(seen) {
		if seen[key].Since <= before && len(out.Condemned) < s.Most {
			if !s.Look {
				seen[key].Allowed = now
			}
			out.Condemned = append(out.Condemned, key)
		}
	}
	return out, nil
}

// Gone implements adopt.KeyRows.
func (k *Keys) Gone(_ context.Context, keys []string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		delete(k.orphans, key)
	}
	return nil
}

// End implements adopt.KeyRows.
func (k *Keys) End(_ context.Context, rows int64, since lethe.Time) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.note(rows, since)
	for key, o := range k.orphans {
		if o.Seen < since {
			delete(k.orphans, key)
		}
	}
	return nil
}

// Known implements adopt.KeyRows.
func (k *Keys) Known(context.Context) (out adopt.Backlog, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out.Due = int64(len(k.orphans))
	for _, o := range k.orphans {
		if out.Oldest == 0 || o.Since < out.Oldest {
			out.Oldest = o.Since
		}
	}
	return out, nil
}
