package reclaim

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// Events are the engine's reports, from which logs, audit lines and metrics are
// made elsewhere. Nil funcs are silent. They are called after the ledger's
// transaction, in the routine's goroutine, and must not block for long.
type Events struct {
	// Reclaimed: a batch of objects was removed, by reason (expiry or purge).
	Reclaimed func(reason lethe.Reason, r ledger.Reclaimed)
	// Deleting: a batch is about to be deleted from a backend.
	Deleting func(backend string, blobs int)
	// Settled: the results of a batch were recorded; absent counts the blobs that
	// the backend reported as absent.
	Settled func(backend string, absent int, s ledger.Settled)
	// Unsettled: the results of a batch could not be recorded, though bytes may be
	// gone; its claims go stale and are taken over, and the blobs deleted again.
	Unsettled func(backend string, blobs []ledger.Blob, err error)
	// Results: the blobs of a batch that was settled, and what was recorded for
	// each, in the same order.
	Results func(backend string, blobs []ledger.Blob, items []ledger.SettleItem)
	// DeleteFailed: one blob could not be deleted; dead reports whether it was the
	// last try.
	DeleteFailed func(b ledger.Blob, reason string, dead bool)
	// BackendDown: a backend did not work at all; its blobs wait.
	BackendDown func(backend string, err error)
	// IntentResolved: the reaper resolved an intent.
	IntentResolved func(b ledger.Blob, r Resolution)
	// UploadAborted: a stale multipart upload was aborted.
	UploadAborted func(u ledger.Upload)
	// UploadRuled: a lifecycle rule aborted an incomplete upload.
	UploadRuled func(u ledger.Upload, rule string)
	// ClaimsRecovered: claims of dead workers were taken back.
	ClaimsRecovered func(r ledger.Recovered)
	// Held: deletes on a backend were stopped, and why.
	Held func(backend, reason string)
	// Stopped: deletions of a kind tripped their limit, and wait.
	Stopped func(g ledger.Guard)
	// ClockDoubted: the clocks of ledger and backend differ too much, and why;
	// empty: they agree again.
	ClockDoubted func(backend, why string)
	// Released: deletes resume on a backend that had carried no epoch.
	Released func(backend string)
	// RunTakenOver: a run without a heartbeat was ended as interrupted.
	RunTakenOver func(r ledger.Run)
	// Found: verify found a problem.
	Found func(p Problem)
	// RunEnded: a run that did something, or failed, ended.
	RunEnded func(r ledger.Run, err error)
	// Sealed: receipts of deletion were sealed as a link of their chain.
	Sealed func(s receipt.Seal)
	// BookkeepingFailed: a run could not be recorded; the work itself is done.
	BookkeepingFailed func(what string, err error)
}

func (e *Events) reclaimed(reason lethe.Reason, r ledger.Reclaimed) {
	if e != nil && e.Reclaimed != nil && (r.Objects > 0 || r.Blobs > 0) {
		e.Reclaimed(reason, r)
	}
}

func (e *Events) deleting(backend string, n int) {
	if e != nil && e.Deleting != nil {
		e.Deleting(backend, n)
	}
}

func (e *Events) settled(backend string, absent int, s ledger.Settled) {
	if e != nil && e.Settled != nil {
		e.Settled(backend, absent, s)
	}
}

func (e *Events) unsettled(backend string, blobs []ledger.Blob, err error) {
	if e != nil && e.Unsettled != nil {
		e.Unsettled(backend, blobs, err)
	}
}

func (e *Events) results(backend string, blobs []ledger.Blob, items []ledger.SettleItem) {
	if e != nil && e.Results != nil {
		e.Results(backend, blobs, items)
	}
}

func (e *Events) deleteFailed(b ledger.Blob, reason string, dead bool) {
	if e != nil && e.DeleteFailed != nil {
		e.DeleteFailed(b, reason, dead)
	}
}

func (e *Events) backendDown(backend string, err error) {
	if e != nil && e.BackendDown != nil {
		e.BackendDown(backend, err)
	}
}

func (e *Events) intentResolved(b ledger.Blob, r Resolution) {
	if e != nil && e.IntentResolved != nil {
		e.IntentResolved(b, r)
	}
}

func (e *Events) uploadAborted(u ledger.Upload) {
	if e != nil && e.UploadAborted != nil {
		e.UploadAborted(u)
	}
}

func (e *Events) uploadRuled(u ledger.Upload, rule string) {
	if e != nil && e.UploadRuled != nil {
		e.UploadRuled(u, rule)
	}
}

func (e *Events) claimsRecovered(r ledger.Recovered) {
	if e != nil && e.ClaimsRecovered != nil {
		e.ClaimsRecovered(r)
	}
}

func (e *Events) held(backend, reason string) {
	if e != nil && e.Held != nil {
		e.Held(backend, reason)
	}
}

func (e *Events) released(backend string) {
	if e != nil && e.Released != nil {
		e.Released(backend)
	}
}

func (e *Events) runTakenOver(r ledger.Run) {
	if e != nil && e.RunTakenOver != nil {
		e.RunTakenOver(r)
	}
}

func (e *Events) found(p Problem) {
	if e != nil && e.Found != nil {
		e.Found(p)
	}
}

func (e *Events) runEnded(r ledger.Run, err error) {
	if e != nil && e.RunEnded != nil {
		e.RunEnded(r, err)
	}
}

func (e *Events) sealed(s receipt.Seal) {
	if e != nil && e.Sealed != nil {
		e.Sealed(s)
	}
}

func (e *Events) bookkeepingFailed(what string, err error) {
	if e != nil && e.BookkeepingFailed != nil {
		e.BookkeepingFailed(what, err)
	}
}
