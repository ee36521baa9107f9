package memledger

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

// add inserts an object row under a free key.
func (db *DB) add(b *bucket, o *object) {
	o.bucket, o.BucketID, o.Bucket, o.deferred = b, b.ID, "", false
	b.byKey[o.Key] = o
	b.objects.put(o)
	b.Objects++
	b.Bytes += o.Size
	if o.DueAt() != 0 {
		db.due.put(o)
	}
}

// take removes an object row; the caller releases its reference.
func (db *DB) take(o *object) {
	b := o.bucket
	if o.DueAt() != 0 {
		db.due.drop(o)
	}
	delete(b.byKey, o.Key)
	b.objects.drop(o)
	b.Objects--
	b.Bytes -= o.Size
}

// discard handles an object row that a client deleted or replaced: it goes to the trash if
// the bucket has an undo window and its reads are not counted. An object whose end has come
// is not the client's to delete and goes for good.
func (db *DB) discard(o *object, reason lethe.Reason, g *gone) {
	db.take(o)
	switch {
	case !o.visible(db.now):
		g.add(o.content, db.release(o.content, death{reason: o.EndReason(db.now), at: o.End(), bucket: o.BucketID}))
		db.lost(o.bucket.Name, o.Object, receipt.Receipt{Reason: o.EndReason(db.now), Due: receipt.Instant(o.End())})
		db.happened(o.bucket, notification.Expired, o.Object, o.EndReason(db.now))
	case o.bucket.Undo > 0 && !o.Counted():
		db.bin(o, reason)
	default:
		g.add(o.content, db.release(o.content, death{reason: reason, at: db.now, bucket: o.BucketID}))
		db.lost(o.bucket.Name, o.Object, receipt.Receipt{Reason: reason})
	}
}

// row returns the object in its stored form.
func (o *object) row() ledger.Object {
	row := o.Object.Clone()
	row.Bucket = o.bucket.Name
	return row
}

// out returns the object for callers, without an end by a rule that is no longer in force.
func (o *object) out() ledger.Object {
	row := o.row()
	row.NameRule(o.bucket.rules)
	return row
}

// holds checks a precondition against the object under a key, nil for none.
func holds(p ledger.Precondition, o *object) error {
	if o == nil {
		return p.Holds(nil)
	}
	return p.Holds(&o.Object)
}

// visible returns the object that readers see under a key, nil for none.
func (db *DB) visible(b *bucket, key string) *object {
	if o := b.byKey[key]; o.visible(db.now) {
		return o
	}
	return nil
}

// Resolve returns an object and where its bytes are: ErrNoSuchBucket, ErrNoSuchKey.
func (db *DB) Resolve(ctx context.Context, name, key string) (ledger.Resolved, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Resolved{}, err
	}
	defer db.leave()
	o, err := db.stat(name, key)
	if err != nil {
		return ledger.Resolved{}, err
	}
	segments, err := db.segments(o.content)
	if err != nil {
		return ledger.Resolved{}, err
	}
	res := ledger.Resolved{Object: o.read(), Segments: segments, Now: db.now, Evict: o.bucket.readAs()}
	if o.content != nil {
		res.Inline = o.content.body
	}
	return res, nil
}

// StatObject returns an object without its bytes and where they are: ErrNoSuchBucket,
// ErrNoSuchKey.
func (db *DB) StatObject(ctx context.Context, name, key string) (ledger.Resolved, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Resolved{}, err
	}
	defer db.leave()
	o, err := db.stat(name, key)
	if err != nil {
		return ledger.Resolved{}, err
	}
	return ledger.Resolved{Object: o.read(), Now: db.now, Evict: o.bucket.readAs()}, nil
}

// read returns an object that is read: UsedAt only where reads are noted.
func (o *object) read() ledger.Object {
	out := o.out()
	if o.IdleFor == 0 && o.bucket.Evict.Order == ledger.EvictByWrite {
		out.UsedAt = 0
	}
	return out
}

// readAs returns what reads depend on of how a bucket evicts.
func (b *bucket) readAs() ledger.Eviction {
	return ledger.Eviction{Order: b.Evict.Order, MinAge: b.Evict.MinAge}
}

// stat returns the object that readers see under a key: ErrNoSuchBucket, ErrNoSuchKey.
func (db *DB) stat(name, key string) (*object, error) {
	b, err := db.find(name)
	if err != nil {
		return nil, err
	}
	o := db.visible(b, key)
	if o == nil {
		return nil, fmt.Errorf("memledger: look up %s/%s: %w", name, key, lethe.ErrNoSuchKey)
	}
	return o, nil
}

// Delete deletes objects of one bucket: ErrNoSuchBucket. The item of a key reports an
// invalid key, a failed precondition, or ErrHeld.
func (db *DB) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	if err := d.Check(); err != nil {
		return ledger.Deletions{}, err
	}
	if err := db.enter(ctx); err != nil {
		return ledger.Deletions{}, err
	}
	defer db.leave()
	b, err := db.find(d.Bucket)
	if err == nil {
		err = cmp.Or(b.meant(d.Into), db.fresh(d.Op))
	}
	if err != nil {
		return ledger.Deletions{}, err
	}
	db.receipts.op = d.Op
	var g gone
	out := ledger.Deletions{Items: make([]ledger.Deleted, len(d.Items))}
	for i, item := range d.Items {
		out.Items[i] = db.delete(b, item, &g)
	}
	out.Dropped = g.sorted()
	db.record(d.Op, "delete", "")
	return out, nil
}

func (db *DB) delete(b *bucket, item ledger.DeleteItem, g *gone) ledger.Deleted {
	out := ledger.Deleted{Key: item.Key}
	if out.Err = ledger.CheckKey(item.Key); out.Err != nil {
		return out
	}
	o := db.visible(b, item.Key)
	if out.Err = holds(item.If, o); out.Err != nil {
		return out
	}
	if o != nil {
		if out.Err = b.held(item.Key); out.Err != nil {
			return out
		}
	}
	db.supersede(b, item.Key)
	if o != nil {
		out.Existed, out.ID = true, o.ID
		db.discard(o, lethe.ReasonDelete, g)
		db.happened(b, notification.Deleted, o.Object, lethe.ReasonDelete)
	} else if row := b.byKey[item.Key]; row != nil && row.IdleAt <= db.now {
		row.IdleFor = 0 // a note that arrives later does not bring it back
	}
	return out
}

// Update changes an object in place: ErrNoSuchBucket, ErrNoSuchKey,
// ErrPreconditionFailed, ErrInvalidTTL, ErrHeld.
func (db *DB) Update(ctx context.Context, u ledger.Update) (ledger.Object, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Object{}, err
	}
	defer db.leave()
	o, next, err := db.update(u)
	if err != nil {
		return ledger.Object{}, fmt.Errorf("memledger: update %s/%s: %w", u.Bucket, u.Key, err)
	}
	db.supersede(o.bucket, o.Key)
	db.take(o)
	o.Object = next.Clone()
	o.stamp(o.bucket.rules)
	db.add(o.bucket, o)
	db.record(u.Op, "update", o.ID)
	if u.Attrs != nil { // it was copied onto itself
		db.happened(o.bucket, notification.Copy, o.Object, "")
	}
	return o.out(), nil
}

// update checks an update, and returns its object and what becomes of it.
func (db *DB) update(u ledger.Update) (*object, ledger.Object, error) {
	b, err := db.find(u.Bucket)
	if err == nil {
		err = b.meant(u.Into)
	}
	if err != nil {
		return nil, ledger.Object{}, err
	}
	o, held := b.byKey[u.Key], b.held(u.Key)
	if o == nil {
		return nil, ledger.Object{}, lethe.ErrNoSuchKey
	}
	next := o.Object.Clone()
	if err = cmp.Or(u.Allowed(&next, held, db.now), db.fresh(u.Op)); err == nil {
		err = u.Apply(&next, b.Bucket, db.now)
	}
	if err == nil && u.Shortens(o.Object, next) {
		err = held
	}
	return o, next, err
}
