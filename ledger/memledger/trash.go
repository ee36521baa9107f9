package memledger

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/receipt"
)

// bin moves an object that was removed from its key into the trash, with its reference.
func (db *DB) bin(o *object, reason lethe.Reason) {
	e := &entry{content: o.content, TrashEntry: ledger.TrashEntry{
		ID: db.newID(), Object: o.Object, DeletedAt: db.now, PurgeAt: o.KeptUntil(db.now.Add(o.bucket.Undo)), Reason: reason,
		Op: db.receipts.op, By: db.receipts.by,
	}}
	e.Object.Bucket, e.Object.BucketID, e.Object.RuleNumber = o.bucket.Name, "", 0
	e.Object.IdleAt, e.Object.UsedAt = 0, 0
	db.trash.put(e)
	db.purge.put(e)
}

// unbin removes an entry from the trash; the caller takes its reference.
func (db *DB) unbin(e *entry) {
	db.trash.drop(e)
	db.purge.drop(e)
}

func (db *DB) entry(id lethe.ID) *entry {
	rows := db.trash.from(func(e *entry) bool { return e.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

func (e *entry) out() ledger.TrashEntry {
	row := e.TrashEntry
	row.Object = row.Object.Clone()
	return row
}

// Trash lists entries by id.
func (db *DB) Trash(ctx context.Context, q ledger.TrashQuery) ([]ledger.TrashEntry, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	var out []ledger.TrashEntry
	for _, e := range db.trash.from(func(e *entry) bool { return e.ID > q.After }) {
		if q.Bucket != "" && e.Object.Bucket != q.Bucket || !strings.HasPrefix(e.Object.Key, q.Prefix) {
			continue
		}
		if out = append(out, e.out()); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// Restore puts an entry back under its key: ErrTrashNotFound, ErrNoSuchBucket,
// ErrPreconditionFailed, ErrHeld.
func (db *DB) Restore(ctx context.Context, op, id lethe.ID, overwrite bool) (ledger.Object, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Object{}, err
	}
	defer db.leave()
	e := db.entry(id)
	if e == nil {
		return ledger.Object{}, fmt.Errorf("memledger: restore %s: %w", id, lethe.ErrTrashNotFound)
	}
	b, err := db.find(e.Object.Bucket)
	if err != nil {
		return ledger.Object{}, err
	}
	if e.Object.TTLPassed(db.now) {
		return ledger.Object{}, fmt.Errorf("memledger: restore %s: its time to live ended at %s: %w", id, e.Object.TTLAt, lethe.ErrTrashNotFound)
	}
	domain := ""
	if e.content != nil {
		domain = e.content.Domain
	}
	if err := e.From(b.Bucket, domain); err != nil {
		return ledger.Object{}, fmt.Errorf("memledger: restore %s: %w", id, err)
	}
	if err := db.fresh(op); err != nil {
		return ledger.Object{}, err
	}
	old := b.byKey[e.Object.Key]
	if old.visible(db.now) && !overwrite {
		return ledger.Object{}, fmt.Errorf("memledger: restore %s: key %q is taken: %w", id, e.Object.Key, lethe.ErrPreconditionFailed)
	}
	if old != nil {
		if err := b.held(old.Key); err != nil {
			return ledger.Object{}, err
		}
	}
	if err := b.roomFor(e.Object.Size, old); err != nil {
		return ledger.Object{}, fmt.Errorf("memledger: restore %s: %w", id, err)
	}
	return db.restore(op, e, b, old), nil
}

func (db *DB) restore(op lethe.ID, e *entry, b *bucket, old *object) ledger.Object {
	db.receipts.op = op
	db.lost(b.Name, e.Object, receipt.Receipt{Reason: receipt.ReasonRestored, Trash: e.binned(op)})
	db.supersede(b, e.Object.Key)
	if old != nil {
		db.discard(old, lethe.ReasonOverwrite, &gone{})
	}
	db.unbin(e)
	o := &object{Object: e.Object, content: e.content}
	o.ID = op
	o.Use(b.BucketSettings, db.now)
	o.stamp(b.rules)
	db.add(b, o)
	db.record(op, "restore", o.ID)
	db.happened(b, notification.Put, o.Object, notification.ReasonRestored)
	return o.out()
}

// PurgeTrash makes entries due at once; it returns how many were
// not due before.
func (db *DB) PurgeTrash(ctx context.Context, ids []lethe.ID) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	n := 0
	for _, id := range ids {
		e := db.entry(id)
		if e == nil || e.PurgeAt <= db.now {
			continue
		}
		e.EndedBy = db.receipts.by
		db.postpone(e, db.now)
		n++
	}
	return n, nil
}

// Purge removes up to a batch of due trash entries.
func (db *DB) Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Reclaimed{}, err
	}
	defer db.leave()
	found := slices.Clone(db.trashNow(b))
	limited := b.Only == nil && b.Limit > 0 && len(found) > b.Limit
	if limited {
		found = found[:b.Limit+1]
	}
	if len(found) == 0 {
		return ledger.Reclaimed{LastDue: b.After}, nil
	}
	last := found[len(found)-1].PurgeAt
	rows, held := db.deferHeldEntries(found)
	var d draft
	for _, e := range rows {
		if !db.fits(&d, b, dying{e.content, e.Object.Size, e.PurgeAt, lethe.ReasonPurge, db.idOf(e.Object.Bucket)}) {
			break
		}
	}
	out := ledger.Reclaimed{LastDue: last, Deferred: held, More: limited}
	if len(rows) == 0 {
		return out, nil
	}
	if n := len(d.rows); n < len(rows) {
		out.More, out.LastDue = true, rows[n-1].PurgeAt
	}
	may, tripped := db.spend(limitKey{kind: ledger.LimitPurge}, b.Limits, int64(len(d.rows)))
	if tripped != nil {
		out.Tripped = append(out.Tripped, *tripped)
	}
	if may < int64(len(d.rows)) {
		out.More = false
	}
	db.purgeRows(b, rows[:may], &out)
	return out, nil
}

// purgeRows removes due trash entries.
func (db *DB) purgeRows(b ledger.Batch, rows []*entry, out *ledger.Reclaimed) {
	var d draft
	for _, e := range rows {
		db.fits(&d, ledger.Batch{}, dying{e.content, e.Object.Size, e.PurgeAt, lethe.ReasonPurge, db.idOf(e.Object.Bucket)})
		if b.Only != nil {
			out.Taken = append(out.Taken, ledger.Named{Key: string(e.ID), ID: e.ID})
		}
		db.unbin(e)
		db.lost(e.Object.Bucket, e.Object, receipt.Receipt{Reason: lethe.ReasonPurge, Due: receipt.Instant(e.PurgeAt), Trash: e.binned("")})
	}
	db.reclaim(&d, out)
}

// PurgeBacklog counts the trash.
func (db *DB) PurgeBacklog(ctx context.Context) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.leave()
	rows, held := apart(db.purge.rows, func(e *entry) (void, held bool) {
		b := db.named(e.Object.Bucket)
		held = b != nil && b.held(e.Object.Key) != nil
		return e.PurgeAt == lethe.Forever || held && e.PurgeAt > db.now, held
	})
	b := backlog(rows, db.now, func(e *entry) (lethe.Time, int64) { return e.PurgeAt, e.Object.Size })
	for _, e := range held {
		b.Held++
		b.HeldBytes += e.Object.Size
	}
	return b, nil
}
