package ledgertest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// dump returns everything that a ledger shows, as text.
func dump(t testing.TB, l Ledger) string {
	t.Helper()
	ctx := context.Background()
	out := map[string]any{}
	add := func(name string) func(v any, err error) {
		return func(v any, err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("dump %s: %v", name, err)
			}
			out[name] = v
		}
	}
	buckets, err := l.Buckets(ctx, ledger.BucketQuery{})
	add("buckets")(buckets, err)
	for _, b := range buckets {
		add("objects of " + b.Name)(pages(l, b.Name))
		_, used, err := l.UsageObjects(ctx, ledger.UsageQuery{Bucket: b.Name})
		add("use of "+b.Name)(used, err)
		add("trash of " + b.Name)(wrap(l.UsageTrash(ctx, ledger.UsageQuery{Bucket: b.Name})))
		uploads, err := l.Uploads(ctx, ledger.UploadQuery{Bucket: b.Name})
		add("uploads of "+b.Name)(uploads, err)
		add("open uploads of " + b.Name)(wrap(l.OpenUploads(ctx, ledger.UploadQuery{Bucket: b.Name})))
		for _, u := range uploads {
			add("parts of " + string(u.ID))(wrap(l.Parts(ctx, u.ID, 0, 0)))
		}
	}
	add("usage")(wrap(l.UsageRecords(ctx, ledger.UsageRecordQuery{UpTo: lethe.Forever, Document: true})))
	backends, err := l.Backends(ctx)
	add("backends")(backends, err)
	for _, b := range backends {
		add("queue of " + b.ID)(wrap(l.CleanBacklog(ctx, b.ID)))
	}
	add("trash")(wrap(l.Trash(ctx, ledger.TrashQuery{})))
	blobs, err := l.Blobs(ctx, ledger.BlobQuery{})
	add("blobs")(blobs, err)
	for _, b := range blobs {
		if b.Block > 0 {
			add("blocks of " + string(b.ID))(wrap(l.BlockSums(ctx, b.ID, 0, lethe.Blocks(b.Size, b.Block)-1)))
		}
	}
	add("totals")(wrap(l.Totals(ctx)))
	targets, err := l.EventTargets(ctx)
	add("targets")(targets, err)
	for _, t := range targets {
		add("events of " + t.Name)(wrap(l.Events(ctx, ledger.EventQuery{Target: t.Name})))
		add("dead events of " + t.Name)(wrap(l.Events(ctx, ledger.EventQuery{Target: t.Name, Dead: true})))
	}
	add("to expire")(wrap(l.ExpireBacklog(ctx)))
	add("to purge")(wrap(l.PurgeBacklog(ctx)))
	add("to reap")(wrap(l.ReapBacklog(ctx, time.Minute)))
	add("to abort")(wrap(l.UploadBacklog(ctx, ledger.Stale{Age: time.Hour})))
	add("to place")(wrap(l.PlaceBacklog(ctx)))
	add("runs")(runsOf(l))
	add("holds")(wrap(l.Holds(ctx, ledger.HoldQuery{})))
	add("limits")(wrap(l.LimitStates(ctx)))
	add("receipts")(receiptsOf(t, l), nil)
	return plain(out)
}

// wrap lets a call be the argument of another.
func wrap[T any](v T, err error) (any, error) { return v, err }

func runsOf(l Ledger) (any, error) {
	last, succeeded, err := l.LastRuns(context.Background())
	return []any{last, succeeded}, err
}

// pages lists everything visible in a bucket.
func pages(l Ledger, bucket string) (any, error) {
	var all []ledger.Object
	q := ledger.ListQuery{Bucket: bucket, Limit: 1000}
	for {
		page, err := l.List(context.Background(), q)
		if err != nil || !page.More {
			return append(all, page.Objects...), err
		}
		all, q.After = append(all, page.Objects...), page.Next
	}
}

// plain returns a result as text: equal results have equal text. Errors appear by kind, and
// empty maps and lists as nothing.
func plain(v any) string {
	switch x := v.(type) {
	case ledger.Deletions:
		v = plainDeletions(x)
	case []ledger.Blob:
		x = slices.Clone(x)
		slices.SortFunc(x, func(a, b ledger.Blob) int { return cmp.Compare(a.ID, b.ID) })
		v = x
	}
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err)
	}
	raw, err = json.MarshalIndent(prune(tree), "", " ")
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func plainDeletions(d ledger.Deletions) any {
	kinds := make([]string, len(d.Items))
	items := slices.Clone(d.Items)
	for i := range items {
		kinds[i], items[i].Err = kind(items[i].Err), nil
	}
	return []any{items, kinds, d.Dropped}
}

// prune removes empty values.
func prune(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for k := range x {
			if x[k] = prune(x[k]); x[k] == nil {
				delete(x, k)
			}
		}
		if len(x) == 0 {
			return nil
		}
	case []any:
		for i := range x {
			x[i] = prune(x[i])
		}
		if len(x) == 0 {
			return nil
		}
	}
	return v
}

// kinds are the errors that a caller can distinguish.
var kinds = []error{
	lethe.ErrNoSuchBucket, lethe.ErrBucketExists, lethe.ErrTooManyBuckets, lethe.ErrBucketNotEmpty, lethe.ErrNoSuchKey, lethe.ErrNoSuchUpload,
	lethe.ErrInvalidPart, lethe.ErrInvalidPartOrder, lethe.ErrPartTooSmall, lethe.ErrInvalidKey, lethe.ErrInvalidTTL, lethe.ErrInvalidReads,
	lethe.ErrPreconditionFailed, lethe.ErrQuotaExceeded, lethe.ErrNoRoom, lethe.ErrTrashNotFound, lethe.ErrReaped,
	lethe.ErrFenced, lethe.ErrContentKnown, lethe.ErrContentGone, lethe.ErrUnknownOutcome, lethe.ErrCorrupt, lethe.ErrBackendMismatch,
	lethe.ErrUnavailable, lethe.ErrBackendInUse, lethe.ErrDigestMismatch, lethe.ErrHeld, ledger.ErrNoSuchHold, context.Canceled,
}

// kind returns the kind of an error, as far as a caller can distinguish it.
func kind(err error) string {
	if err == nil {
		return ""
	}
	for _, k := range kinds {
		if errors.Is(err, k) {
			return k.Error()
		}
	}
	return "an error"
}
