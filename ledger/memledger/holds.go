package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// parked is a due row that must not go.
type parked struct {
	bucket *bucket
	key    string
	entry  lethe.ID // trash entry; empty: the object
	due    lethe.Time
}

func parkedByPlace(a, b *parked) int {
	return cmp.Or(compareIDs(a.bucket.ID, b.bucket.ID), strings.Compare(a.key, b.key), compareIDs(a.entry, b.entry))
}

// lifted is a place where rows are to be released, and the progress there.
type lifted struct {
	bucket *bucket
	prefix string
	after  parked
}

func liftsByPlace(a, b *lifted) int {
	return cmp.Or(compareIDs(a.bucket.ID, b.bucket.ID), strings.Compare(a.prefix, b.prefix))
}

func holdsByPlace(a, b *ledger.Hold) int {
	return cmp.Or(strings.Compare(a.Bucket, b.Bucket), cmp.Compare(a.Scope, b.Scope), strings.Compare(a.Key, b.Key))
}

// AddHold sets a hold, or returns the existing one: ErrNoSuchBucket, ErrInvalidKey.
func (db *DB) AddHold(ctx context.Context, h ledger.Hold) (ledger.Hold, error) {
	if err := db.enter(ctx); err != nil {
		return h, err
	}
	defer db.mu.Unlock()
	switch {
	case h.Scope < ledger.HoldObject || h.Scope > ledger.HoldLegal:
		return h, fmt.Errorf("memledger: a hold on %s", h.Scope)
	case h.Scope != ledger.HoldPrefix || h.Key != "":
		if err := ledger.CheckKey(h.Key); err != nil {
			return h, err
		}
	}
	b, err := db.find(h.Bucket)
	if err != nil {
		return h, err
	}
	prefixes := 0
	for _, have := range b.holds {
		if have.Scope == ledger.HoldPrefix {
			prefixes++
		}
	}
	if h.Scope == ledger.HoldPrefix && prefixes >= ledger.MaxPrefixHolds {
		return h, fmt.Errorf("memledger: bucket %s has %d holds on prefixes", b.Name, prefixes)
	}
	for _, have := range b.holds {
		if have.Scope == h.Scope && have.Key == h.Key {
			return have.in(b), nil
		}
	}
	h.At = db.now
	b.holds = append(b.holds, hold{h})
	b.Holds++
	return h, nil
}

// hold is a hold of a bucket.
type hold struct{ ledger.Hold }

func (h hold) in(b *bucket) ledger.Hold {
	h.Bucket = b.Name
	return h.Hold
}

// covers reports whether the hold covers a key.
func (h hold) covers(key string) bool {
	if h.Scope == ledger.HoldPrefix {
		return strings.HasPrefix(key, h.Key)
	}
	return h.Key == key
}

// held returns ErrHeld if the key is held, else nil.
func (b *bucket) held(key string) error {
	for _, h := range b.holds {
		if h.covers(key) {
			return fmt.Errorf("%q is held (%s): %w", key, h.Reason, lethe.ErrHeld)
		}
	}
	return nil
}

// LiftHold lifts a hold: ErrNoSuchBucket, ledger.ErrNoSuchHold.
func (db *DB) LiftHold(ctx context.Context, h ledger.Hold) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.find(h.Bucket)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.holds, func(have hold) bool { return have.Scope == h.Scope && have.Key == h.Key })
	if i < 0 {
		return fmt.Errorf("memledger: %s %q of %s: %w", h.Scope, h.Key, h.Bucket, ledger.ErrNoSuchHold)
	}
	b.holds = slices.Delete(b.holds, i, i+1)
	b.Holds--
	db.lift(b, h.Key)
	return nil
}

func (db *DB) lift(b *bucket, prefix string) {
	l := &lifted{bucket: b, prefix: prefix}
	db.lifts.drop(l)
	db.lifts.put(l)
}

// Holds lists holds by bucket, scope and key.
func (db *DB) Holds(ctx context.Context, q ledger.HoldQuery) ([]ledger.Hold, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	list := table[*ledger.Hold]{order: holdsByPlace}
	for _, b := range db.names.rows {
		for _, h := range b.holds {
			if row := h.in(b); (q.Bucket == "" || q.Bucket == b.Name) && holdsByPlace(&row, &q.After) > 0 {
				list.put(&row)
			}
		}
	}
	var out []ledger.Hold
	for _, h := range first(list.rows, q.Limit) {
		out = append(out, *h)
	}
	return out, nil
}

// HoldsOn lists the holds that cover a key: ErrNoSuchBucket.
func (db *DB) HoldsOn(ctx context.Context, name, key string) ([]ledger.Hold, error) {
	var out []ledger.Hold
	err := db.inBucket(ctx, name, func(b *bucket) {
		for _, h := range b.holds {
			if h.covers(key) {
				out = append(out, ledger.Hold{Bucket: name, Scope: h.Scope, Key: h.Key, Reason: h.Reason})
			}
		}
	})
	return out, err
}

// park takes a due row out of its index.
func (db *DB) park(p *parked) {
	db.parked.drop(p)
	db.parked.put(p)
}

func (db *DB) parkObject(o *object) {
	db.park(&parked{bucket: o.bucket, key: o.Key, due: o.DueAt()})
	db.due.drop(o)
	o.parked = true
}

func (db *DB) parkEntry(b *bucket, e *entry) {
	db.park(&parked{bucket: b, key: e.Object.Key, entry: e.ID, due: e.PurgeAt})
	db.postpone(e, lethe.Forever)
}

func (db *DB) postpone(e *entry, at lethe.Time) {
	db.purge.drop(e)
	e.PurgeAt = at
	db.purge.put(e)
}

// parkHeld defers the held objects, and returns the others.
func (db *DB) parkHeld(rows []*object) (free []*object, held int) {
	for _, o := range rows {
		if o.bucket.held(o.Key) != nil {
			db.parkObject(o)
			held++
		} else {
			free = append(free, o)
		}
	}
	return free, held
}

// parkHeldEntries is parkHeld for the trash.
func (db *DB) parkHeldEntries(rows []*entry) (free []*entry, held int) {
	for _, e := range rows {
		if b := db.named(e.Object.Bucket); b != nil && b.held(e.Object.Key) != nil {
			db.parkEntry(b, e)
			held++
		} else {
			free = append(free, e)
		}
	}
	return free, held
}

// Unpark returns up to limit rows to their due index, where a hold or a limit released them.
func (db *DB) Unpark(ctx context.Context, limit int) (ledger.Unparked, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Unparked{}, err
	}
	defer db.mu.Unlock()
	db.endGuards()
	var out ledger.Unparked
	if len(db.lifts.rows) == 0 {
		return out, nil
	}
	l := db.lifts.rows[0]
	var list []*parked
	for _, p := range db.parked.from(func(p *parked) bool {
		return parkedByPlace(p, &parked{bucket: l.bucket, key: l.after.key, entry: l.after.entry}) > 0
	}) {
		if p.bucket == l.bucket && strings.HasPrefix(p.key, l.prefix) {
			list = append(list, p)
		}
	}
	list = first(list, limit)
	out.Seen = len(list)
	for _, p := range list {
		if l.bucket.held(p.key) == nil {
			db.parked.drop(p)
			out.Returned += db.unpark(p)
		}
	}
	if limit > 0 && len(list) == limit {
		l.after, out.More = *list[limit-1], true
		return out, nil
	}
	db.lifts.drop(l)
	out.More = len(db.lifts.rows) > 0
	return out, nil
}

// unpark returns a row to its due index, unless it is there already.
func (db *DB) unpark(p *parked) int {
	if p.entry == "" {
		o := p.bucket.byKey[p.key]
		if o == nil || !o.parked || o.DueAt() == 0 {
			return 0
		}
		o.parked = false
		db.due.put(o)
		return 1
	}
	e := db.entry(p.entry)
	if e == nil || e.PurgeAt != lethe.Forever {
		return 0
	}
	db.postpone(e, p.due)
	return 1
}

// parksIn reports whether a bucket has deferred rows.
func (db *DB) parksIn(b *bucket) bool {
	return slices.ContainsFunc(db.parked.rows, func(p *parked) bool { return p.bucket == b })
}

// forgetParked removes the deferred rows of a bucket that is gone.
func (db *DB) forgetParked(b *bucket) {
	db.parked.rows = slices.DeleteFunc(db.parked.rows, func(p *parked) bool { return p.bucket == b })
	db.lifts.rows = slices.DeleteFunc(db.lifts.rows, func(l *lifted) bool { return l.bucket == b })
	for _, k := range []ledger.GuardKind{ledger.GuardRules, ledger.GuardTTL} {
		delete(db.guards, guarded{k, string(b.ID)})
	}
}
