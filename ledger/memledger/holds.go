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

// deferred is a due row that must not go.
type deferred struct {
	bucket *bucket
	key    string
	entry  lethe.ID // trash entry; empty: the object
	due    lethe.Time
}

func deferredByPlace(a, b *deferred) int {
	return cmp.Or(compareIDs(a.bucket.ID, b.bucket.ID), strings.Compare(a.key, b.key), compareIDs(a.entry, b.entry))
}

// released is a place where rows are to be released, and the progress there.
type released struct {
	bucket *bucket
	prefix string
	after  deferred
}

func releasesByPlace(a, b *released) int {
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
	b, err := db.find(h.Bucket)
	if err == nil {
		err = b.meant(h.Into)
	}
	if err = cmp.Or(h.Check(), err); err != nil {
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
	h.At, h.Into = db.now, ""
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
			return h.Refusal(key)
		}
	}
	return nil
}

// ReleaseHold releases a hold: ErrNoSuchBucket, ledger.ErrNoSuchHold.
func (db *DB) ReleaseHold(ctx context.Context, h ledger.Hold) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.find(h.Bucket)
	if err == nil {
		err = b.meant(h.Into)
	}
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.holds, func(have hold) bool { return have.Scope == h.Scope && have.Key == h.Key })
	if i < 0 {
		return fmt.Errorf("memledger: %s %q of %s: %w", h.Scope, h.Key, h.Bucket, ledger.ErrNoSuchHold)
	}
	b.holds = slices.Delete(b.holds, i, i+1)
	b.Holds--
	b.kept = ledger.UseMark{}
	db.releaseDeferred(b, h.Key)
	return nil
}

func (db *DB) releaseDeferred(b *bucket, prefix string) {
	l := &released{bucket: b, prefix: prefix}
	db.releases.drop(l)
	db.releases.put(l)
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

// deferRow takes a due row out of its index.
func (db *DB) deferRow(p *deferred) {
	db.deferred.drop(p)
	db.deferred.put(p)
}

func (db *DB) deferObject(o *object) {
	db.deferRow(&deferred{bucket: o.bucket, key: o.Key, due: o.DueAt()})
	db.due.drop(o)
	o.deferred = true
}

func (db *DB) deferEntry(b *bucket, e *entry) {
	db.deferRow(&deferred{bucket: b, key: e.Object.Key, entry: e.ID, due: e.PurgeAt})
	db.postpone(e, lethe.Forever)
}

func (db *DB) postpone(e *entry, at lethe.Time) {
	db.purge.drop(e)
	e.PurgeAt = at
	db.purge.put(e)
}

// deferHeld defers the held objects, and returns the others.
func (db *DB) deferHeld(rows []*object) (free []*object, held int) {
	for _, o := range rows {
		if o.bucket.held(o.Key) != nil {
			db.deferObject(o)
			held++
		} else {
			free = append(free, o)
		}
	}
	return free, held
}

// deferHeldEntries is deferHeld for the trash.
func (db *DB) deferHeldEntries(rows []*entry) (free []*entry, held int) {
	for _, e := range rows {
		if b := db.named(e.Object.Bucket); b != nil && b.held(e.Object.Key) != nil {
			db.deferEntry(b, e)
			held++
		} else {
			free = append(free, e)
		}
	}
	return free, held
}

// ReturnDeferred returns up to limit deferred rows to their due index, where nothing keeps
// them any more.
func (db *DB) ReturnDeferred(ctx context.Context, limit int) (ledger.ReturnedRows, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.ReturnedRows{}, err
	}
	defer db.mu.Unlock()
	db.endLimits()
	var out ledger.ReturnedRows
	if len(db.releases.rows) == 0 {
		return out, nil
	}
	l := db.releases.rows[0]
	var list []*deferred
	for _, p := range db.deferred.from(func(p *deferred) bool {
		return deferredByPlace(p, &deferred{bucket: l.bucket, key: l.after.key, entry: l.after.entry}) > 0
	}) {
		if p.bucket == l.bucket && strings.HasPrefix(p.key, l.prefix) {
			list = append(list, p)
		}
	}
	list = first(list, limit)
	out.Seen = len(list)
	for _, p := range list {
		if l.bucket.held(p.key) == nil {
			db.deferred.drop(p)
			out.Returned += db.returnRow(p)
		}
	}
	if limit > 0 && len(list) == limit {
		l.after, out.More = *list[limit-1], true
		return out, nil
	}
	db.releases.drop(l)
	out.More = len(db.releases.rows) > 0
	return out, nil
}

// returnRow returns a row to its due index, unless it is there already.
func (db *DB) returnRow(p *deferred) int {
	if p.entry == "" {
		o := p.bucket.byKey[p.key]
		if o == nil || !o.deferred || o.DueAt() == 0 {
			return 0
		}
		o.deferred = false
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

// deferredIn reports whether a bucket has deferred rows.
func (db *DB) deferredIn(b *bucket) bool {
	return slices.ContainsFunc(db.deferred.rows, func(p *deferred) bool { return p.bucket == b })
}

// forgetDeferred removes the deferred rows of a bucket that is gone.
func (db *DB) forgetDeferred(b *bucket) {
	db.deferred.rows = slices.DeleteFunc(db.deferred.rows, func(p *deferred) bool { return p.bucket == b })
	db.releases.rows = slices.DeleteFunc(db.releases.rows, func(l *released) bool { return l.bucket == b })
	for _, k := range []ledger.LimitKind{ledger.LimitRules, ledger.LimitTTL} {
		delete(db.limits, limitKey{k, string(b.ID)})
	}
}
