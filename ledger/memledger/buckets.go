package memledger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CreateBucket creates a bucket: ErrBucketExists with the bucket that has the name,
// ErrTooManyBuckets.
func (db *DB) CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error) {
	if err := db.enter(ctx); err != nil {
		return b, err
	}
	defer db.mu.Unlock()
	if have := db.named(b.Name); have != nil {
		return have.Bucket, fmt.Errorf("memledger: create bucket %s: %w", b.Name, lethe.ErrBucketExists)
	}
	s, err := settings(b.BucketSettings)
	if err != nil {
		return b, err
	}
	b.BucketSettings = s
	if b.Most > 0 && db.owned(b.Owner) >= b.Most {
		return b, fmt.Errorf("memledger: create bucket %s: %w", b.Name, lethe.ErrTooManyBuckets)
	}
	if b.ID == "" {
		b.ID = db.newID()
	}
	if b.Domain == "" {
		b.Domain = b.Owner
	}
	b.CreatedAt, b.Objects, b.Bytes, b.Holds, b.Notify = db.now, 0, 0, 0, ""
	documents := make(map[string][]byte, len(b.Documents))
	for kind, body := range b.Documents {
		documents[kind] = append([]byte{}, body...)
	}
	b.Documents, b.Most = nil, 0
	row := &bucket{
		Bucket:    b,
		objects:   table[*object]{order: objectsByKey},
		byKey:     map[string]*object{},
		uploads:   table[*upload]{order: uploadsByKey},
		documents: documents,
	}
	db.buckets.put(row)
	db.names.put(row)
	return b, nil
}

// owned returns how many buckets an owner has.
func (db *DB) owned(owner string) (n int) {
	for _, b := range db.names.rows {
		if b.Owner == owner {
			n++
		}
	}
	return n
}

// Bucket returns a bucket by name: ErrNoSuchBucket.
func (db *DB) Bucket(ctx context.Context, name string) (ledger.Bucket, error) {
	var out ledger.Bucket
	err := db.inBucket(ctx, name, func(b *bucket) { out = b.Bucket })
	return out, err
}

// Buckets lists buckets by name.
func (db *DB) Buckets(ctx context.Context, q ledger.BucketQuery) ([]ledger.Bucket, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Bucket
	for _, b := range db.names.from(func(b *bucket) bool { return b.Name > q.After }) {
		if !strings.HasPrefix(b.Name, q.Prefix) || q.Owner != "" && b.Owner != q.Owner {
			continue
		}
		if out = append(out, b.Bucket); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// ConfigureBucket replaces a bucket's settings: ErrNoSuchBucket; ErrPreconditionFailed unless they
// are those seen; nil: any.
func (db *DB) ConfigureBucket(ctx context.Context, name string, s ledger.BucketSettings, seen *ledger.BucketSettings) (ledger.Bucket, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Bucket{}, err
	}
	defer db.mu.Unlock()
	s, err := settings(s)
	if err != nil {
		return ledger.Bucket{}, err
	}
	b, err := db.find(name)
	if err == nil {
		err = b.CheckSeen(seen)
	}
	if err != nil {
		return ledger.Bucket{}, err
	}
	if s.Evict.On() && s.Evict.Order != b.Evict.Order {
		b.reapply, b.kept = &ledger.Reapplication{StartedAt: db.now}, ledger.UseMark{}
		b.orders = b.orders || b.Objects > 0
		db.rulesRevision++
	}
	b.BucketSettings = s
	return b.Bucket, nil
}

// settings returns valid settings in whole microseconds, or an error.
func settings(s ledger.BucketSettings) (ledger.BucketSettings, error) {
	err := s.Check()
	s.DefaultTTL = s.DefaultTTL.Truncate(time.Microsecond)
	s.MaxTTL = s.MaxTTL.Truncate(time.Microsecond)
	s.DefaultIdle = s.DefaultIdle.Truncate(time.Microsecond)
	s.MaxIdle = s.MaxIdle.Truncate(time.Microsecond)
	s.Undo = s.Undo.Truncate(time.Microsecond)
	s.Evict.MinAge = s.Evict.MinAge.Truncate(time.Microsecond)
	return s, err
}

// DeleteBucket frees the name of a bucket: ErrNoSuchBucket (also if another bucket than id has
// the name), ErrBucketNotEmpty while it has visible objects or open uploads, ErrHeld.
func (db *DB) DeleteBucket(ctx context.Context, name string, id lethe.ID) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.find(name)
	if err == nil {
		err = b.meant(id)
	}
	if err != nil {
		return err
	}
	for _, o := range b.objects.rows {
		if o.visible(db.now) {
			return fmt.Errorf("memledger: delete bucket %s with object %q: %w", name, o.Key, lethe.ErrBucketNotEmpty)
		}
	}
	if b.Holds > 0 {
		return fmt.Errorf("memledger: bucket %s has %d holds: %w", name, b.Holds, lethe.ErrHeld)
	}
	if len(b.uploads.rows) > 0 {
		return fmt.Errorf("memledger: delete bucket %s with an upload to %q: %w", name, b.uploads.rows[0].Key, lethe.ErrBucketNotEmpty)
	}
	for id, p := range db.promos {
		if p.bucket == b {
			delete(db.promos, id)
		}
	}
	for _, o := range b.objects.rows {
		if o.IdleAt <= db.now { // no note that arrives later brings it back
			o.IdleFor = 0
		}
	}
	db.names.drop(b)
	b.was, b.Name = b.Name, ""
	clear(b.documents)
	b.usages = nil
	b.ruled = ruled{last: b.last}
	db.releaseDeferred(b, "")
	return nil
}

func (db *DB) named(name string) *bucket {
	rows := db.names.from(func(b *bucket) bool { return b.Name >= name })
	if len(rows) == 0 || rows[0].Name != name {
		return nil
	}
	return rows[0]
}

// inBucket runs do on a bucket: ErrNoSuchBucket.
func (db *DB) inBucket(ctx context.Context, name string, do func(*bucket)) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	b, err := db.find(name)
	if err != nil {
		return err
	}
	do(b)
	return nil
}

// find returns the bucket of a name or ErrNoSuchBucket.
func (db *DB) find(name string) (*bucket, error) {
	if b := db.named(name); b != nil {
		return b, nil
	}
	return nil, fmt.Errorf("memledger: bucket %q: %w", name, lethe.ErrNoSuchBucket)
}

// PutDocument stores a document of a bucket: ErrNoSuchBucket.
func (db *DB) PutDocument(ctx context.Context, d ledger.Document) error {
	return db.documents(ctx, d, func(of map[string][]byte) { of[d.Kind] = append([]byte{}, d.Body...) })
}

// documents changes those of the expected bucket: ErrNoSuchBucket.
func (db *DB) documents(ctx context.Context, d ledger.Document, change func(map[string][]byte)) error {
	var err error
	gone := db.inBucket(ctx, d.Bucket, func(b *bucket) {
		if err = b.meant(d.Into); err == nil {
			change(b.documents)
		}
	})
	return errors.Join(gone, err)
}

// meant returns ErrNoSuchBucket if another bucket is expected.
func (b *bucket) meant(id lethe.ID) error { return ledger.CheckBucketID(b.Name, b.ID, id) }

// Document returns a document of a bucket, nil if there is none: ErrNoSuchBucket.
func (db *DB) Document(ctx context.Context, name, kind string) ([]byte, error) {
	var out []byte
	err := db.inBucket(ctx, name, func(b *bucket) { out = bytes.Clone(b.documents[kind]) })
	return out, err
}

// DeleteDocument removes a document of a bucket, if it exists: ErrNoSuchBucket.
func (db *DB) DeleteDocument(ctx context.Context, d ledger.Document) error {
	return db.documents(ctx, d, func(of map[string][]byte) { delete(of, d.Kind) })
}

// SetBucketOwner changes the owner; the dedup domain stays: ErrNoSuchBucket.
func (db *DB) SetBucketOwner(ctx context.Context, name, owner string) error {
	return db.inBucket(ctx, name, func(b *bucket) { b.Owner = owner })
}
