package memledger

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

// Evict ends up to a batch of a bucket's objects, the one that was used longest ago first, until
// there is the room that is asked for and the low mark is reached: ErrNoSuchBucket. It does
// nothing where there is room already, or a bucket does not evict. What a hold keeps counts as
// used now.
func (db *DB) Evict(ctx context.Context, r ledger.EvictRequest) (out ledger.Evicted, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	out.Now = db.now
	b, err := db.find(r.Bucket)
	if err != nil {
		return out, err
	}
	excess := b.Excess(r)
	if excess == (ledger.Room{}) {
		out.Room = b.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
		return out, nil
	}
	found := b.inOrder(db.now, r)
	if len(found) == 0 {
		return out, nil
	}
	var going []*object
	enough := false
	for _, o := range found {
		if b.held(o.Key) != nil {
			o.UsedAt = db.now
			out.Held++
			continue
		}
		if enough {
			continue
		}
		going = append(going, o)
		excess = excess.Less(o.Size)
		enough = excess == (ledger.Room{})
	}
	n := db.evict(r.Batch, going, &out)
	out.More = r.Batch.Only == nil && !enough || n < len(going)
	out.Room = b.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
	return out, nil
}

// inOrder returns the objects that a request may end, the one used longest ago first.
func (b *bucket) inOrder(now lethe.Time, r ledger.EvictRequest) (out []*object) {
	before := b.Evict.Before(now)
	if r.Before != 0 {
		before = min(before, r.Before)
	}
	for _, o := range b.objects.rows {
		named := r.Batch.Only == nil || slices.Contains(r.Batch.Only, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
		if o.UsedAt != 0 && o.UsedAt < before && named && (r.Batch.Only != nil || o.Key != r.Spare && o.Key != r.SpareToo) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *object) int {
		return cmp.Or(cmp.Compare(a.UsedAt, b.UsedAt), strings.Compare(a.Key, b.Key))
	})
	if r.Batch.Only != nil {
		return out
	}
	return first(out, r.Batch.Limit)
}

// evict removes the objects that fit into the batch, and returns how many did.
func (db *DB) evict(b ledger.Batch, going []*object, out *ledger.Evicted) int {
	var d draft
	for _, o := range going {
		why := lethe.ReasonEvicted
		if o.EndsItself(db.now) {
			why = o.EndReason(db.now)
		}
		if !db.fits(&d, b, dying{o.content, o.Size, db.now, why, o.BucketID}) {
			break
		}
		out.CountItself(why, o.Size)
		if b.Only != nil {
			out.Taken = append(out.Taken, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
		}
		db.supersede(o.bucket, o.Key)
		db.lost(o.bucket.called(), o.Object, receipt.Receipt{Reason: why, Due: receipt.Instant(db.now)})
		db.happened(o.bucket, notification.Expired, o.Object, why)
		db.take(o)
	}
	db.reclaim(&d, &out.Reclaimed)
	return len(d.rows)
}

// EvictingBuckets lists up to limit buckets that evict, with their totals, by id after one.
func (db *DB) EvictingBuckets(ctx context.Context, after lethe.ID, limit int) (out []ledger.Bucket, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	for _, b := range db.buckets.rows {
		if b.Name != "" && b.Evict.On() && compareIDs(b.ID, after) > 0 {
			out = append(out, b.Bucket)
		}
	}
	slices.SortFunc(out, func(a, b ledger.Bucket) int { return compareIDs(a.ID, b.ID) })
	return first(out, limit), nil
}

// NextEvicted pages through what Evict would take of a bucket, in its order.
func (db *DB) NextEvicted(ctx context.Context, q ledger.EvictQuery) (out []ledger.Due, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	b, err := db.find(q.Bucket)
	if err != nil {
		return nil, err
	}
	for _, o := range b.inOrder(db.now, ledger.EvictRequest{}) {
		if cmp.Or(cmp.Compare(o.UsedAt, q.After.Due), strings.Compare(o.Key, q.After.Name)) > 0 {
			out = append(out, db.dueObject(o, ledger.Ending{At: o.UsedAt, By: ledger.EndsByRoom}))
		}
	}
	return first(out, q.Limit), nil
}
