package app

import (
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// auditKeys is how many keys one line of the audit log has where it lists all:
// about 10 KB, which log collectors accept as one line.
const auditKeys = 100

// lost are blobs of a backend whose state the ledger may not have recorded.
type lost struct {
	backend, stage string
	err            error
	blobs          []lostBlob
}

// lostBlob is one of them.
type lostBlob struct {
	id   lethe.ID
	size int64 // bytes
}

// auditKey is a blob in an audit line, by its name on the backend.
type auditKey struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
}

// stages are the transactions about bytes whose failures are counted as they
// happen, by name, with the label of the count. The events of objects, placement
// and clean report the others (commit, abandon, late, settle) once they have given
// up.
var stages = map[string]string{
	"Begin": "begin", "BeginCopy": "begin", "Complete": "complete", "Delete": "delete", "TrimCopies": "trim",
	"AbortUpload": "abort", "AbortStale": "abort", "AbortRuled": "abort",
	"Expire": "condemn", "Purge": "condemn", "CondemnIntent": "condemn", "Promote": "promote", "ReleaseIntent": "release",
}

// claimed are the transactions that end a claim, which stays if they have no effect.
var claimed = []string{"CondemnIntent", "Promote", "ReleaseIntent"}

// unrecorded reports a transaction that failed, or may have failed, after bytes
// were sent or deleted: once for each backend of its blobs. Refusals, and
// transactions that certainly had no effect on a blob, are not reported.
func (w *observer) unrecorded(t sqlledger.Transaction) {
	stage, ok := stages[t.Name]
	if !ok || t.Err == nil || lethe.Refused(t.Err) {
		return
	}
	idle := len(t.Condemned) == 0 && (t.Tries == 0 || errors.Is(t.Err, lethe.ErrUnavailable))
	if idle && !slices.Contains(claimed, t.Name) {
		return
	}
	on := map[string][]lostBlob{}
	for _, b := range t.Condemned {
		on[b.Backend] = append(on[b.Backend], lostBlob{b.ID, b.Size})
	}
	if len(on) == 0 {
		on[""] = nil
	}
	for _, backend := range slices.Sorted(maps.Keys(on)) {
		w.enqueueFailed(lost{backend, stage, t.Err, on[backend]}, slog.String("op", string(t.Op)), slog.String("error", t.Err.Error()))
	}
}

// enqueueFailed reports that the ledger may not have recorded what lies on a
// backend. It is counted once, and audited with the key and size of every blob, in
// several lines if needed.
func (w *observer) enqueueFailed(l lost, attrs ...slog.Attr) {
	reason := outcomeOf(l.err)
	w.metrics.EnqueueFailed(l.backend, reason, l.stage)
	bytes := int64(0)
	for _, b := range l.blobs {
		bytes += b.size
	}
	attrs = append(attrs, slog.String("backend", l.backend), slog.String("stage", l.stage), slog.Int64("bytes", bytes))
	switch len(l.blobs) {
	case 0:
		w.audit("enqueue_failed", reason, attrs...)
	case 1:
		w.audit("enqueue_failed", reason, append(attrs, slog.String("key", w.key(l.blobs[0].id)))...)
	default:
		w.enqueueFailedAll(l, reason, append(attrs, slog.Int("count", len(l.blobs))))
	}
}

func (w *observer) enqueueFailedAll(l lost, reason string, attrs []slog.Attr) {
	from := 0
	for part := range slices.Chunk(l.blobs, auditKeys) {
		keys := make([]auditKey, len(part))
		for i, b := range part {
			keys[i] = auditKey{w.key(b.id), b.size}
		}
		w.audit("enqueue_failed", reason, append(slices.Clone(attrs), slog.Int("from", from), slog.Any("blobs", keys))...)
		from += len(part)
	}
}

// key returns a blob's name on its backend.
func (w *observer) key(id lethe.ID) string { return lethe.BlobKey(w.store, id) }
