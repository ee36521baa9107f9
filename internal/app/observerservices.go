package app

import (
	"log/slog"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/placement"
)

// breaker reports that a backend's circuit breaker opened or closed.
func (w *observer) breaker(backend string, st intercept.BreakerState) {
	if st.Open {
		w.metrics.BreakerOpened(backend)
		w.log.Error("a backend fails and is not called: reads use other copies, writes go elsewhere, deletes wait; it is probed again",
			"backend", backend, "outages", st.Outages, "error", st.LastErr)
		return
	}
	w.log.Info("a backend works again", "backend", backend)
}

// s3blob returns the events of a backend in S3.
func (w *observer) s3blob(backend string) s3blob.Events {
	return s3blob.Events{
		Pace: func(batch, concurrency int) {
			w.log.Debug("the rate of deletes on a backend changed", "backend", backend, "batch", batch, "concurrency", concurrency)
		},
		Throttled: func(op string, wait time.Duration, err error) {
			w.metrics.BackendThrottled(backend)
			w.log.Debug("a backend asks to slow down", "backend", backend, "op", op, "wait", wait.String(), "error", err)
		},
		Protocol: func(op string, err error) {
			w.metrics.BackendContradicted(backend)
			w.log.Warn("a response of a backend contradicts the request; its effect is unknown", "backend", backend, "op", op, "error", err)
		},
	}
}

// redis returns the events of the connection to Redis.
func (w *observer) redis() redisconn.Events {
	return redisconn.Events{
		Down: func(err error) {
			w.metrics.RedisDown()
			w.log.Warn("Redis does not answer; everything works without it, only slower", "error", err)
		},
		Up: func() { w.log.Info("Redis answers again") },
	}
}

// redisCache returns the events of the shared cache.
func (w *observer) redisCache() rediscache.Events {
	return rediscache.Events{
		Failed: func(what string, err error) { w.log.Debug("the shared cache failed", "what", what, "error", err) },
	}
}

// placing returns the events of package placement.
func (w *observer) placing() *placement.Events {
	return &placement.Events{
		Copied: func(source, copied ledger.Blob) {
			w.metrics.Copied(copied.Backend, copied.Size)
			w.log.Debug("a copy was made", "source", source.ID, "from", source.Backend, "copy", copied.ID, "to", copied.Backend)
		},
		CopyFailed: func(source ledger.Blob, to string, err error) {
			w.metrics.CopyFailed(to)
			w.log.Warn("a copy failed; it will be tried again", "source", source.ID, "from", source.Backend, "to", to, "error", err)
		},
		Unrecorded: func(copied ledger.Blob, stage string, err error) {
			w.enqueueFailed(lost{copied.Backend, stage, err, []lostBlob{{copied.ID, copied.Size}}})
		},
		Trimmed: func(content lethe.ID, blobs []lethe.ID, reason lethe.Reason) {
			w.audit("copies_trimmed", string(reason), slog.String("content", string(content)), w.ids("blobs", blobs))
		},
		Suspect: func(b ledger.Blob, err error) {
			w.metrics.ReadTrouble("corrupt")
			w.log.Error("a copy is missing or damaged", "blob", b.ID, "backend", b.Backend, "error", err)
		},
		Stuck: func(s ledger.Subject, why string, retry lethe.Time) {
			w.log.Debug("a content waits for its next attempt to be copied or moved", "content", s.ID, "why", why, "again", retry.String())
		},
	}
}
