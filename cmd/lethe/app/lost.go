package app

import (
	"log/slog"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/fate"
)

// auditKeys is how many keys a line of the audit log names where it names all: about
// 10 KB, which what collects logs takes as one line.
const auditKeys = 100

// lost are blobs of a backend of which the ledger may not know what became of them.
type lost struct {
	backend, stage string
	err            error
	blobs          []fate.Bytes
}

// auditKey is a blob in a line of the audit log, by its name on the backend.
type auditKey struct {
	Key   string `json:"key"`
	Bytes int64  `json:"bytes"`
}

// enqueueFailed tells that the ledger may not know what lies on a backend: counted
// once, audited with the key and size of every blob, in several lines if need be.
func (w *observer) enqueueFailed(l lost, attrs ...slog.Attr) {
	reason := outcomeOf(l.err)
	w.metrics.EnqueueFailed(l.backend, reason, l.stage)
	attrs = append(attrs, slog.String("backend", l.backend), slog.String("stage", l.stage))
	switch len(l.blobs) {
	case 0:
		w.audit("enqueue_failed", reason, attrs...)
	case 1:
		w.audit("enqueue_failed", reason, append(attrs, slog.String("key", w.key(l.blobs[0].Blob)))...)
	default:
		w.enqueueFailedAll(l, reason, append(attrs, slog.Int("count", len(l.blobs))))
	}
}

func (w *observer) enqueueFailedAll(l lost, reason string, attrs []slog.Attr) {
	from := 0
	for part := range slices.Chunk(l.blobs, auditKeys) {
		keys := make([]auditKey, len(part))
		for i, b := range part {
			keys[i] = auditKey{w.key(b.Blob), b.Size}
		}
		w.audit("enqueue_failed", reason, append(slices.Clone(attrs), slog.Int("from", from), slog.Any("blobs", keys))...)
		from += len(part)
	}
}

// key is a blob's name on its backend.
func (w *observer) key(id lethe.ID) string { return lethe.BlobKey(w.store, id) }
