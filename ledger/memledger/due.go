package memledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// dueNow returns the objects that a batch may take, and one more.
func (db *DB) dueNow(b ledger.Batch) (rows []*object, limited bool) {
	if b.Only != nil {
		for _, n := range b.Only {
			if o := db.version(n); o != nil && !o.deferred && o.DueAt() != 0 && o.DueAt() <= db.now {
				rows = append(rows, o)
			}
		}
		slices.SortFunc(rows, objectsByDue)
		return rows, false
	}
	if len(b.Turns) > 0 {
		return db.byTurns(b), false
	}
	rows = db.dueSince(b.After)
	if limited = b.Limit > 0 && len(rows) > b.Limit; limited {
		rows = rows[:b.Limit+1]
	}
	return rows, limited
}

// version returns the object that is named, nil if the key has another one or none.
func (db *DB) version(n ledger.Named) *object {
	if o := db.under(n); o != nil && o.ID == n.ID {
		return o
	}
	return nil
}

// under returns the object under the key that is named.
func (db *DB) under(n ledger.Named) *object {
	i, ok := slices.BinarySearchFunc(db.buckets.rows, n.Bucket, func(b *bucket, id lethe.ID) int { return compareIDs(b.ID, id) })
	if !ok {
		return nil
	}
	return db.buckets.rows[i].byKey[n.Key]
}

// trashNow returns the entries that a batch may take.
func (db *DB) trashNow(b ledger.Batch) (rows []*entry) {
	if b.Only == nil {
		return db.purge.between(
			func(e *entry) bool { return e.PurgeAt >= b.After },
			func(e *entry) bool { return e.PurgeAt > db.now })
	}
	for _, n := range b.Only {
		if e := db.entry(n.ID); e != nil && e.PurgeAt <= db.now {
			rows = append(rows, e)
		}
	}
	slices.SortFunc(rows, entriesByPurge)
	return rows
}

// unclaimed returns the condemned blobs of a backend that a claim may take; any reports
// whether some are due at all.
func (db *DB) unclaimed(b *backend, r ledger.ClaimRequest) (rows []*blob, any bool) {
	due := b.due.between(
		func(b *blob) bool { return b.DueAt >= r.After },
		func(b *blob) bool { return b.DueAt > db.now })
	if len(r.Turns) > 0 && len(due) > 0 {
		return b.dueSince(0, db.now), true
	}
	if r.Only == nil || len(due) == 0 {
		return due, len(due) > 0
	}
	rows = db.claimable(r.Only, blobsByDue, func(x *blob) bool {
		return x.backend == b && x.State == lethe.Condemned && x.DueAt <= db.now
	})
	return rows, true
}

// silent returns the intents that a claim may take; any reports whether some are silent at
// all.
func (db *DB) silent(r ledger.ClaimRequest) (rows []*blob, any bool) {
	until := db.now.Add(-r.MinAge)
	for _, b := range db.pending.between(
		func(b *blob) bool { return b.BeatAt >= r.After },
		func(b *blob) bool { return b.BeatAt > until }) {
		if r.Backend == "" || b.Backend == r.Backend {
			rows = append(rows, b)
		}
	}
	if r.Only == nil || len(rows) == 0 {
		return rows, len(rows) > 0
	}
	return db.claimable(r.Only, blobsByBeat, func(x *blob) bool {
		return x.State == lethe.Pending && x.BeatAt <= until && (r.Backend == "" || x.Backend == r.Backend)
	}), true
}

func (db *DB) claimable(ids []lethe.ID, order func(a, b *blob) int, may func(*blob) bool) (rows []*blob) {
	for _, id := range ids {
		if x := db.byID[id]; x != nil && x.Claim.Fence == 0 && may(x) {
			rows = append(rows, x)
		}
	}
	slices.SortFunc(rows, order)
	return slices.Compact(rows)
}

// reached reports whether a row comes after the mark.
func reached(m ledger.DueMark, due lethe.Time, size int64, bucket lethe.ID, name string) bool {
	return cmp.Or(cmp.Compare(due, m.Due), cmp.Compare(size, m.Size), compareIDs(bucket, m.Bucket), strings.Compare(name, m.Name)) > 0
}

// DueObjects pages through the objects that Expire would remove by an instant.
func (db *DB) DueObjects(ctx context.Context, q ledger.DueQuery) (out ledger.DuePage, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.mu.Unlock()
	q.By = cmp.Or(q.By, db.now)
	if q.All {
		if q.Rules, err = q.Revision(db.rulesRevision); err != nil {
			return out, err
		}
	}
	defer func() { out.Unapplied, out.Rules = q.Unapplied, q.Rules }()
	if q.All && q.Unapplied == nil {
		q.Unapplied = []lethe.ID{}
		for _, b := range db.buckets.rows {
			if b.reapply != nil && q.Covers(b.ID) {
				q.Unapplied = append(q.Unapplied, b.ID)
			}
		}
	}
	switch q.After.Part {
	case ledger.DueUnapplied:
		return db.dueUnapplied(q), nil
	case ledger.DueDeferred:
		rows := db.deferredRows(func(p *deferred) bool {
			o := p.bucket.byKey[p.key]
			return p.entry == "" && o != nil && o.deferred && o.DueAt() != 0 && q.Covers(p.bucket.ID) &&
				cmp.Or(compareIDs(p.bucket.ID, q.After.Bucket), strings.Compare(p.key, q.After.Name)) > 0
		})
		for _, p := range page(rows, q, &out) {
			out.Next = ledger.DueMark{Part: ledger.DueDeferred, Bucket: p.bucket.ID, Name: p.key}
			db.addDue(p.bucket.byKey[p.key], q, &out)
		}
	default:
		rows := db.due.between(
			func(o *object) bool { return reached(q.After, o.DueAt(), o.Size, o.BucketID, o.Key) },
			func(o *object) bool { return o.DueAt() > q.By })
		if q.Bucket != "" {
			rows = slices.DeleteFunc(slices.Clone(rows), func(o *object) bool { return o.BucketID != q.Bucket })
		}
		for _, o := range page(rows, q, &out) {
			out.Next = ledger.DueMark{Due: o.DueAt(), Size: o.Size, Bucket: o.BucketID, Name: o.Key}
			db.addDue(o, q, &out)
		}
	}
	out.Through(ledger.DueUnapplied, q)
	return out, nil
}

// deferredRows returns the deferred rows that match.
func (db *DB) deferredRows(match func(*deferred) bool) []*deferred {
	return slices.DeleteFunc(slices.Clone(db.deferred.rows), func(p *deferred) bool { return !match(p) })
}

// page returns the rows of a page, and sets whether there are more.
func page[T any](rows []T, q ledger.DueQuery, out *ledger.DuePage) []T {
	out.More = q.Limit > 0 && len(rows) > q.Limit
	return first(rows, q.Limit)
}

// addDue adds an object by its stamp, unless the whole bucket is read later.
func (db *DB) addDue(o *object, q ledger.DueQuery, out *ledger.DuePage) {
	e, ends := ledger.Stamped{Due: o.DueAt(), TTL: o.TTLAt, Idle: o.IdleAt, ReadsLeft: o.ReadsLeft}.Ends(db.now, o.bucket.rules.InForce(o.RuleNumber))
	if ends && e.At <= q.By && !slices.Contains(q.Unapplied, o.BucketID) {
		out.Rows = append(out.Rows, db.dueObject(o, e))
	}
}

func (db *DB) dueObject(o *object, e ledger.Ending) ledger.Due {
	d := ledger.Due{
		Named: ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID}, BucketName: o.bucket.Name, Size: o.Size, Ending: e,
		Held: o.bucket.held(o.Key) != nil,
	}
	db.fate(&d, o.content)
	return d
}

// dueUnapplied pages through the objects of buckets whose rules are being reapplied.
func (db *DB) dueUnapplied(q ledger.DueQuery) (out ledger.DuePage) {
	pending := slices.DeleteFunc(slices.Clone(db.buckets.rows), func(b *bucket) bool { return !slices.Contains(q.Unapplied, b.ID) || b.ID < q.After.Bucket })
	if len(pending) == 0 {
		return out
	}
	b := pending[0]
	rows := b.objects.from(func(o *object) bool { return b.ID != q.After.Bucket || o.Key > q.After.Name })
	out.Next = ledger.DueMark{Part: ledger.DueUnapplied, Bucket: b.ID}
	for _, o := range first(rows, q.Limit) {
		out.Next.Name = o.Key
		if e := o.EndsAt(db.now, b.rules); e.At != 0 && e.At <= q.By {
			out.Rows = append(out.Rows, db.dueObject(o, e))
		}
	}
	if out.More = len(rows) > 0 && q.Limit > 0 && len(rows) >= q.Limit; !out.More && len(pending) > 1 {
		out.More, out.Next = true, ledger.DueMark{Part: ledger.DueUnapplied, Bucket: pending[1].ID}
	}
	return out
}

// fate adds what goes with the last reference to a content.
func (db *DB) fate(d *ledger.Due, c *content) {
	if c == nil {
		return
	}
	d.Content, d.Refs = c.ID, c.Refs
	if c.Inline {
		d.BlobBytes = c.Size
	}
	for _, b := range db.rowsOf(c) {
		if b.State == lethe.Live {
			d.Blobs++
			d.BlobBytes += b.Size
		}
	}
}

// DueTrash pages through the trash entries that Purge would remove by an instant.
func (db *DB) DueTrash(ctx context.Context, q ledger.DueQuery) (out ledger.DuePage, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.mu.Unlock()
	q.By = cmp.Or(q.By, db.now)
	if q.After.Part == ledger.DueDeferred {
		rows := db.deferredRows(func(p *deferred) bool {
			e := db.entry(p.entry)
			return p.entry != "" && e != nil && e.PurgeAt == lethe.Forever &&
				cmp.Or(compareIDs(p.bucket.ID, q.After.Bucket), strings.Compare(p.key, q.After.Key), compareIDs(p.entry, lethe.ID(q.After.Name))) > 0
		})
		for _, p := range page(rows, q, &out) {
			out.Next = ledger.DueMark{Part: ledger.DueDeferred, Bucket: p.bucket.ID, Key: p.key, Name: string(p.entry)}
			if p.due <= q.By {
				out.Rows = append(out.Rows, db.dueEntry(db.entry(p.entry), p.due))
			}
		}
	} else {
		rows := db.purge.between(
			func(e *entry) bool { return reached(q.After, e.PurgeAt, e.Object.Size, "", string(e.ID)) },
			func(e *entry) bool { return e.PurgeAt > q.By })
		for _, e := range page(rows, q, &out) {
			out.Next = ledger.DueMark{Due: e.PurgeAt, Size: e.Object.Size, Name: string(e.ID)}
			out.Rows = append(out.Rows, db.dueEntry(e, e.PurgeAt))
		}
	}
	out.Through(ledger.DueDeferred, q)
	return out, nil
}

func (db *DB) dueEntry(e *entry, at lethe.Time) ledger.Due {
	d := ledger.Due{
		Named: ledger.Named{Key: string(e.ID), ID: e.ID}, BucketName: e.Object.Bucket, ObjectKey: e.Object.Key, Size: e.Object.Size,
		Ending: ledger.Ending{At: at, By: ledger.EndsByUndo},
	}
	if b := db.named(e.Object.Bucket); b != nil {
		d.Held = b.held(e.Object.Key) != nil
	}
	db.fate(&d, e.content)
	return d
}

// DueBlobs pages through the due condemned blobs of a backend, or the intents without a
// heartbeat for MinAge.
func (db *DB) DueBlobs(ctx context.Context, q ledger.DueQuery) (out []ledger.Blob, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	if q.State == lethe.Pending {
		return db.silentIntents(q), nil
	}
	b := db.backend(q.Backend)
	if b == nil {
		return nil, nil
	}
	rows := b.due.between(
		func(b *blob) bool { return reached(q.After, b.DueAt, b.Size, "", string(b.ID)) },
		func(b *blob) bool { return b.DueAt > db.now })
	for _, b := range first(rows, q.Limit) {
		out = append(out, b.Blob)
	}
	return out, nil
}

func (db *DB) silentIntents(q ledger.DueQuery) (out []ledger.Blob) {
	rows := db.pending.between(
		func(b *blob) bool { return reached(q.After, b.BeatAt, b.Size, "", string(b.ID)) },
		func(b *blob) bool { return b.BeatAt > db.now.Add(-q.MinAge) })
	for _, b := range rows {
		if q.Backend != "" && b.Backend != q.Backend {
			continue
		}
		if out = append(out, b.Blob); len(out) == q.Limit {
			break
		}
	}
	return out
}

// ObjectsNamed returns the current rows under the keys of named objects.
func (db *DB) ObjectsNamed(ctx context.Context, names []ledger.Named) (out []ledger.Due, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	for _, n := range names {
		o := db.under(n)
		if o == nil {
			continue
		}
		d := ledger.Due{Named: ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID}, BucketName: o.bucket.Name, Size: o.Size, Ending: ledger.Ending{At: o.indexed()}}
		db.fate(&d, o.content)
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b ledger.Due) int {
		return cmp.Or(compareIDs(a.Bucket, b.Bucket), strings.Compare(a.Key, b.Key))
	})
	return out, nil
}

// indexed returns the object's time in the due index, 0 if it is not there.
func (o *object) indexed() lethe.Time {
	if o.deferred {
		return 0
	}
	return o.DueAt()
}
