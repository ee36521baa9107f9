package reclaim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// Uploads aborts multipart uploads that were left lying.
type Uploads struct {
	Ledger UploadLedger
	Safety Safety
	// StaleOn is shorter than Safety.MultipartStale for uploads with a part on a
	// backend, as where room is scarce; by backend.
	StaleOn map[string]time.Duration
	Limit   int // uploads per step
	Events  *Events
}

// Name returns "multipart".
func (*Uploads) Name() string { return "multipart" }

// Plan counts the stale uploads.
func (u *Uploads) Plan(ctx context.Context) (meta.Backlog, error) {
	return u.Ledger.UploadBacklog(ctx, u.Safety.MultipartStale)
}

// Pass aborts stale uploads, each in its own transaction that checks its age
// again: a client that came back in between keeps its upload.
func (u *Uploads) Pass(string) Step {
	return unlessBehind(u.Ledger, func(ctx context.Context, c *Counts) (bool, error) {
		stale, err := u.Ledger.StaleUploads(ctx, u.Safety.MultipartStale, u.Limit)
		if err != nil {
			return false, fmt.Errorf("reclaim: stale uploads: %w", err)
		}
		if err := u.abort(ctx, c, stale, u.Safety.MultipartStale); err != nil {
			return false, err
		}
		more := u.Limit > 0 && len(stale) >= u.Limit
		for _, backend := range slices.Sorted(maps.Keys(u.StaleOn)) {
			age := u.StaleOn[backend]
			stale, err := u.Ledger.StaleUploadsOn(ctx, meta.StaleRequest{Backend: backend, Age: age, Limit: u.Limit})
			if err != nil {
				return false, fmt.Errorf("reclaim: stale uploads on %s: %w", backend, err)
			}
			if err := u.abort(ctx, c, stale, age); err != nil {
				return false, err
			}
			more = more || u.Limit > 0 && len(stale) >= u.Limit
		}
		return more, nil
	})
}

// abort aborts uploads that are still untouched for age.
func (u *Uploads) abort(ctx context.Context, c *Counts, stale []meta.Upload, age time.Duration) error {
	for _, up := range stale {
		switch err := u.Ledger.AbortStale(ctx, up.ID, age); {
		case errors.Is(err, lethe.ErrNoSuchUpload):
			c.Add("revived", 1)
		case err != nil:
			return fmt.Errorf("reclaim: abort upload %s: %w", up.ID, err)
		default:
			c.Add(Items, 1)
			c.Add("aborted", 1)
			u.Events.uploadAborted(up)
		}
	}
	return nil
}
