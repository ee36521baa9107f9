package memadopt

import (
	"context"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// troubles is the record of what is wrong.
type troubles struct {
	missing map[string]bool       // objects
	drifted map[string]lethe.Time // contents, and when their count was last found wrong
}

// Troubles is the record of what is wrong.
type Troubles struct{ db *DB }

var _ adopt.TroubleRows = Troubles{}

// Troubles returns the record of what is wrong.
func (db *DB) Troubles() Troubles { return Troubles{db} }

// Troubles implements adopt.TroubleRows.
func (r Troubles) Troubles(context.Context) (out adopt.Troubles, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	out = adopt.Troubles{Missing: int64(len(db.troubles.missing)), Drifted: int64(len(db.troubles.drifted))}
	before := db.o.Clock.Now().Add(-db.o.Grace.Watchdog)
	for _, row := range db.rows {
		if row.Status == Claimed && row.At <= before {
			out.Stuck++
		}
	}
	return out, nil
}

// Review implements adopt.TroubleRows.
func (r Troubles) Review(_ context.Context, after string, limit int) (left []string, next string, err error) {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	db.recount(limit)
	looked := 0
	for _, key := range slices.Sorted(maps.Keys(db.troubles.missing)) {
		if key <= after {
			continue
		}
		if referred, _ := db.named(key); referred {
			left = append(left, key)
		} else {
			delete(db.troubles.missing, key)
		}
		if looked++; looked == limit {
			return left, key, nil
		}
	}
	return left, "", nil
}

// recount forgets counts that are right.
func (db *DB) recount(limit int) {
	shown := db.o.Clock.Now().Add(-adopt.DriftShown)
	at := db.troubles.drifted
	old := slices.Sorted(maps.Keys(at))
	old = slices.DeleteFunc(old, func(key string) bool { return at[key] > shown })
	slices.SortStableFunc(old, func(x, y string) int { return int(at[x] - at[y]) })
	for _, key := range up(old, limit) {
		n := int64(0)
		for _, row := range db.rows {
			if row.Content == key {
				n++
			}
		}
		if c := db.contents[key]; c == nil || c.Count == n {
			delete(at, key)
		}
	}
}

// Mended implements adopt.TroubleRows.
func (r Troubles) Mended(_ context.Context, keys []string) error {
	db := r.db
	db.mu.Lock()
	defer db.mu.Unlock()
	for _, key := range keys {
		delete(db.troubles.missing, key)
	}
	return nil
}
