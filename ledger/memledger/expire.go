package memledger

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// dying is a row that a batch removes, with the reference that it holds.
type dying struct {
	content *content
	size    int64
	due     lethe.Time
	reason  lethe.Reason
	bucket  lethe.ID
}

// draft collects what a batch will remove.
type draft struct {
	rows  []dying
	refs  map[*content]int64 // references that are lost
	ends  map[*content]death // of the last of them
	blobs int                // blobs that will be condemned
	more  bool               // a due row was left
}

// fits adds a row to the draft, unless the batch is full: by rows, or by blobs that the
// row's last reference would condemn. The first row always fits.
func (db *DB) fits(d *draft, b ledger.Batch, row dying) bool {
	if b.Limit > 0 && len(d.rows) >= b.Limit {
		d.more = true
		return false
	}
	cost := 0
	if row.content != nil && !row.content.Inline && d.refs[row.content]+1 == row.content.Refs {
		cost = db.alive(row.content)
	}
	if b.MaxBlobs > 0 && len(d.rows) > 0 && cost > 0 && d.blobs+cost > b.MaxBlobs {
		d.more = true
		return false
	}
	if row.content != nil {
		if d.refs == nil {
			d.refs, d.ends = map[*content]int64{}, map[*content]death{}
		}
		d.refs[row.content]++
		if end := (death{reason: row.reason, at: row.due, bucket: row.bucket}); end.after(d.ends[row.content]) {
			d.ends[row.content] = end
		}
	}
	d.rows = append(d.rows, row)
	d.blobs += cost
	return true
}

// reclaim releases the references of a draft, whose rows were removed. A content died when
// the last of them was due.
func (db *DB) reclaim(d *draft, out *ledger.Reclaimed) {
	out.Objects = len(d.rows)
	var g gone
	for _, row := range d.rows {
		out.Bytes += row.size
		g.add(row.content, db.release(row.content, d.ends[row.content]))
	}
	out.Blobs, out.BlobBytes, out.Dropped = g.blobs, g.bytes, g.sorted()
	out.Inline, out.InlineBytes = g.inline, g.inlineBytes
}

// Expire removes up to a batch of due objects. If only a rule no longer in force ends one,
// the rules are reapplied to it. What is held or beyond a limit is deferred.
func (db *DB) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Reclaimed{}, err
	}
	defer db.leave()
	rows, limited := db.dueNow(b)
	if len(rows) == 0 {
		return ledger.Reclaimed{LastDue: b.After}, nil
	}
	last := rows[len(rows)-1].DueAt()
	kept, stale := db.sift(rows)
	kept, held := db.deferHeld(kept)
	var d draft
	for _, o := range kept {
		if !db.fits(&d, b, o.dying(db.now)) {
			break
		}
	}
	taken := kept[:len(d.rows)]
	out := ledger.Reclaimed{LastDue: last, Reapplied: len(stale), Deferred: held}
	if len(taken) < len(kept) {
		out.LastDue = taken[len(taken)-1].DueAt()
	}
	db.expire(b, db.within(taken, b.Limits, &out), &out)
	again := db.reapplyRows(stale)
	if out.More = again || d.more || limited; again || len(b.Turns) > 0 {
		out.LastDue = b.After
	}
	return out, nil
}

// expire removes objects that are due.
func (db *DB) expire(b ledger.Batch, going []*object, out *ledger.Reclaimed) {
	var d draft
	out.Rules = endedByRules(going, db.now)
	for _, o := range going {
		db.fits(&d, ledger.Batch{}, o.dying(db.now))
		out.CountItself(o.reason(db.now), o.Size)
		if b.Only != nil {
			out.Taken = append(out.Taken, ledger.Named{Bucket: o.BucketID, Key: o.Key, ID: o.ID})
		}
		db.supersede(o.bucket, o.Key)
		db.lostByAge(o)
		db.happened(o.bucket, notification.Expired, o.Object, o.reason(db.now))
		db.take(o)
	}
	db.reclaim(&d, out)
}

// dying returns a due object in the form in which a batch removes it.
func (o *object) dying(now lethe.Time) dying {
	return dying{o.content, o.Size, o.DueAt(), o.reason(now), o.BucketID}
}

// ExpireBacklog counts the objects that have an end. A due one that is held counts as held,
// and one that only a rule ends that is not in force does not count.
func (db *DB) ExpireBacklog(ctx context.Context) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.leave()
	rows, held := apart(db.due.rows, func(o *object) (void, held bool) {
		held = o.bucket.held(o.Key) != nil
		if o.DueAt() > db.now {
			return held, false
		}
		return o.byRule(db.now) && o.endedBy(db.now) == nil, held
	})
	b := backlog(rows, db.now, func(o *object) (lethe.Time, int64) { return o.DueAt(), o.Size })
	for _, o := range held {
		b.Held++
		b.HeldBytes += o.Size
	}
	return b, nil
}
