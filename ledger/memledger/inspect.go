package memledger

import (
	"iter"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// The accessors below are for checkers. They yield the rows themselves, in order and without
// copies. The rows must not be changed or kept, and the loop must not call the DB, whose
// lock is held.

// walk yields the rows of a table under the lock.
func walk[T, R any](db *DB, rows func() []T, row func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		db.mu.Lock()
		defer db.mu.Unlock()
		for _, r := range rows() {
			if !yield(row(r)) {
				return
			}
		}
	}
}

// EachBlob walks all blobs by id.
func (db *DB) EachBlob() iter.Seq[*ledger.Blob] {
	return walk(db, func() []*blob { return db.blobs.rows }, func(b *blob) *ledger.Blob { return &b.Blob })
}

// EachContent walks all contents by id.
func (db *DB) EachContent() iter.Seq[*ledger.Content] {
	return walk(db, func() []*content { return db.contents.rows }, func(c *content) *ledger.Content { return &c.Content })
}

// EachBody walks the bytes of all inline contents, by id of their content.
func (db *DB) EachBody() iter.Seq[ledger.ContentBody] {
	return func(yield func(ledger.ContentBody) bool) {
		db.mu.Lock()
		defer db.mu.Unlock()
		for _, c := range db.contents.rows {
			if c.Inline && !yield(ledger.ContentBody{Content: c.ID, Body: c.body}) {
				return
			}
		}
	}
}

// EachObject walks all object rows by bucket id and key, including expired ones.
// Object.Bucket is empty; use BucketID.
func (db *DB) EachObject() iter.Seq[*ledger.Object] {
	return walk(db, db.objectRows, func(o *object) *ledger.Object { return &o.Object })
}

func (db *DB) objectRows() []*object {
	var rows []*object
	for _, b := range db.buckets.rows {
		rows = append(rows, b.objects.rows...)
	}
	return rows
}

// EachTrash walks the trash by id.
func (db *DB) EachTrash() iter.Seq[*ledger.TrashEntry] {
	return walk(db, func() []*entry { return db.trash.rows }, func(e *entry) *ledger.TrashEntry { return &e.TrashEntry })
}

// EachUpload walks the open uploads by last touch, then id.
func (db *DB) EachUpload() iter.Seq[*ledger.Upload] {
	return walk(db, func() []*upload { return db.touched.rows }, func(u *upload) *ledger.Upload { return &u.Upload })
}

// EachPart walks the parts of all open uploads, in the order of EachUpload and
// by number.
func (db *DB) EachPart() iter.Seq[*ledger.Part] {
	return walk(db, func() (rows []*ledger.Part) {
		for _, u := range db.touched.rows {
			rows = append(rows, u.parts.rows...)
		}
		return rows
	}, func(p *ledger.Part) *ledger.Part { return p })
}

// EachTotal walks the counters of blobs by backend and state, zeros included.
func (db *DB) EachTotal() iter.Seq[ledger.Total] {
	return func(yield func(ledger.Total) bool) {
		db.mu.Lock()
		defer db.mu.Unlock()
		if !yield(db.inline) {
			return
		}
		for _, b := range db.backends.rows {
			for _, t := range b.totals[lethe.Pending:] {
				if !yield(t) {
					return
				}
			}
		}
	}
}

// EachBucket walks the buckets by id with their counters. Name is empty if the bucket was
// deleted and its objects are not reclaimed yet.
func (db *DB) EachBucket() iter.Seq[*ledger.Bucket] {
	return walk(db, func() []*bucket { return db.buckets.rows }, func(b *bucket) *ledger.Bucket { return &b.Bucket })
}

// EachLimit walks the counts of limits, and clocks in doubt, by kind and subject.
func (db *DB) EachLimit() iter.Seq[*ledger.LimitState] {
	return walk(db, func() []limitKey {
		if len(db.limits) == 0 {
			return nil
		}
		return slices.SortedFunc(maps.Keys(db.limits), compareLimitKeys)
	}, func(at limitKey) *ledger.LimitState { return db.limits[at] })
}

// Blob returns the row of a blob; ok is false if it is gone.
func (db *DB) Blob(id lethe.ID) (row ledger.Blob, ok bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if b := db.byID[id]; b != nil {
		return b.Blob, true
	}
	return ledger.Blob{}, false
}

// Object returns the row under a key, expired or not; ok is false if there is none.
func (db *DB) Object(bucket, key string) (row ledger.Object, ok bool) {
	db.mu.Lock()
	defer db.mu.Unlock()
	b := db.named(bucket)
	if b == nil || b.byKey[key] == nil {
		return ledger.Object{}, false
	}
	return b.byKey[key].row(), true
}

// Now returns the time of the last transaction.
func (db *DB) Now() lethe.Time {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.now
}
