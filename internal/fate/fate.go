// Package fate watches the transactions that carry the fate of bytes: those that
// begin, commit, give up, condemn and settle blobs. What the ledger may not know
// about bytes that lie on a backend, or were deleted there, is told with the blob's
// backend, name and size, so that it can be counted, audited, noted and looked up.
// The row was there before the bytes, so nothing is lost by such a failure (and what
// was sent when it had gone is given one again, stage late): the writer looks the outcome up, the reaper and the watch find what was left, and
// reconcile finds the rest.
package fate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// Failure is a transaction about blobs of one backend, an operation or an upload
// that failed or whose outcome is unknown.
type Failure struct {
	Stage   string // begin, commit, part, complete, abandon, delete, abort, condemn, promote, release, settle, copy, trim, late
	Reason  string // unknown, cut off, unavailable, corrupt, other
	Backend string // empty if it is not known
	Blobs   []Bytes
	Size    int64 // bytes of all, or of the object
	Op      lethe.ID
	Upload  lethe.ID
	Fence   int64 // of the claim under which it was
	Err     error
}

// Bytes are one blob.
type Bytes struct {
	Blob lethe.ID
	Size int64 // bytes
}

// Watch tells of failures. Failed is called in the goroutine of the transaction,
// after it, and must not block.
type Watch struct {
	Failed func(Failure)

	mu     sync.Mutex
	places map[lethe.ID]place
	claims map[int64][]meta.Blob
}

// place is where a blob lies.
type place struct {
	backend string
	size    int64
}

// Of what is under way so much is remembered; beyond it some failures are told
// without their backend.
const (
	maxPlaces = 100_000
	maxClaims = 1_000
)

func (w *Watch) remember(id lethe.ID, backend string, size int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.places == nil {
		w.places = map[lethe.ID]place{}
	}
	for old := range w.places {
		if len(w.places) < maxPlaces {
			break
		}
		delete(w.places, old)
	}
	w.places[id] = place{backend, size}
}

func (w *Watch) forget(ids ...lethe.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range ids {
		delete(w.places, id)
	}
}

func (w *Watch) claimed(fence int64, blobs []meta.Blob) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.claims == nil {
		w.claims = map[int64][]meta.Blob{}
	}
	for old := range w.claims {
		if len(w.claims) < maxClaims {
			break
		}
		delete(w.claims, old)
	}
	if len(blobs) > 0 {
		w.claims[fence] = blobs
	}
}

// settled forgets a claim and answers what it held.
func (w *Watch) settled(fence int64) []meta.Blob {
	w.mu.Lock()
	defer w.mu.Unlock()
	blobs := w.claims[fence]
	delete(w.claims, fence)
	return blobs
}

// reason names how a transaction failed; empty: it did not, or was refused.
func reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, lethe.ErrUnknownOutcome):
		return "unknown"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "cut off"
	case errors.Is(err, lethe.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, lethe.ErrCorrupt):
		return "corrupt"
	case lethe.Refused(err):
		return ""
	}
	return "other"
}

// untouched says that what failed has certainly changed nothing, and that no bytes
// lie anywhere because of it, or wait there to be deleted. A batch that was refused
// before it took anything is about no blobs, and so is one of the engine that was cut
// off: once a transaction has begun, it does not end with its caller.
func (f Failure) untouched() bool {
	refused, nothing := f.Reason == "unavailable", len(f.Blobs) == 0
	switch f.Stage {
	case "begin", "delete", "complete":
		return refused
	case "abort":
		return refused || nothing && f.Op == "" && f.Reason == "cut off"
	case "condemn", "trim":
		return nothing && (refused || f.Reason == "cut off")
	}
	return false
}

// tell tells of a failure, once for each backend that its blobs lie on, or once if
// it is about none.
func (w *Watch) tell(f Failure, err error, blobs ...lethe.ID) {
	byPlace := map[string][]Bytes{}
	w.mu.Lock()
	for _, id := range blobs {
		at, known := w.places[id]
		if !known {
			at = place{f.Backend, f.Size}
		}
		byPlace[at.backend] = append(byPlace[at.backend], Bytes{id, at.size})
	}
	w.mu.Unlock()
	w.failed(f, err, byPlace)
}

// condemning tells of a transaction that condemns what it finds, and says in its
// error what that was.
func (w *Watch) condemning(f Failure, err error) {
	var c *meta.CondemnError
	byPlace := map[string][]Bytes{}
	if errors.As(err, &c) {
		for _, b := range c.Blobs {
			byPlace[b.Backend] = append(byPlace[b.Backend], Bytes{b.ID, b.Size})
		}
	}
	w.failed(f, err, byPlace)
}

func (w *Watch) failed(f Failure, err error, byPlace map[string][]Bytes) {
	if f.Reason = reason(err); f.Reason == "" {
		return
	}
	f.Err = err
	if len(byPlace) == 0 {
		byPlace = map[string][]Bytes{f.Backend: nil}
	}
	for _, backend := range slices.Sorted(maps.Keys(byPlace)) {
		one := f
		if one.Backend, one.Blobs = backend, byPlace[backend]; len(one.Blobs) > 0 {
			one.Size = 0
		}
		for _, b := range one.Blobs {
			one.Size += b.Size
		}
		if !one.untouched() {
			w.Failed(one)
		}
	}
}

// abandoned tells that a blob was not given up. A lost answer is asked for again.
func (w *Watch) abandoned(err error, blob lethe.ID) {
	w.tell(Failure{Stage: "abandon"}, err, blob)
	if r := reason(err); r != "unknown" && r != "cut off" {
		w.forget(blob)
	}
}

// late tells that bytes which were sent too late may have no row: the one failure
// behind which none is known to be there.
func (w *Watch) late(b meta.LateBytes, err error) {
	w.tell(Failure{Stage: "late", Backend: b.Backend, Size: b.Size}, err, b.Blob)
}

// ended tells of a failure, and forgets blobs whose fate is certain.
func (w *Watch) ended(f Failure, err error, blobs ...lethe.ID) {
	w.tell(f, err, blobs...)
	if err == nil {
		w.forget(blobs...)
	}
}
