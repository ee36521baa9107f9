package incidents_test

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// ledger is a whole ledger: the one in memory, SQLite, or PostgreSQL.
type wholeLedger interface {
	ledgertest.ObjectLedger
	ledgertest.EngineLedger
	ledgertest.PlacementLedger
	reconcile.Ledger
}

// hooked lets a test stand around the ledger's methods.
type hooked struct {
	wholeLedger
	// around, if set, is called in place of a method; do is the method.
	around func(method string, do func() error) error
	// What was asked last, to be asked again.
	commit     ledger.Commit
	deletion   ledger.Deletion
	settlement ledger.Settlement
}

func hook[T any](h *hooked, method string, do func() (T, error)) (T, error) {
	if h.around == nil {
		return do()
	}
	var out T
	err := h.around(method, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
}

func (h *hooked) Begin(ctx context.Context, in ledger.Intent) (ledger.Blob, error) {
	return hook(h, "begin", func() (ledger.Blob, error) { return h.wholeLedger.Begin(ctx, in) })
}

func (h *hooked) Commit(ctx context.Context, c ledger.Commit) (ledger.Committed, error) {
	h.commit = c
	return hook(h, "commit", func() (ledger.Committed, error) { return h.wholeLedger.Commit(ctx, c) })
}

func (h *hooked) Complete(ctx context.Context, c ledger.Completion) (ledger.Committed, error) {
	return hook(h, "complete", func() (ledger.Committed, error) { return h.wholeLedger.Complete(ctx, c) })
}

func (h *hooked) CommitPart(ctx context.Context, c ledger.PartCommit) (ledger.Part, error) {
	return hook(h, "commit part", func() (ledger.Part, error) { return h.wholeLedger.CommitPart(ctx, c) })
}

func (h *hooked) Delete(ctx context.Context, d ledger.Deletion) (ledger.Deletions, error) {
	h.deletion = d
	return hook(h, "delete", func() (ledger.Deletions, error) { return h.wholeLedger.Delete(ctx, d) })
}

type found struct {
	out   ledger.Outcome
	found bool
}

func (h *hooked) Outcome(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	f, err := hook(h, "outcome", func() (f found, err error) {
		f.out, f.found, err = h.wholeLedger.Outcome(ctx, op)
		return f, err
	})
	return f.out, f.found, err
}

func (h *hooked) Expire(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return hook(h, "expire", func() (ledger.Reclaimed, error) { return h.wholeLedger.Expire(ctx, b) })
}

func (h *hooked) Purge(ctx context.Context, b ledger.Batch) (ledger.Reclaimed, error) {
	return hook(h, "purge", func() (ledger.Reclaimed, error) { return h.wholeLedger.Purge(ctx, b) })
}

func (h *hooked) ClaimCondemned(ctx context.Context, r ledger.ClaimRequest) (ledger.Claimed, error) {
	return hook(h, "claim", func() (ledger.Claimed, error) { return h.wholeLedger.ClaimCondemned(ctx, r) })
}

func (h *hooked) Settle(ctx context.Context, s ledger.Settlement) (ledger.Settled, error) {
	h.settlement = s
	return hook(h, "settle", func() (ledger.Settled, error) { return h.wholeLedger.Settle(ctx, s) })
}

func (h *hooked) RecoverClaims(ctx context.Context, grace time.Duration, limit int) ([]ledger.Recovered, error) {
	return hook(h, "recover", func() ([]ledger.Recovered, error) { return h.wholeLedger.RecoverClaims(ctx, grace, limit) })
}

func (h *hooked) ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (ledger.ClaimedIntents, error) {
	return hook(h, "claim intents", func() (ledger.ClaimedIntents, error) { return h.wholeLedger.ClaimIntents(ctx, r) })
}

func (h *hooked) StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	return hook(h, "stale uploads", func() ([]ledger.OverdueUpload, error) { return h.wholeLedger.StaleUploads(ctx, q) })
}

func (h *hooked) Recount(ctx context.Context) ([]ledger.Discrepancy, error) {
	return hook(h, "recount", func() ([]ledger.Discrepancy, error) { return h.wholeLedger.Recount(ctx) })
}

func (h *hooked) Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error) {
	return hook(h, "blobs", func() ([]ledger.Blob, error) { return h.wholeLedger.Blobs(ctx, q) })
}

func (h *hooked) BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error) {
	return hook(h, "blobs by id", func() ([]ledger.Blob, error) { return h.wholeLedger.BlobsByID(ctx, ids) })
}

func (h *hooked) CommitCopy(ctx context.Context, c ledger.CopyCommit) error {
	_, err := hook(h, "commit copy", func() (struct{}, error) { return struct{}{}, h.wholeLedger.CommitCopy(ctx, c) })
	return err
}

func (h *hooked) TrimCopies(ctx context.Context, r ledger.Trim) (int, error) {
	return hook(h, "trim", func() (int, error) { return h.wholeLedger.TrimCopies(ctx, r) })
}

// during calls fn once, before the next call of the ledger's method.
func (w *world) during(method string, fn func()) {
	w.ledger.around = func(m string, do func() error) error {
		if m == method {
			w.ledger.around = nil
			fn()
		}
		return do()
	}
}

// refuses makes a method of the ledger fail with err and do nothing.
func (w *world) refuses(method string, err error) {
	w.ledger.around = func(m string, do func() error) error {
		if m == method {
			return err
		}
		return do()
	}
}

// breaks makes an operation of the backend suffer a fault until heal.
func (w *world) breaks(op blobtest.Op, f blobtest.Fault) {
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == op {
			return f
		}
		return blobtest.Fault{}
	}
}

// interrupts calls fn once, before the next call of the backend's operation.
func (w *world) interrupts(op blobtest.Op, fn func()) {
	w.fault = func(c blobtest.Call) blobtest.Fault {
		if c.Op == op {
			w.fault = nil
			fn()
		}
		return blobtest.Fault{}
	}
}

// heal ends all faults.
func (w *world) heal() {
	w.fault, w.ledger.around = nil, nil
	clear(w.faults)
}

// landLate lets happen what was given up on, after everything else.
func (w *world) landLate() {
	for _, p := range w.disk.Late() {
		_ = p.Release(w.ctx) // whether it finds something to do is what the test is about
	}
}
