package memledger

import (
	"cmp"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// set is the only place where a blob's row changes: with it its indexes, its counters, and
// OnTransition. The backend stays.
func (db *DB) set(b *blob, next ledger.Blob) {
	from := b.State
	db.unindex(b)
	b.Blob = next
	db.index(b)
	if from != next.State && db.OnTransition != nil {
		db.OnTransition(b.ID, from, next.State)
	}
}

// insert makes a new row.
func (db *DB) insert(b *blob) {
	db.byID[b.ID] = b
	db.blobs.put(b)
	db.index(b)
	if db.OnTransition != nil {
		db.OnTransition(b.ID, 0, b.State)
	}
}

// remove deletes a row.
func (db *DB) remove(b *blob) {
	db.unindex(b)
	db.blobs.drop(b)
	delete(db.byID, b.ID)
	if db.OnTransition != nil {
		db.OnTransition(b.ID, b.State, 0)
	}
}

func (db *DB) index(b *blob) {
	t := &b.backend.totals[b.State]
	t.Blobs++
	t.Bytes += b.Size
	if q := db.queue(b); q != nil {
		q.put(b)
	}
	if b.ContentID != "" {
		db.blobsOf(b.ContentID).put(b)
	}
	if u := db.intentOf(b); u != nil {
		u.intents.put(b)
	}
}

func (db *DB) unindex(b *blob) {
	t := &b.backend.totals[b.State]
	t.Blobs--
	t.Bytes -= b.Size
	if q := db.queue(b); q != nil {
		q.drop(b)
	}
	if b.ContentID != "" {
		q := db.byContent[b.ContentID]
		if q.drop(b); len(q.rows) == 0 {
			delete(db.byContent, b.ContentID)
		}
	}
	if u := db.intentOf(b); u != nil {
		u.intents.drop(b)
	}
}

// queue returns the one queue that a blob is in; nil for an unclaimed live one.
func (db *DB) queue(b *blob) *table[*blob] {
	switch {
	case b.Claim.Fence != 0:
		return &db.claimed
	case b.State == lethe.Pending:
		return &db.pending
	case b.State == lethe.Condemned:
		return &b.backend.due
	case b.State == lethe.Dead:
		return &db.dead
	}
	return nil
}

func (db *DB) blobsOf(content lethe.ID) *table[*blob] {
	q := db.byContent[content]
	if q == nil {
		q = &table[*blob]{order: blobsBySegment}
		db.byContent[content] = q
	}
	return q
}

// intentOf returns the open upload whose part a pending blob becomes.
func (db *DB) intentOf(b *blob) *upload {
	if b.State != lethe.Pending || b.UploadID == "" {
		return nil
	}
	return db.uploads[b.UploadID]
}

// death is why and when a blob was condemned.
type death struct {
	reason lethe.Reason
	at     lethe.Time // when its last reference went
	bucket lethe.ID   // of that reference; empty: not known
	late   bool       // an upload under its name may still land
	silent bool       // its writer may still be at work
	moved  bool       // its bytes lie in the ledger now
}

// after orders the ends within one transaction.
func (d death) after(o death) bool {
	return cmp.Or(cmp.Compare(d.at, o.at), cmp.Compare(d.reason, o.reason), cmp.Compare(d.bucket, o.bucket)) > 0
}

// condemn moves a pending or live blob to the queue. A live blob waits for a read grace
// (docs/protocol.md, rule 18) unless it is a duplicate; one whose writer may be at work
// waits for the late window.
func (db *DB) condemn(b *blob, d death) {
	next := b.Blob
	next.State, next.Reason, next.DiedAt = lethe.Condemned, d.reason, d.at
	next.Claim = ledger.Claim{}
	next.DueAt = db.now
	if b.State == lethe.Live && d.reason != lethe.ReasonDuplicate {
		next.DueAt = db.now.Add(db.opts.ReadGrace)
		if d.moved {
			next.DueAt = db.now.Add(db.opts.MovedGrace)
		}
	}
	if d.late || d.silent {
		next.LateUntil = max(next.LateUntil, db.now.Add(db.opts.LateWindow))
	}
	if d.silent {
		next.DueAt = next.LateUntil
	}
	db.forgetPromotion(b.ID)
	db.set(b, next)
	b.bucket = d.bucket
}

// room returns an error unless the backend can take n more bytes.
func (b *backend) room(n int64) error {
	if free, limited := b.free(); limited && n > free {
		return fmt.Errorf("memledger: %d bytes on backend %s with %d free: %w", n, b.ID, free, lethe.ErrNoRoom)
	}
	return nil
}
