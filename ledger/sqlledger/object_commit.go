package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/notification"
)

var (
	selectObject = register(`SELECT ` + objectColumns + ` FROM objects WHERE bucket_id = ?1 AND key = ?2`)
	// underKey is openContent, and whether there is an object and a promotion under a key: most
	// are new, and one look costs SQLite less than to remove nothing twice.
	underKey = registerFor(sqldb.SQLiteName, `SELECT c.id, c.body_no, EXISTS (SELECT 1 FROM objects WHERE bucket_id = ?5 AND key = ?6),
			EXISTS (SELECT 1 FROM promotions WHERE bucket_id = ?5 AND key = ?6)
		FROM (SELECT 1) AS one LEFT JOIN digests d ON d.prefix = substr(?2, 1, 16) AND d.domain = ?1
		LEFT JOIN contents c ON c.id = d.content_id
			AND c.domain = ?1 AND c.digest = ?2 AND c.size = ?3 AND c.kind = ?4 AND c.closed = 0`)
)

// Commit makes an object (docs/protocol.md, rule 2): ErrInvalidKey, ErrNoSuchBucket,
// ErrPreconditionFailed, ErrReaped, ErrQuotaExceeded, ErrContentGone, ErrNoSuchKey (Source),
// ErrInvalidTTL, ErrInvalidReads. An operation that is recorded already is not applied again; Commit returns
// the object that it made.
func (db *DB) Commit(ctx context.Context, c ledger.Commit) (out ledger.Committed, err error) {
	err = db.writeAsking(ctx, "commit "+c.Object.Bucket+"/"+c.Object.Key, func(t *tx) error {
		out, err = t.commit(c, 0)
		return err
	})
	return db.replayed(ctx, c, out, err)
}

// commit makes an object of uploaded blobs with the fence: 0, or that of the reaper that
// finishes the write.
func (t *tx) commit(c ledger.Commit, fence int64) (ledger.Committed, error) {
	if c.By != (lethe.Caller{}) {
		t.By = c.By
	}
	if err := cmp.Or(ledger.CheckKey(c.Object.Key), c.CheckBlocks(), c.CheckInline(), ledger.CheckReads(c.Object.ReadsLeft)); err != nil {
		return ledger.Committed{}, err
	}
	b, rules, err := t.lockKey(c.Object.Bucket, c.Object.Key)
	if err != nil {
		return ledger.Committed{}, err
	}
	if err := t.record(c.Op, c.What, c.Op); err != nil {
		return ledger.Committed{}, err
	}
	w, err := t.takeKey(c, b, rules)
	if err == nil && len(c.Blobs) == 0 {
		// Blobs whose bytes are stored may be committed.
		err = t.NeedsRoom()
	}
	if err != nil {
		return ledger.Committed{}, err
	}
	if err := w.supersede(fence); err != nil {
		return ledger.Committed{}, err
	}
	if err := w.refer(fence); err != nil {
		return ledger.Committed{}, err
	}
	return w.put()
}

// errRecorded is returned for an operation that is recorded already.
var errRecorded = fmt.Errorf("the operation was recorded before: %w", lethe.ErrUnavailable)

// replayed returns the result of a commit that is recorded already, in place of the error that
// may come from that.
func (db *DB) replayed(ctx context.Context, c ledger.Commit, out ledger.Committed, err error) (ledger.Committed, error) {
	if c.Op == "" || !errors.Is(err, errRecorded) && !errors.Is(err, lethe.ErrNoSuchBucket) {
		return out, err
	}
	found := false
	lookUp := db.write(ctx, "look up operation "+string(c.Op), func(t *tx) (err error) {
		out, found, err = t.replay(c)
		return err
	})
	if lookUp == nil && found {
		err = nil
	}
	return out, cmp.Or(lookUp, err)
}

// replay returns the result of a commit that is recorded already: the object if it still
// exists, else what is known of it.
func (t *tx) replay(c ledger.Commit) (ledger.Committed, bool, error) {
	o := c.Object
	if b, rules, err := t.ruledBucket(o.Bucket); err == nil {
		have, err := t.object(b, o.Key)
		if err == nil && have != nil && have.ID == c.Op {
			have.NameRule(rules)
			return ledger.Committed{Object: *have}, true, nil
		}
		if err != nil {
			return ledger.Committed{}, false, err
		}
		o.BucketID = b.ID
	}
	out, found, err := t.outcome(c.Op)
	o.ID, o.ModifiedAt = c.Op, out.At
	return ledger.Committed{Object: o}, found, err
}

// object returns the row under a key, expired or not; nil if there is none.
func (t *tx) object(b ledger.Bucket, key string) (*ledger.Object, error) {
	return t.oneObject(b, selectObject, b.ID, key)
}

func (t *tx) oneObject(b ledger.Bucket, query string, args ...any) (*ledger.Object, error) {
	o, err := scanObject(t.Row(query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, t.Failed(err)
	}
	o.Bucket = b.Name
	return &o, nil
}

// write is a commit in progress: its key is locked, and old is the row that it replaces.
type write struct {
	t      *tx
	c      ledger.Commit
	bucket ledger.Bucket
	rules  lifecycle.Rules
	old    *ledger.Object // the row under the key, expired or not
	end    lethe.Time
	idle   time.Duration
	refs   refs
	under  underneath

	content   lethe.ID
	duplicate bool
}

// underneath is what a commit finds before it changes anything.
type underneath struct {
	// object and promotions: there may be some under the key.
	object, promotions bool
	open               known         // takes references to the content
	asked              sqldb.Scanner // the answer of openContent, in place of open; nil: that is known
}

// look asks what is under the key. PostgreSQL is asked for the content only, with the next
// question.
func (w *write) look() (err error) {
	t, k, u := w.t, w.key(), &w.under
	if t.Alone() {
		var id sql.Null[lethe.ID]
		var body sql.NullInt64
		err = t.Row(underKey, k.Domain, k.Digest, k.Size, k.Kind, w.bucket.ID, w.c.Object.Key).Scan(&id, &body, &u.object, &u.promotions)
		u.open = known{id: id.V, body: body.Int64}
		return t.Failed(err)
	}
	u.object, u.promotions = true, true
	if w.c.Source == nil {
		u.asked = t.Ask(openContent, k.Domain, k.Digest, k.Size, k.Kind)
	}
	return nil
}

// takeKey removes the row under the locked key of a commit, if the precondition holds for it.
func (t *tx) takeKey(c ledger.Commit, b ledger.Bucket, rules lifecycle.Rules) (w *write, err error) {
	if err := ledger.CheckBucketID(c.Object.Bucket, b.ID, c.Into); err != nil {
		return nil, err
	}
	w = &write{t: t, c: c, bucket: b, rules: rules, refs: refs{}}
	if err = w.look(); err == nil && w.under.object {
		w.old, err = t.oneObject(b, takeObject, b.ID, c.Object.Key)
	}
	if err != nil {
		return nil, err
	}
	if t.sentOp != nil && t.sentOp.Rows == 0 {
		return nil, errRecorded
	}
	if err := c.If.Holds(w.seen()); err != nil {
		return nil, err
	}
	if w.old != nil {
		if err := t.refuseHeld(b, w.old.Key); err != nil {
			return nil, err
		}
	}
	w.end, err = b.EndOf(t.Now, c.Wish(), b.DefaultTTL)
	if err == nil {
		w.idle, err = b.EndsIdle(c.Object.IdleFor, b.DefaultIdle)
	}
	return w, err
}

// seen returns the object that clients saw under the key.
func (w *write) seen() *ledger.Object {
	if w.old.VisibleAt(w.t.Now) {
		return w.old
	}
	return nil
}

// refer references the content of the object, an existing one or a new one.
func (w *write) refer(fence int64) error {
	switch {
	case len(w.c.Blobs) > 0:
		return w.referUploaded(fence)
	case w.c.Inline.Inline():
		return w.referInline()
	case w.c.Source != nil:
		return w.referSource()
	case w.c.Object.Size == 0:
		return nil
	}
	known, err := w.openContent()
	if err != nil {
		return err
	}
	if !known.trusted {
		return fmt.Errorf("content %s of %d bytes: %w", w.c.Content.Digest, w.c.Content.Size, lethe.ErrContentGone)
	}
	w.gain(known.id)
	return nil
}

// key returns the identity of the content; its domain is the bucket's.
func (w *write) key() ledger.ContentKey {
	k := w.c.Content
	k.Domain = w.bucket.Domain
	return k
}

func (w *write) gain(content lethe.ID) {
	w.content = content
	w.refs.gain(content)
}

// referUploaded references the uploaded content. It makes a new content of the blobs, or
// adds them to a known one as one more copy or in place of an older one (docs/protocol.md,
// rules 17 and 20). If the known content is trusted, the blobs are duplicates.
func (w *write) referUploaded(fence int64) error {
	known, err := w.openContent()
	switch {
	case err != nil:
		return err
	case known.id == "":
		if w.content, err = w.t.createContent(w.key(), insertContent); err != nil {
			return err
		}
		w.t.replicate(w.content)
		return w.t.makeLive(w.c.Blobs, place{content: w.content, fence: fence})
	case known.trusted:
		w.duplicate = true
		if err := w.t.condemnDuplicates(w.c.Blobs, fence); err != nil {
			return err
		}
		w.gain(known.id)
		return nil
	}
	replica, err := w.t.replica(known.id)
	if err != nil {
		return err
	}
	if err := w.t.makeLive(w.c.Blobs, place{known.id, replica, fence}); err != nil {
		return err
	}
	w.gain(known.id)
	if known.body != 0 {
		return w.t.leaveLedger(known, w.c.Content.Size)
	}
	return w.takeOver(known.id, replica, 0)
}

// put inserts the object under its key and applies what follows from that.
func (w *write) put() (ledger.Committed, error) {
	t := w.t
	out := ledger.Committed{Object: w.c.Object, Replaced: w.seen() != nil, Duplicate: w.duplicate}
	o := &out.Object
	o.ID, o.ModifiedAt, o.TTLAt, o.IdleFor = w.c.Op, t.Now, w.end, w.idle
	o.Use(w.bucket.BucketSettings, t.Now)
	o.BucketID, o.Bucket, o.ContentID = w.bucket.ID, w.bucket.Name, w.content
	o.Attrs.EndKey = w.bucket.GivenBy(w.c.Wish(), w.bucket.DefaultTTL)
	o.ApplyRules(w.rules)
	if err := w.quota(); err != nil {
		return out, err
	}
	if err := t.insertObject(o); err != nil {
		return out, err
	}
	if w.old != nil {
		if err := t.discard(w.bucket, *w.old, lethe.ReasonOverwrite, w.refs); err != nil {
			return out, err
		}
	}
	if err := t.happened(w.bucket, notification.Created(w.c.What), *o, ""); err != nil {
		return out, err
	}
	d, err := t.settleRefs(w.refs)
	if err != nil {
		return out, err
	}
	out.Dropped = d.contents
	return out, nil
}

// quota checks the bucket's quota for the object.
func (w *write) quota() error { return w.t.roomFor(w.bucket, w.c.Object.Size, w.old) }

// roomFor returns ErrQuotaExceeded if an object of size, in place of the row old, if any,
// would take the bucket beyond its quota.
func (t *tx) roomFor(b ledger.Bucket, size int64, old *ledger.Object) error {
	return b.Takes(size, old, func(n, bytes int64) error { return t.room(b, n, bytes) })
}
