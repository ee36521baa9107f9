package memledger

import (
	"context"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

// Evict ends up to a batch of a bucket's objects, as sqlledger's does. It also skips held objects
// until a hold is released.
func (db *DB) Evict(ctx context.Context, r ledger.EvictRequest) (out ledger.Evicted, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.leave()
	b, err := db.find(r.Bucket)
	if err != nil {
		return out, err
	}
	out.Next = r.After
	excess := b.Excess(r)
	if excess == (ledger.Room{}) {
		out.Room = b.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
		return out, nil
	}
	if slices.ContainsFunc(db.backends.rows, func(b *backend) bool { return b.HeldFor == ledger.HeldForLedger }) {
		return out, ledger.ErrUnpaired
	}
	if b.Evict.MinAge > 0 {
		if err := db.trustClock(); err != nil {
			return out, err
		}
	}
	db.evictFrom(b, r, excess, &out)
	return out, nil
}

func (db *DB) evictFrom(b *bucket, r ledger.EvictRequest, excess ledger.Room, out *ledger.Evicted) {
	kept, start := ledger.UseMark{}, r.After
	if b.Holds > 0 && r.Batch.Only == nil {
		kept = b.kept
	}
	if kept.Compare(start) > 0 {
		r.After, out.KeptBefore = kept, true
	}
	found := b.inOrder(db.now, r)
	if r.Batch.Only == nil {
		found = first(found, r.Batch.Limit)
	}
	if len(found) == 0 {
		return
	}
	free, held := b.sortOut(found)
	going, enough := upTo(free, excess, b.MayEvict(r))
	if first := r.Room != (ledger.Room{}) && start == (ledger.UseMark{}); first && !enough && !b.canMakeRoom(db.now, r, found, out) {
		return
	}
	n := db.evict(b, r, going, out)
	out.More = out.More && (r.Batch.Only == nil && !enough || n < len(going))
	if n == len(going) {
		if out.Held, out.Next = len(held), markOf(found[len(found)-1]); enough {
			out.Next = markOf(going[len(going)-1])
		}
		if r.Room == (ledger.Room{}) && r.Batch.Only == nil && start.Compare(kept) <= 0 {
			b.keep(db.now, found, held)
		}
	}
	out.Room = b.CheckQuota(r.Room.Objects, r.Room.Bytes) == nil
}

func byUse(a, b *object) int { return markOf(a).Compare(markOf(b)) }

func markOf(o *object) ledger.UseMark { return ledger.UseMark{Used: o.UsedAt, Key: o.Key} }

// sortOut tells the objects that no hold keeps from the others.
func (b *bucket) sortOut(found []*object) (free, kept []*object) {
	for _, o := range found {
		if b.held(o.Key) != nil {
			kept = append(kept, o)
		} else {
			free = append(free, o)
		}
	}
	return free, kept
}

// upTo returns the first objects that are enough, or all if they are not, and most of them at most.
func upTo(list []*object, excess ledger.Room, most int64) (first []*object, enough bool) {
	for i, o := range list {
		if excess = excess.Less(o.Size); excess == (ledger.Room{}) || int64(i+1) == most {
			return list[:i+1], true
		}
	}
	return list, false
}

// canMakeRoom reports whether what may go would make the room for a write, as far as it looks.
func (b *bucket) canMakeRoom(now lethe.Time, r ledger.EvictRequest, page []*object, out *ledger.Evicted) bool {
	lacks, held := b.Lacks(r.Room), 0
	for seen := 0; len(page) > 0; {
		free, kept := b.sortOut(page)
		for _, o := range free {
			lacks = lacks.Less(o.Size)
		}
		held, seen = held+len(kept), seen+len(page)
		if lacks == (ledger.Room{}) || seen >= ledger.EvictAhead {
			return true
		}
		r.After = markOf(page[len(page)-1])
		page = first(b.inOrder(now, r), 1000)
	}
	out.Held = held
	return false
}

// keep has later evictions pass over the first objects that were found, as far as a hold keeps them.
func (b *bucket) keep(now lethe.Time, found, held []*object) {
	if b.Holds == 0 || b.reapply != nil {
		return
	}
	for i, o := range held {
		if o != found[i] || o.UsedAt >= now.Add(-ledger.KeptAge) {
			return
		}
		b.kept = markOf(o)
	}
}

// inOrder returns the objects that a request may end, the one used longest ago first; none while
// others may belong before those that have a place. Ahead of need the one used last stays.
func (b *bucket) inOrder(now lethe.Time, r ledger.EvictRequest) (out []*object) {
	if b.orders && r.Batch.Only == nil {
		return nil
	}
	before := b.Evict.Before(now)
	for _, o := range b.objects.rows {
		may := slices.Contains(r.Batch.Only, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
		if r.Batch.Only == nil {
			may = o.Key != r.Spare && o.Key != r.SpareToo && markOf(o).Compare(r.After) > 0
		}
		if may && o.UsedAt != 0 && o.UsedAt < before {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, byUse)
	if n := len(out); n > 0 && r.Room == (ledger.Room{}) && out[n-1] == slices.MaxFunc(b.objects.rows, byUse) {
		return out[:n-1]
	}
	return out
}

// evict removes the objects that fit into the batch, and that the limit lets the engine end, and
// returns how many did. More reports that no limit stopped any.
func (db *DB) evict(b *bucket, r ledger.EvictRequest, going []*object, out *ledger.Evicted) int {
	fits := 0
	for d := (draft{}); fits < len(going) && db.fits(&d, r.Batch, db.evicting(going[fits])); fits++ {
	}
	may := fits
	if r.Room == (ledger.Room{}) && r.Batch.Only == nil {
		n, tripped := db.spend(limitKey{ledger.LimitTTL, string(b.ID)}, r.Batch.Limits, int64(fits))
		if may = int(n); tripped != nil {
			out.Tripped = append(out.Tripped, *tripped)
		}
	}
	var d draft
	for _, o := range going[:may] {
		row := db.evicting(o)
		db.fits(&d, r.Batch, row)
		out.CountItself(row.reason, o.Size)
		if r.Batch.Only != nil {
			out.Taken = append(out.Taken, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
		}
		db.supersede(o.bucket, o.Key)
		db.lost(o.bucket.called(), o.Object, receipt.Receipt{Reason: row.reason, Due: receipt.Instant(db.now)})
		db.happened(o.bucket, notification.Expired, o.Object, row.reason)
		db.take(o)
	}
	db.reclaim(&d, &out.Reclaimed)
	out.More = may == fits
	return may
}

// evicting is an object that is evicted. One whose own end has come goes for that reason.
func (db *DB) evicting(o *object) dying {
	why := lethe.ReasonEvicted
	if o.EndsItself(db.now) {
		why = o.EndReason(db.now)
	}
	return dying{o.content, o.Size, db.now, why, o.BucketID}
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

// NextEvicted pages through what Evict would take of a bucket ahead of need, in its order.
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
		if markOf(o).Compare(ledger.UseMark{Used: q.After.Due, Key: q.After.Name}) > 0 {
			out = append(out, db.dueObject(o, ledger.Ending{At: o.UsedAt, By: ledger.EndsByRoom}))
		}
	}
	return first(out, q.Limit), nil
}
