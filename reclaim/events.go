package reclaim

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// Events are the engine's reports, from which logs, audit lines and metrics are
// made elsewhere. Nil funcs are silent. They are called after the ledger's
// transaction, in the routine's goroutine, and must not block for long. The methods
// call the func of the same name, if there is one; they may be called on nil.
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
	// ClaimsRecovered: claims of dead workers were taken back, and why.
	ClaimsRecovered func(r ledger.Recovered, why string)
	// Held: deletes on a backend were stopped, and why.
	Held func(backend, reason string)
	// Tripped: a limit tripped, and its deletions wait.
	Tripped func(g ledger.LimitState)
	// ClockDoubted: the clocks of ledger and backend differ too much, and why;
	// empty: they agree again.
	ClockDoubted func(backend, why string)
	// Released: deletes resume on a backend that had carried no epoch.
	Released func(backend string)
	// RunTakenOver: a run without a heartbeat was ended as interrupted.
	RunTakenOver func(r ledger.Run)
	// Found: verify found a problem.
	Found func(p Problem)
	// Delivered: a batch of events of a target was settled; failure is one of its failures,
	// nil if there was none.
	Delivered func(target string, s ledger.EventsSettled, failure error)
	// RunEnded: a run that did something, or failed, ended.
	RunEnded func(r ledger.Run, err error)
	// Sealed: receipts of deletion were sealed as a link of their chain.
	Sealed func(s receipt.Seal)
	// BookkeepingFailed: a run could not be recorded; the work itself is done.
	BookkeepingFailed func(what string, err error)
}

// Problem is an inconsistency that verify found.
type Problem struct {
	Kind    string // "books", "missing", "damaged", "orphan", "foreign", "unreadable", "receipts", "sums"
	Backend string
	Name    string // the row or key concerned
	Detail  string
}

// String returns the problem on one line.
func (p Problem) String() string {
	if p.Backend == "" {
		return fmt.Sprintf("%s: %s: %s", p.Kind, p.Name, p.Detail)
	}
	return fmt.Sprintf("%s: %s on %s: %s", p.Kind, p.Name, p.Backend, p.Detail)
}

// Resolution is how the reaper resolved an intent.
type Resolution string

// The resolutions. A writer that commits its own intent never meets the reaper.
const (
	Promoted   Resolution = "promoted"   // bytes complete and proven: committed in the writer's place
	Dropped    Resolution = "dropped"    // no bytes, or bytes that prove nothing
	Superseded Resolution = "superseded" // the key was written or removed since
	Ambiguous  Resolution = "ambiguous"  // undecided: next tick
	Vanished   Resolution = "vanished"   // another worker resolved it first
)

// EmitReclaimed calls Reclaimed, if something was removed.
func (e *Events) EmitReclaimed(reason lethe.Reason, r ledger.Reclaimed) {
	if e != nil && e.Reclaimed != nil && (r.Objects > 0 || r.Blobs > 0) {
		e.Reclaimed(reason, r)
	}
}

// EmitDeleting calls Deleting.
func (e *Events) EmitDeleting(backend string, n int) {
	if e != nil && e.Deleting != nil {
		e.Deleting(backend, n)
	}
}

// EmitSettled calls Settled.
func (e *Events) EmitSettled(backend string, absent int, s ledger.Settled) {
	if e != nil && e.Settled != nil {
		e.Settled(backend, absent, s)
	}
}

// EmitUnsettled calls Unsettled.
func (e *Events) EmitUnsettled(backend string, blobs []ledger.Blob, err error) {
	if e != nil && e.Unsettled != nil {
		e.Unsettled(backend, blobs, err)
	}
}

// EmitResults calls Results.
func (e *Events) EmitResults(backend string, blobs []ledger.Blob, items []ledger.SettleItem) {
	if e != nil && e.Results != nil {
		e.Results(backend, blobs, items)
	}
}

// EmitDeleteFailed calls DeleteFailed.
func (e *Events) EmitDeleteFailed(b ledger.Blob, reason string, dead bool) {
	if e != nil && e.DeleteFailed != nil {
		e.DeleteFailed(b, reason, dead)
	}
}

// EmitBackendDown calls BackendDown.
func (e *Events) EmitBackendDown(backend string, err error) {
	if e != nil && e.BackendDown != nil {
		e.BackendDown(backend, err)
	}
}

// EmitIntentResolved calls IntentResolved.
func (e *Events) EmitIntentResolved(b ledger.Blob, r Resolution) {
	if e != nil && e.IntentResolved != nil {
		e.IntentResolved(b, r)
	}
}

// EmitUploadAborted calls UploadAborted.
func (e *Events) EmitUploadAborted(u ledger.Upload) {
	if e != nil && e.UploadAborted != nil {
		e.UploadAborted(u)
	}
}

// EmitUploadRuled calls UploadRuled.
func (e *Events) EmitUploadRuled(u ledger.Upload, rule string) {
	if e != nil && e.UploadRuled != nil {
		e.UploadRuled(u, rule)
	}
}

// EmitClaimsRecovered calls ClaimsRecovered.
func (e *Events) EmitClaimsRecovered(r ledger.Recovered, why string) {
	if e != nil && e.ClaimsRecovered != nil {
		e.ClaimsRecovered(r, why)
	}
}

// EmitHeld calls Held.
func (e *Events) EmitHeld(backend, reason string) {
	if e != nil && e.Held != nil {
		e.Held(backend, reason)
	}
}

// EmitReleased calls Released.
func (e *Events) EmitReleased(backend string) {
	if e != nil && e.Released != nil {
		e.Released(backend)
	}
}

// EmitRunTakenOver calls RunTakenOver.
func (e *Events) EmitRunTakenOver(r ledger.Run) {
	if e != nil && e.RunTakenOver != nil {
		e.RunTakenOver(r)
	}
}

// EmitFound calls Found.
func (e *Events) EmitFound(p Problem) {
	if e != nil && e.Found != nil {
		e.Found(p)
	}
}

func (e *Events) emitRunEnded(r ledger.Run, err error) {
	if e != nil && e.RunEnded != nil {
		e.RunEnded(r, err)
	}
}

// EmitDelivered calls Delivered.
func (e *Events) EmitDelivered(target string, s ledger.EventsSettled, failure error) {
	if e != nil && e.Delivered != nil {
		e.Delivered(target, s, failure)
	}
}

// EmitSealed calls Sealed.
func (e *Events) EmitSealed(s receipt.Seal) {
	if e != nil && e.Sealed != nil {
		e.Sealed(s)
	}
}

func (e *Events) emitBookkeepingFailed(what string, err error) {
	if e != nil && e.BookkeepingFailed != nil {
		e.BookkeepingFailed(what, err)
	}
}

// EmitTripped calls Tripped for each.
func (e *Events) EmitTripped(list []ledger.LimitState) {
	if e == nil || e.Tripped == nil {
		return
	}
	for _, g := range list {
		e.Tripped(g)
	}
}

// EmitClockDoubted calls ClockDoubted.
func (e *Events) EmitClockDoubted(backend, why string) {
	if e != nil && e.ClockDoubted != nil {
		e.ClockDoubted(backend, why)
	}
}

// Spans report when work begins and ends, for traces. Each returns the context of
// the work, and a function that is called at its end. A nil func is silent. They
// return fast and may be called from several goroutines at once.
type Spans struct {
	// Run: a run begins; its counts are given at its end.
	Run func(ctx context.Context, r ledger.Run) (context.Context, func(counts map[string]int64, err error))
	// Batch: one batch of a routine begins; items is how many it did.
	Batch func(ctx context.Context, routine string) (context.Context, func(items int64, err error))
}

func (s Spans) run(ctx context.Context, r ledger.Run) (context.Context, func(map[string]int64, error)) {
	if s.Run == nil {
		return ctx, func(map[string]int64, error) {}
	}
	return s.Run(ctx, r)
}

// batches reports each step to Spans.
func (s Spans) batches(routine string, step Step) Step {
	if s.Batch == nil {
		return step
	}
	return func(ctx context.Context, add Add) (bool, error) {
		own := &Counts{to: add}
		ctx, ended := s.Batch(ctx, routine)
		more, err := step(ctx, own.Add)
		ended(own.Get(Items), err)
		return more, err
	}
}
