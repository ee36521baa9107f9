package memledger

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
)

// write is a commit that was checked: it can no longer fail.
type write struct {
	*ledger.Commit
	bucket *bucket
	old    *object    // the row under the key, expired or not
	end    lethe.Time // TTLAt of the new object
	idle   time.Duration
	key    ledger.ContentKey
	up     []upped  // blobs to make live
	parts  bool     // they were stored as parts before
	refer  *content // the content to reference without bytes
}

// Commit makes an object in one transaction (docs/protocol.md, rule 2). For an operation
// recorded already it returns the object that it made.
func (db *DB) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Committed{}, err
	}
	defer db.leave()
	out, err := db.commit(&c, 0)
	if err != nil {
		return out, fmt.Errorf("memledger: commit %s/%s: %w", c.Object.Bucket, c.Object.Key, err)
	}
	return out, nil
}

// commit checks and applies a commit whose blobs carry the fence. An operation that is
// recorded is not applied again.
func (db *DB) commit(c *ledger.Commit, fence int64) (ledger.Committed, error) {
	if c.By != (lethe.Caller{}) {
		db.receipts.by = c.By
	}
	if err := cmp.Or(ledger.CheckKey(c.Object.Key), c.CheckBlocks(), c.CheckInline(), ledger.CheckReads(c.Object.ReadsLeft)); err != nil {
		return ledger.Committed{}, err
	}
	if done := db.ops[c.Op]; done != nil {
		return db.replay(c, done), nil
	}
	w, err := db.check(c)
	if err != nil {
		return ledger.Committed{}, err
	}
	if w.up, err = db.uploaded(c.Blobs, fence); err != nil {
		return ledger.Committed{}, err
	}
	if err := db.bytesOf(w); err != nil {
		return ledger.Committed{}, err
	}
	if err := db.arrives(w); err != nil {
		return ledger.Committed{}, err
	}
	if err := w.quota(); err != nil {
		return ledger.Committed{}, err
	}
	return db.apply(w), nil
}

// check returns a write if the object may be written.
func (db *DB) check(c *ledger.Commit) (*write, error) {
	b, err := db.find(c.Object.Bucket)
	if err == nil {
		err = b.meant(c.Into)
	}
	if err != nil {
		return nil, err
	}
	w := &write{Commit: c, bucket: b, old: b.byKey[c.Object.Key], key: c.Content}
	if err := holds(c.If, db.visible(b, c.Object.Key)); err != nil {
		return nil, err
	}
	if w.old != nil {
		if err := b.held(c.Object.Key); err != nil {
			return nil, err
		}
	}
	w.key.Domain = b.Domain
	w.end, err = b.EndOf(db.now, c.Wish(), b.DefaultTTL)
	if err == nil {
		w.idle, err = b.EndsIdle(c.Object.IdleFor, b.DefaultIdle)
	}
	return w, err
}

// replay returns the result of a commit that is recorded already: the object if it still
// exists, else what is known of it.
func (db *DB) replay(c *ledger.Commit, done *ledger.Outcome) ledger.Committed {
	o := c.Object.Clone()
	if b := db.named(o.Bucket); b != nil {
		if have := b.byKey[o.Key]; have != nil && have.ID == c.Op {
			return ledger.Committed{Object: have.out()}
		}
		o.BucketID = b.ID
	}
	o.ID, o.ModifiedAt = c.Op, done.At
	return ledger.Committed{Object: o}
}

// uploaded returns the pending rows of uploaded blobs: ErrReaped.
func (db *DB) uploaded(list []ledger.Uploaded, fence int64) ([]upped, error) {
	out := make([]upped, 0, len(list))
	for _, u := range list {
		b := db.byID[u.Blob]
		if b == nil || b.State != lethe.Pending || b.Claim.Fence != fence {
			return nil, fmt.Errorf("blob %s: %w", u.Blob, lethe.ErrReaped)
		}
		out = append(out, upped{u, b})
	}
	return out, nil
}

// arrives checks that there is room for uploaded bytes that were not reserved, if they stay:
// ErrNoRoom.
func (db *DB) arrives(w *write) error {
	if len(w.up) == 0 || db.openTrusted(w.key, w.Reach) != nil {
		return nil
	}
	for _, u := range w.up {
		if err := u.row.grows(u.Size); err != nil {
			return err
		}
	}
	return nil
}

// grows checks that a blob's backend has room beyond the blob's reservation.
func (b *blob) grows(size int64) error {
	if size <= b.Size {
		return nil
	}
	return b.backend.room(size - b.Size)
}

// bytesOf returns the content of a write without blobs.
func (db *DB) bytesOf(w *write) error {
	switch {
	case len(w.Blobs) > 0:
		return nil
	case w.Inline.Inline() && (db.open[w.key] == nil || db.trusted(db.open[w.key], w.Reach)):
		return nil
	case w.Source != nil:
		return db.source(w)
	case w.Object.Size == 0:
		return nil
	}
	w.refer = db.openTrusted(w.key, w.Reach)
	if w.refer == nil {
		return fmt.Errorf("content %s of %d bytes: %w", w.key.Digest, w.key.Size, lethe.ErrContentGone)
	}
	return nil
}

// source returns the content of the object to copy from.
func (db *DB) source(w *write) error {
	b, err := db.find(w.Source.Bucket)
	if err != nil {
		return err
	}
	o := db.visible(b, w.Source.Key)
	if o == nil || o.ID != w.Source.ID {
		return fmt.Errorf("version %s of source %s/%s: %w", w.Source.ID, w.Source.Bucket, w.Source.Key, lethe.ErrNoSuchKey)
	}
	c := o.content
	if c != nil {
		if err := db.referable(c, w.bucket.Domain); err != nil {
			return fmt.Errorf("content %s of source %s/%s: %w", c.ID, w.Source.Bucket, w.Source.Key, err)
		}
	}
	w.refer = c
	return nil
}

// referable returns an error if a content cannot be referenced without its bytes:
// ErrContentGone, and ErrUnverified if reading it may change that.
func (db *DB) referable(c *content, domain string) error {
	switch {
	case c.Closed || c.Domain != domain:
		return lethe.ErrContentGone
	case !db.trusted(c, nil):
		return db.opts.Unverified(db.liveCopies(c))
	}
	return nil
}

// quota checks the bucket's totals after the write; a write that does not grow them is not
// refused.
func (w *write) quota() error { return w.bucket.roomFor(w.Object.Size, w.old) }

// roomFor returns ErrQuotaExceeded for an object in place of old, which may be nil.
func (b *bucket) roomFor(size int64, old *object) error {
	var replaced *ledger.Object
	if old != nil {
		replaced = &old.Object
	}
	return b.Takes(size, replaced, b.CheckQuota)
}

// apply makes the object. It adds references before it removes others, so that a content
// written over itself stays.
func (db *DB) apply(w *write) ledger.Committed {
	out := ledger.Committed{Replaced: w.old.visible(db.now)}
	db.supersede(w.bucket, w.Object.Key)
	db.receipts.op = w.Op
	c := w.refer
	if c != nil {
		c.Refs++
	}
	switch {
	case len(w.up) > 0:
		c, out.Duplicate = db.refer(w)
	case w.Inline.Inline():
		c, out.Duplicate = db.referInline(w)
	}
	var g gone
	if w.old != nil {
		db.discard(w.old, lethe.ReasonOverwrite, &g)
	}
	db.close(c)
	o := &object{Object: w.Object.Clone(), content: c}
	o.ID, o.ModifiedAt, o.TTLAt, o.ContentID, o.IdleFor = w.Op, db.now, w.end, "", w.idle
	o.Use(w.bucket.BucketSettings, db.now)
	o.Attrs.EndKey = w.bucket.GivenBy(w.Wish(), w.bucket.DefaultTTL)
	if c != nil {
		o.ContentID = c.ID
	}
	o.stamp(w.bucket.rules)
	db.add(w.bucket, o)
	db.record(w.Op, w.What, o.ID)
	db.happened(w.bucket, notification.Created(w.What), o.Object, "")
	out.Object, out.Dropped = o.out(), g.sorted()
	return out
}
