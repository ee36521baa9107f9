package routine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// UploadLedger finds and aborts stale multipart uploads.
type UploadLedger interface {
	AgeLedger
	// StaleUploads lists stale uploads. AbortStale makes the same decision again in
	// its own transaction and aborts one: ErrNoSuchUpload if it is gone or not
	// stale, ErrHeld while a hold keeps it.
	StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error)
	AbortStale(ctx context.Context, upload lethe.ID, s ledger.Stale) error
	UploadBacklog(ctx context.Context, s ledger.Stale) (ledger.Backlog, error)
}

// Uploads aborts stale multipart uploads.
type Uploads struct {
	Ledger UploadLedger
	Safety reclaim.Safety
	// StaleOn replaces Safety.MultipartStale by a shorter time for uploads with a
	// part on a backend where room is scarce; by backend.
	StaleOn map[string]time.Duration
	Limit   int // uploads per step
	Events  *reclaim.Events
}

// Name returns "multipart".
func (*Uploads) Name() string { return "multipart" }

// stale returns the conditions under which an upload is stale, for plans, counts
// and aborts alike.
func (u *Uploads) stale() ledger.Stale {
	return ledger.Stale{Age: u.Safety.MultipartStale, On: u.StaleOn}
}

// Plan counts the stale uploads.
func (u *Uploads) Plan(ctx context.Context) (ledger.Backlog, error) {
	return u.Ledger.UploadBacklog(ctx, u.stale())
}

// Pass aborts stale uploads, each in its own transaction that checks its age and
// its holds again: an upload that was continued meanwhile is kept.
func (u *Uploads) Pass(string) reclaim.Step {
	return unlessBehind(u.Ledger, func(ctx context.Context, add reclaim.Add) (bool, error) {
		stale, err := u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Limit: u.Limit})
		if err != nil {
			return false, fmt.Errorf("reclaim: stale uploads: %w", err)
		}
		for _, up := range stale {
			err := u.Ledger.AbortStale(ctx, up.Upload.ID, u.stale())
			if err := countAborted(add, up, err); err != nil {
				return false, err
			}
			if err == nil {
				u.Events.EmitUploadAborted(up.Upload)
			}
		}
		return u.Limit > 0 && len(stale) >= u.Limit, nil
	})
}

// countAborted counts the result of one abort.
func countAborted(add reclaim.Add, up ledger.OverdueUpload, err error) error {
	switch {
	case errors.Is(err, lethe.ErrNoSuchUpload):
		add("revived", 1)
	case errors.Is(err, lethe.ErrHeld):
		add("held", 1)
	case err != nil:
		return fmt.Errorf("reclaim: abort upload %s: %w", up.Upload.ID, err)
	default:
		add(reclaim.Items, 1)
		add("aborted", 1)
		add("condemned", up.Blobs)
		add("condemned_bytes", up.Bytes)
	}
	return nil
}

// HasBacklog implements reclaim.Backlogged.
func (u *Uploads) HasBacklog(ctx context.Context) (bool, error) {
	return anyUpload(u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Limit: 1}))
}

// Items are the stale uploads, including those that are held.
func (u *Uploads) Items(ctx context.Context, yield func(plan.Item) error) error {
	list, err := u.Ledger.StaleUploads(ctx, ledger.OverdueQuery{Stale: u.stale(), Held: true})
	return eachUpload(list, err, u.Name(), unlessKept(u.Ledger, yield))
}

// Apply aborts the uploads that are still untouched and not held.
func (u *Uploads) Apply(ctx context.Context, _ string, items []plan.Item, add reclaim.Add) ([]plan.Result, error) {
	a := applied(items)
	err := unlessDoubted(ctx, u.Ledger, func(ctx context.Context) error {
		return a.uploads(func(up ledger.Upload) error {
			err := u.Ledger.AbortStale(ctx, up.ID, u.stale())
			if err == nil {
				u.Events.EmitUploadAborted(up)
			}
			return err
		}, add)
	})
	return a.out, err
}
