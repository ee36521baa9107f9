package reclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
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

// stale is when an upload was left lying: what plans and counts, and what aborts,
// asks by it.
func (u *Uploads) stale() ledger.Stale {
	return ledger.Stale{Age: u.Safety.MultipartStale, On: u.StaleOn}
}

// Plan counts the stale uploads.
func (u *Uploads) Plan(ctx context.Context) (ledger.Backlog, error) {
	return u.Ledger.UploadBacklog(ctx, u.stale())
}

// Pass aborts stale uploads, each in its own transaction that checks its age and
// its holds again: a client that came back in between keeps its upload.
func (u *Uploads) Pass(string) Step {
	return unlessBehind(u.Ledger, func(ctx context.Context, c *Counts) (bool, error) {
		stale, err := u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Limit: u.Limit})
		if err != nil {
			return false, fmt.Errorf("reclaim: stale uploads: %w", err)
		}
		for _, up := range stale {
			err := u.Ledger.AbortStale(ctx, up.Upload.ID, u.stale())
			if err := countAborted(c, up, err); err != nil {
				return false, err
			}
			if err == nil {
				u.Events.uploadAborted(up.Upload)
			}
		}
		return u.Limit > 0 && len(stale) >= u.Limit, nil
	})
}

// countAborted counts what became of an upload that was to be aborted.
func countAborted(c *Counts, up ledger.OverdueUpload, err error) error {
	switch {
	case errors.Is(err, lethe.ErrNoSuchUpload):
		c.Add("revived", 1)
	case errors.Is(err, lethe.ErrHeld):
		c.Add("held", 1)
	case err != nil:
		return fmt.Errorf("reclaim: abort upload %s: %w", up.Upload.ID, err)
	default:
		c.Add(Items, 1)
		c.Add("aborted", 1)
		c.Add("condemned", up.Blobs)
		c.Add("condemned_bytes", up.Bytes)
	}
	return nil
}
