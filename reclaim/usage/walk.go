package usage

import (
	"context"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Reader is what a walk reads of a ledger, page by page.
type Reader interface {
	// Rules returns a bucket's lifecycle rules: ErrNoSuchBucket.
	Rules(ctx context.Context, bucket string) (ledger.BucketRules, error)
	// UsageObjects returns a page of a bucket's object rows in byte order of their keys,
	// due ones included, with the ledger's time: ErrNoSuchBucket.
	UsageObjects(ctx context.Context, q ledger.UsageQuery) (now lethe.Time, list []ledger.ObjectUse, err error)
	// UsageTrash returns a page of the trash of a bucket, by key and id: ErrNoSuchBucket.
	UsageTrash(ctx context.Context, q ledger.UsageQuery) ([]ledger.TrashUse, error)
	// OpenUploads returns a page of a bucket's open uploads, by key and id, with what each
	// stores and whether it is held: ErrNoSuchBucket.
	OpenUploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.OverdueUpload, error)
}

// Walk counts what a bucket holds below a prefix, in steps. Each step is a snapshot of its
// own, so what changes meanwhile is counted as it was at some instant of the walk, or not at
// all; nothing is counted twice.
type Walk struct {
	Ledger Reader
	Bucket string
	Prefix string // empty: the whole bucket
	Stale  ledger.Stale

	c     *counter
	stage int
	// deleted: the bucket is, and has trash alone.
	deleted bool
	// where the next page begins
	key string
	id  lethe.ID
}

// stages are what a walk reads, in this order.
const (
	objects = iota
	trash
	uploads
)

// OfDeleted returns a walk over the trash of a bucket that was deleted, by the ledger's time.
func OfDeleted(from Reader, bucket string, now lethe.Time) *Walk {
	return &Walk{Ledger: from, Bucket: bucket, c: newCounter("", now, nil), stage: trash, deleted: true}
}

// Step reads one page of up to limit rows. It returns how many rows it read, and whether
// more may follow: ErrNoSuchBucket.
func (w *Walk) Step(ctx context.Context, limit int) (rows int, more bool, err error) {
	switch w.stage {
	case objects:
		rows, err = w.objects(ctx, limit)
	case trash:
		rows, err = w.trash(ctx, limit)
	case uploads:
		rows, err = w.uploads(ctx, limit)
	}
	if err != nil {
		return 0, false, err
	}
	if rows < limit {
		if w.stage++; w.deleted {
			w.stage++
		}
		w.key, w.id = "", ""
	}
	return rows, w.stage <= uploads, nil
}

// Summary returns what was counted. The walk is over.
func (w *Walk) Summary() Summary {
	if w.c == nil {
		w.c = newCounter(w.Prefix, 0, nil)
	}
	return w.c.summary()
}

func (w *Walk) query(limit int) ledger.UsageQuery {
	return ledger.UsageQuery{Bucket: w.Bucket, Prefix: w.Prefix, AfterKey: w.key, AfterEntry: w.id, Limit: limit, Deleted: w.deleted}
}

func (w *Walk) objects(ctx context.Context, limit int) (int, error) {
	now, list, err := w.Ledger.UsageObjects(ctx, w.query(limit))
	if err != nil {
		return 0, err
	}
	if w.c == nil {
		b, err := w.Ledger.Rules(ctx, w.Bucket)
		if err != nil {
			return 0, err
		}
		w.c = newCounter(w.Prefix, now, b.Rules)
	}
	for _, u := range list {
		w.c.object(u)
		w.key = u.Key
	}
	return len(list), nil
}

func (w *Walk) trash(ctx context.Context, limit int) (int, error) {
	list, err := w.Ledger.UsageTrash(ctx, w.query(limit))
	for _, u := range list {
		w.c.trash(u)
		w.key, w.id = u.Key, u.ID
	}
	return len(list), err
}

func (w *Walk) uploads(ctx context.Context, limit int) (int, error) {
	list, err := w.Ledger.OpenUploads(ctx, ledger.UploadQuery{Bucket: w.Bucket, Prefix: w.Prefix, AfterKey: w.key, AfterUpload: w.id, Limit: limit})
	for _, u := range list {
		u.SetStale(w.Stale)
		w.c.upload(u)
		w.key, w.id = u.Upload.Key, u.Upload.ID
	}
	return len(list), err
}
