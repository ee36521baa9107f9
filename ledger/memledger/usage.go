package memledger

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// UsageObjects returns a page of a bucket's object rows by key: ErrNoSuchBucket.
func (db *DB) UsageObjects(ctx context.Context, q ledger.UsageQuery) (now lethe.Time, list []ledger.ObjectUse, err error) {
	err = db.inBucket(ctx, q.Bucket, func(b *bucket) {
		now = db.now
		for _, o := range b.objects.from(func(o *object) bool { return o.Key > q.AfterKey && o.Key >= q.Prefix }) {
			if !strings.HasPrefix(o.Key, q.Prefix) || q.Limit > 0 && len(list) == q.Limit {
				break
			}
			u := ledger.ObjectUse{Object: o.Object.Clone(), Refs: refs(o.content), BlobBytes: db.blobBytes(o.content), Held: b.held(o.Key) != nil}
			u.Bucket, u.ETag, u.Attrs, u.Rule = b.Name, "", ledger.Attrs{}, ""
			list = append(list, u)
		}
	})
	return now, list, err
}

// blobBytes returns the bytes of a content's live blobs.
func (db *DB) blobBytes(c *content) int64 {
	var d ledger.Due
	db.fate(&d, c)
	return d.BlobBytes
}

func refs(c *content) int64 {
	if c == nil {
		return 1
	}
	return c.Refs
}

// UsageTrash returns a page of the trash of a bucket, by key and id: ErrNoSuchBucket.
func (db *DB) UsageTrash(ctx context.Context, q ledger.UsageQuery) (list []ledger.TrashUse, err error) {
	read := func(b *bucket) {
		for _, e := range db.trash.rows {
			key := e.Object.Key
			after := key > q.AfterKey || key == q.AfterKey && e.ID > q.AfterEntry
			if e.Object.Bucket != q.Bucket || !strings.HasPrefix(key, q.Prefix) || !after {
				continue
			}
			u := ledger.TrashUse{ID: e.ID, Key: key, ContentID: e.Object.ContentID, Size: e.Object.Size, PurgeAt: e.PurgeAt, Refs: refs(e.content), BlobBytes: db.blobBytes(e.content), Held: b.held(key) != nil}
			if at := (&deferred{bucket: b, key: key, entry: e.ID}); e.PurgeAt == lethe.Forever {
				if rows := db.deferred.from(func(d *deferred) bool { return deferredByPlace(d, at) >= 0 }); len(rows) > 0 && deferredByPlace(rows[0], at) == 0 {
					u.PurgeAt = rows[0].due
				}
			}
			list = append(list, u)
		}
		slices.SortFunc(list, func(x, y ledger.TrashUse) int { return cmp.Or(strings.Compare(x.Key, y.Key), compareIDs(x.ID, y.ID)) })
		list = first(list, q.Limit)
	}
	if err = db.inBucket(ctx, q.Bucket, read); q.Deleted && errors.Is(err, lethe.ErrNoSuchBucket) {
		err = db.enter(ctx)
		if err == nil {
			read(&bucket{})
			db.mu.Unlock()
		}
	}
	return list, err
}

// SaveUsage records a count of a bucket as its newest: ErrNoSuchBucket.
func (db *DB) SaveUsage(ctx context.Context, r ledger.UsageRecord, keep time.Duration) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	rows := db.buckets.from(func(b *bucket) bool { return b.ID >= r.Bucket })
	if len(rows) == 0 || rows[0].ID != r.Bucket || rows[0].Name == "" {
		return fmt.Errorf("memledger: bucket %s: %w", r.Bucket, lethe.ErrNoSuchBucket)
	}
	b := rows[0]
	r.Name, r.Brief, r.Document = "", bytes.Clone(r.Brief), bytes.Clone(r.Document)
	day := func(at lethe.Time) int64 { return int64(at) / int64(24*time.Hour/time.Microsecond) }
	var kept []ledger.UsageRecord
	for i, old := range b.usages {
		hour := ledger.HourOf(old.TakenAt)
		lasts := hour < ledger.HourOf(r.TakenAt) || i == 0 || ledger.HourOf(b.usages[i-1].TakenAt) != hour
		if lasts && old.TakenAt < r.TakenAt && old.TakenAt >= r.TakenAt.Add(-keep) {
			old.Document = nil
			kept = append(kept, old)
		}
	}
	kept = append(kept, r)
	b.usages = b.usages[:0]
	for i, old := range kept {
		last := i == len(kept)-1 || day(kept[i+1].TakenAt) != day(old.TakenAt)
		if last || old.TakenAt >= r.TakenAt.Add(-24*time.Hour) {
			b.usages = append(b.usages, old)
		}
	}
	return nil
}

// UsageRecords returns a page of records by bucket name.
func (db *DB) UsageRecords(ctx context.Context, q ledger.UsageRecordQuery) ([]ledger.UsageRecord, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.UsageRecord
	for _, b := range db.names.from(func(b *bucket) bool { return b.Name > q.After }) {
		if len(b.usages) == 0 || q.Bucket != "" && b.Name != q.Bucket {
			continue
		}
		r := b.usages[0]
		for _, later := range b.usages {
			if later.TakenAt <= q.UpTo {
				r = later
			}
		}
		r.Name, r.Brief, r.Document = b.Name, bytes.Clone(r.Brief), bytes.Clone(r.Document)
		if !q.Document {
			r.Document = nil
		}
		out = append(out, r)
	}
	return first(out, q.Limit), nil
}
