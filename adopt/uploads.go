package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Upload is a copy of an object in parts that a worker has begun.
type Upload struct {
	Key   string // the whole key of the object
	Fence int64  // of the worker
	Name  string // the whole key of the upload: the object's, or that of its copy
	ID    string // of the service
}

// QuarantineUploads are copies in parts in progress. Those of dead workers are
// aborted by others, and only those. Each method is one transaction.
type QuarantineUploads interface {
	// Uploading records an upload before anything is sent to it. If the fence
	// no longer has the object, it records nothing and returns false.
	Uploading(ctx context.Context, u Upload) (bool, error)
	// Unfinished returns up to limit uploads of objects that their fence no
	// longer has, after one of them, by keys and fences. They may have been
	// completed.
	Unfinished(ctx context.Context, after Upload, limit int) ([]Upload, error)
	// Aborted deletes the record of an upload.
	Aborted(ctx context.Context, u Upload) error
}

// errTakenOver reports that another worker has the object.
var errTakenOver = errors.New("another worker has taken the object over")

// recording returns the context of a copy that records the uploads it begins. A
// copy whose upload cannot be recorded is aborted.
func (q *Quarantine) recording(ctx context.Context, u Upload) context.Context {
	return blob.WithBegun(ctx, func(id string) error {
		u.ID = id
		ours, err := q.Rows.Uploading(ctx, u)
		if err == nil && !ours {
			err = errTakenOver
		}
		if err != nil {
			return fmt.Errorf("record the upload of %s: %w", u.Name, err)
		}
		return nil
	})
}

// Abort aborts the copies in parts of dead workers, and forgets those that have
// ended. It returns how many are left.
func (q *Quarantine) Abort(ctx context.Context) (left int, err error) {
	why := ""
	for after := (Upload{}); ; {
		page, err := q.Rows.Unfinished(ctx, after, q.Batch)
		if err != nil {
			return left, err
		}
		for _, u := range page {
			after = u
			if err := q.abort(ctx, u); err != nil {
				left, why = left+1, err.Error()
				continue
			}
			if err := q.Rows.Aborted(ctx, u); err != nil {
				return left, err
			}
		}
		if len(page) < q.Batch {
			q.Events.failed(q.Collection, left, why)
			return left, nil
		}
	}
}

func (q *Quarantine) abort(ctx context.Context, u Upload) error {
	store, key := q.Copies, u.Key
	rest, ok := below(u.Key, q.Prefix)
	switch {
	case !ok || u.Name != u.Key && u.Name != q.Into+u.Key:
		return fmt.Errorf("an unfinished copy lies at %q: the description had another prefix then; set it back", u.Name)
	case u.Name == u.Key:
		store, key = q.Objects, rest
	}
	aborter, ok := store.(blob.Aborter)
	if !ok {
		return fmt.Errorf("give up the copy at %q: %w", u.Name, errors.ErrUnsupported)
	}
	return aborter.AbortUpload(ctx, key, u.ID)
}

const (
	// uploadsAfter is the age at which an unrecorded upload of a copy is
	// aborted: its worker is dead.
	uploadsAfter = 24 * time.Hour
	// sweepEvery is the interval of looks for such uploads.
	sweepEvery = time.Hour
)

// abortAbandoned aborts abandoned uploads of copies: recorded ones, and once an hour others below the
// prefix of the quarantine, where only Lethe writes. It reports whether it was time for these too.
func (q *Quarantine) abortAbandoned(ctx context.Context, now lethe.Time) (swept bool, err error) {
	if _, err := q.Abort(ctx); err != nil {
		return false, err
	}
	if q.swept != 0 && q.Boot.Now().Sub(q.swept) < sweepEvery {
		return false, nil
	}
	if store, ok := q.Copies.(blob.Unfinished); ok {
		if _, _, err := store.SweepUnfinished(ctx, now.Add(-uploadsAfter)); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return false, fmt.Errorf("look for unfinished copies: %w", err)
		}
	}
	return true, nil
}
