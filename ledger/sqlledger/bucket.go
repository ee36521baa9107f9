package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

const newBucketColumns = `id, name, owner, domain, region, created_at, default_ttl, max_ttl, quota_bytes, quota_objects, undo, default_idle, max_idle,
	evict, evict_high, evict_low, evict_age`

const bucketColumns = newBucketColumns + `, holds, notify`

const bucketTotals = `, (SELECT coalesce(sum(n), 0) FROM bucket_counters WHERE bucket_id = buckets.id),
	(SELECT coalesce(sum(bytes), 0) FROM bucket_counters WHERE bucket_id = buckets.id)`

var (
	insertBucket = register(`INSERT INTO buckets (` + newBucketColumns + `)
		VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)`)
	selectBucket = register(`SELECT ` + bucketColumns + ` FROM buckets WHERE name = ?1`)
	ownedBuckets = register(`SELECT count(*) FROM (SELECT 1 FROM buckets WHERE owner = ?1 AND name IS NOT NULL LIMIT ?2) AS owned`)
	countBucket  = register(`SELECT ` + bucketColumns + bucketTotals + ` FROM buckets WHERE name = ?1`)
	listBuckets  = register(`SELECT ` + bucketColumns + bucketTotals + ` FROM buckets
		WHERE name > ?1 AND name >= ?2 AND (?3 = '' OR name < ?3) AND (?4 = '' OR owner = ?4) ORDER BY name LIMIT ?5`)
	bucketSums = register(`SELECT coalesce(sum(n), 0), coalesce(sum(bytes), 0), ` + engine.Connections + ` FROM bucket_counters WHERE bucket_id = ?1`)

	configureBucket = register(`UPDATE buckets SET default_ttl = ?2, max_ttl = ?3, quota_bytes = ?4, quota_objects = ?5, undo = ?6, default_idle = ?7, max_idle = ?8,
			evict = ?9, evict_high = ?10, evict_low = ?11, evict_age = ?12
		WHERE name = ?1`)
	ownBucket     = register(`UPDATE buckets SET owner = ?2 WHERE name = ?1`)
	visibleObject = register(`SELECT key FROM objects WHERE bucket_id = ?1 AND ` + visibleAt(``, `?2`) + ` LIMIT 1`)
	uploadInto    = register(`SELECT key FROM uploads WHERE bucket_id = ?1 LIMIT 1`)
	unnameBucket  = register(`UPDATE buckets SET was = name, name = NULL, rules = '', rules_by = '' WHERE id = ?1`)

	deleteBucketDocuments  = register(`DELETE FROM documents WHERE bucket_id = ?1`)
	deleteBucketPromotions = register(`DELETE FROM promotions WHERE bucket_id = ?1`)
)

// CreateBucket creates a bucket. ID and Domain have defaults: a new id, the owner. If the
// name is taken it returns that bucket and ErrBucketExists. ErrTooManyBuckets if the owner
// has Most buckets already.
func (db *DB) CreateBucket(ctx context.Context, b ledger.Bucket) (ledger.Bucket, error) {
	asked := b
	err := db.write(ctx, "create bucket "+b.Name, func(t *tx) error {
		have, err := t.countedBucket(asked.Name)
		if err == nil {
			b = have
			return lethe.ErrBucketExists
		}
		if !errors.Is(err, lethe.ErrNoSuchBucket) {
			return err
		}
		b, err = t.createBucket(asked)
		return err
	})
	return b, err
}

func (t *tx) createBucket(b ledger.Bucket) (ledger.Bucket, error) {
	if err := cmp.Or(t.NeedsRoom(), b.BucketSettings.Check()); err != nil {
		return b, err
	}
	if err := t.mayOwn(b.Owner, b.Most); err != nil {
		return b, err
	}
	if b.ID == "" {
		b.ID = lethe.NewID(t.Now, t.Random)
	}
	b.Domain = cmp.Or(b.Domain, b.Owner)
	b.CreatedAt, b.Objects, b.Bytes, b.Holds, b.Notify = t.Now, 0, 0, 0, ""
	documents := b.Documents
	b.Documents, b.Most = nil, 0
	_, err := t.Send(insertBucket, b.ID, b.Name, b.Owner, b.Domain, b.Region, b.CreatedAt,
		micros(b.DefaultTTL), micros(b.MaxTTL), b.QuotaBytes, b.QuotaObjects, micros(b.Undo), micros(b.DefaultIdle), micros(b.MaxIdle),
		b.Evict.Order, b.Evict.High, b.Evict.Low, micros(b.Evict.MinAge))
	for _, kind := range slices.Sorted(maps.Keys(documents)) {
		if err == nil {
			err = t.putDocument(b.ID, kind, documents[kind])
		}
	}
	return b, err
}

// mayOwn returns ErrTooManyBuckets if the owner has the most buckets already. Concurrent
// calls for one owner wait for each other.
func (t *tx) mayOwn(owner string, most int) error {
	if most <= 0 {
		return nil
	}
	if t.concurrentWriters() {
		if _, err := t.exists(closeGate, gateOf("owner", owner)); err != nil {
			return err
		}
	}
	var have int
	if err := t.Row(ownedBuckets, owner, most).Scan(&have); err != nil || have < most {
		return err
	}
	return fmt.Errorf("%s owns %d: %w", owner, have, lethe.ErrTooManyBuckets)
}

// Bucket returns a bucket with its totals: ErrNoSuchBucket.
func (db *DB) Bucket(ctx context.Context, name string) (b ledger.Bucket, err error) {
	err = db.read(ctx, "bucket "+name, func(t *tx) error {
		b, err = t.countedBucket(name)
		return err
	})
	return b, err
}

// Buckets lists buckets with their totals, in order of their names.
func (db *DB) Buckets(ctx context.Context, q ledger.BucketQuery) (out []ledger.Bucket, err error) {
	err = db.read(ctx, "buckets", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (b ledger.Bucket, err error) {
			err = scanBucket(r, &b, &b.Objects, &b.Bytes)
			return b, err
		}, listBuckets, q.After, q.Prefix, following(q.Prefix), q.Owner, bounded(q.Limit))
		return err
	})
	return out, err
}

// ConfigureBucket replaces a bucket's settings: ErrNoSuchBucket; ErrPreconditionFailed unless they
// are those seen; nil: any. The times to live of its objects stay. Where it evicts in
// another order than before, ReapplyRules puts its objects in that.
func (db *DB) ConfigureBucket(ctx context.Context, name string, s ledger.BucketSettings, seen *ledger.BucketSettings) (b ledger.Bucket, err error) {
	err = db.write(ctx, "configure bucket "+name, func(t *tx) error {
		if err := s.Check(); err != nil {
			return err
		}
		if err := t.closeBucket(name); err != nil {
			return err
		}
		was, err := t.countedBucket(name)
		if err == nil {
			err = was.CheckSeen(seen)
		}
		if err != nil {
			return err
		}
		err = t.Must(1, noBucket(name), configureBucket, name,
			micros(s.DefaultTTL), micros(s.MaxTTL), s.QuotaBytes, s.QuotaObjects, micros(s.Undo), micros(s.DefaultIdle), micros(s.MaxIdle),
			s.Evict.Order, s.Evict.High, s.Evict.Low, micros(s.Evict.MinAge))
		if err == nil && s.Evict.On() && s.Evict.Order != was.Evict.Order {
			err = t.beginReapply(was.ID, min(was.Objects, 1))
		}
		if err == nil {
			b, err = t.countedBucket(name)
		}
		return err
	})
	return b, err
}

// SetBucketOwner changes the owner: ErrNoSuchBucket. The dedup domain stays.
func (db *DB) SetBucketOwner(ctx context.Context, name, owner string) error {
	return db.write(ctx, "set owner of bucket "+name, func(t *tx) error {
		if err := t.closeBucket(name); err != nil {
			return err
		}
		return t.Must(1, noBucket(name), ownBucket, name, owner)
	})
}

// DeleteBucket frees the name of a bucket. Errors, in this order: ErrNoSuchBucket, also if
// another bucket than id has the name (empty: any); ErrBucketNotEmpty while it has visible objects;
// ErrHeld while it has holds; ErrBucketNotEmpty while it has open uploads. Its row goes once its
// expired objects were reclaimed and its deferred rows returned (ReturnDeferred).
func (db *DB) DeleteBucket(ctx context.Context, name string, id lethe.ID) error {
	return db.write(ctx, "delete bucket "+name, func(t *tx) error {
		b, err := t.lockBucketMeant(name, id)
		if err != nil {
			return err
		}
		if err := t.objectless(b); err != nil {
			return err
		}
		// Before uploads are: whoever learns that they alone are there may abort them.
		if b.Holds > 0 {
			return fmt.Errorf("bucket %s has %s; release first: %w", name, words.Plural(int64(b.Holds), "hold", "holds"), lethe.ErrHeld)
		}
		// A note of a read may have come since; none comes after this.
		if _, err := t.Send(unkeepAll, b.ID, t.Now); err != nil {
			return err
		}
		if err := t.empty(b); err != nil {
			return err
		}
		for _, query := range []string{deleteBucketPromotions, deleteBucketDocuments, deleteUsages, endReapply, unnameBucket} {
			if _, err := t.Send(query, b.ID); err != nil {
				return err
			}
		}
		return t.releaseDeferred(b.ID, "")
	})
}

// empty returns ErrBucketNotEmpty if clients still see an object or an upload in the bucket.
func (t *tx) empty(b ledger.Bucket) error {
	if err := t.objectless(b); err != nil {
		return err
	}
	keys, err := all(t, sqldb.One[string], uploadInto, b.ID)
	if err == nil && len(keys) > 0 {
		return fmt.Errorf("it has an open upload to %q: %w", keys[0], lethe.ErrBucketNotEmpty)
	}
	return err
}

func (t *tx) objectless(b ledger.Bucket) error {
	keys, err := all(t, sqldb.One[string], visibleObject, b.ID, t.Now)
	if err == nil && len(keys) > 0 {
		return fmt.Errorf("it has the object %q: %w", keys[0], lethe.ErrBucketNotEmpty)
	}
	return err
}

// bucket returns a bucket without its totals: ErrNoSuchBucket. In a write the row cannot
// change before the transaction ends.
func (t *tx) bucket(name string) (b ledger.Bucket, err error) {
	if t.concurrentWriters() {
		b, _, err = t.ruledBucket(name)
		return b, err
	}
	err = scanBucket(t.Row(selectBucket, name), &b)
	return b, t.bucketError(name, err)
}

func (t *tx) countedBucket(name string) (b ledger.Bucket, err error) {
	err = scanBucket(t.Row(countBucket, name), &b, &b.Objects, &b.Bytes)
	return b, t.bucketError(name, err)
}

func (t *tx) bucketError(name string, err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return noBucket(name)
	}
	return t.Failed(err)
}

func noBucket(name string) error { return fmt.Errorf("bucket %q: %w", name, lethe.ErrNoSuchBucket) }

func scanBucket(r sqldb.Scanner, b *ledger.Bucket, more ...any) error {
	var deflt, longest, undo, idle, longestIdle, evictAge int64
	err := r.Scan(append([]any{&b.ID, &b.Name, &b.Owner, &b.Domain, &b.Region, &b.CreatedAt,
		&deflt, &longest, &b.QuotaBytes, &b.QuotaObjects, &undo, &idle, &longestIdle,
		&b.Evict.Order, &b.Evict.High, &b.Evict.Low, &evictAge, &b.Holds, &b.Notify}, more...)...)
	b.DefaultTTL, b.MaxTTL, b.Undo = duration(deflt), duration(longest), duration(undo)
	b.DefaultIdle, b.MaxIdle, b.Evict.MinAge = duration(idle), duration(longestIdle), duration(evictAge)
	return err
}

// room returns ErrQuotaExceeded if a change would take a bucket beyond its quota. A change
// that shrinks it is never refused.
func (t *tx) room(b ledger.Bucket, objects, bytes int64) error {
	grows := b.QuotaObjects > 0 && objects > 0 || b.QuotaBytes > 0 && bytes > 0
	if !grows {
		return nil
	}
	q := quota{t: t, name: "bucket " + b.Name}
	if err := q.enter(); err != nil {
		return err
	}
	var others int64
	if err := t.Row(bucketSums, b.ID).Scan(&b.Objects, &b.Bytes, &others); err != nil {
		return t.Failed(err)
	}
	if err := b.CheckQuota(objects, bytes); err != nil {
		return err
	}
	plenty := (b.QuotaObjects == 0 || objects <= 0 || b.QuotaObjects-b.Objects >= others) &&
		(b.QuotaBytes == 0 || roomy(b.QuotaBytes-b.Bytes, bytes, others))
	return q.leave(plenty)
}
