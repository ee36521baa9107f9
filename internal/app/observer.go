package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/metrics"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/throttle"
)

// auditIDs is how many ids an audit line has; with debug logs it has all.
const auditIDs = 20

// observer makes log lines, audit lines and metrics from the events of other
// packages.
type observer struct {
	log          *slog.Logger
	command      func(args ...string) string // writes a lethe command that can be pasted
	metrics      *metrics.Metrics
	store        lethe.ID // prefix of blobs' keys
	throttle     *throttle.Controller
	slowedBy     atomic.Pointer[string] // last logged
	ledgerHealth *healthCheck           // the ledger's
	drain        atomic.Bool            // set once the process stops; then it is not ready
	slow         rate.Sometimes         // limits log lines of faults that many readers meet at once
	headCounts   bool                   // a HEAD counts as a get
	trace        *tracer                // nil if there is none
	clock        lethe.Clock
	wrong        wrongValues
	checks       checks
	kept         auditLines
}

// repeatAfter is how long after a log line the same problem is logged again.
const repeatAfter = time.Minute

func newObserver(o Options) *observer {
	return &observer{log: o.Log, command: o.Command, metrics: metrics.New(), clock: cmp.Or[lethe.Clock](o.Clock, lethe.SystemClock{}), slow: rate.Sometimes{Interval: repeatAfter}}
}

// audit writes one line for a destructive decision: the decision and the
// reason.
func (w *observer) audit(event, reason string, attrs ...slog.Attr) {
	w.metrics.Audited(event)
	w.kept.add(w.clock.Now(), event, reason, attrs)
	w.log.LogAttrs(context.Background(), slog.LevelInfo, "audit", slog.Bool("audit", true),
		slog.String("event", event), slog.String("reason", reason), slog.GroupAttrs("what", attrs...))
}

// objects returns the events of package object.
func (w *observer) objects() object.Events {
	return object.Events{
		Committed: func(_ ledger.Object, duplicate bool) {
			outcome := "committed"
			if duplicate {
				outcome = "duplicate"
			}
			w.metrics.Write(outcome)
		},
		Abandoned: func(blob lethe.ID, late, sure bool, cause error) {
			w.metrics.Write("abandoned")
			if sure {
				w.metrics.IntentAbandoned()
			}
			w.audit("write_abandoned", cause.Error(), slog.String("blob", string(blob)), slog.Bool("late", late), slog.Bool("sure", sure))
		},
		Unrecorded: func(u object.Unrecorded) {
			w.enqueueFailed(lost{u.Backend, u.Stage, u.Err, []lostBlob{{u.Blob, u.Size}}})
		},
		Deduped: func(_ ledger.Object, saved int64, _ bool) { w.metrics.Deduped(saved) },
		Unknown: func(op lethe.ID, what string) {
			w.metrics.Write("unknown")
			w.log.Warn("the outcome of an operation is unknown; it is looked up", "op", op, "what", what)
		},
		Failover: func(b ledger.Blob, err error) {
			w.metrics.ReadTrouble("failover")
			w.log.Warn("a copy could not be read; the next one is tried", "blob", b.ID, "backend", b.Backend, "error", err)
		},
		Corrupt: func(b ledger.Blob, err error) {
			w.metrics.ReadTrouble("corrupt")
			w.log.Error("the bytes of a copy do not match their digest", "content", b.ContentID, "blob", b.ID, "backend", b.Backend, "error", err)
		},
		WrongCached: func(content lethe.ID) {
			w.metrics.ReadTrouble("cached")
			w.wrong.add(w.clock.Now())
			w.slow.Do(func() {
				w.log.Error("the cache returned wrong bytes; they are dropped, and a backend is read", "content", content)
			})
		},
		Unnoted: func(reads int) {
			w.log.Error("reads could not be noted, as too many wait for the ledger: objects that are kept while they are read may end too early", "reads", reads)
		},
		Evicted: func(r ledger.Reclaimed) { w.reclaimed(lethe.ReasonEvicted, r) },
		Extended: func(content lethe.ID, err error) {
			w.metrics.ReadTrouble("extended")
			if err == nil {
				return
			}
			w.slow.Do(func() { w.log.Warn("a slow reader's grace could not be extended", "content", content, "error", err) })
		},
	}
}

// engine returns the events of package reclaim.
func (w *observer) engine() *reclaim.Events {
	e := &reclaim.Events{
		Reclaimed:   w.reclaimed,
		UploadRuled: w.uploadRuled,
		Deleting:    func(backend string, _ int) { w.metrics.Deleting(backend) },
		Settled:     w.metrics.Settled,
		Results:     w.results,
		DeleteFailed: func(b ledger.Blob, reason string, dead bool) {
			w.metrics.DeleteFailed(b.Backend, dead)
			w.log.Warn("a blob could not be deleted", "blob", b.ID, "backend", b.Backend, "attempts", b.Attempts+1, "dead_letter", dead, "error", reason)
		},
		BackendDown: func(backend string, err error) {
			w.metrics.BackendDown(backend)
			w.log.Error("a backend is down; its deletes wait and use up no attempts", "backend", backend, "error", err)
		},
		IntentResolved: func(b ledger.Blob, r reclaim.Resolution) {
			w.metrics.IntentResolved(r)
			w.audit("intent_"+string(r), "no heartbeat", slog.String("blob", string(b.ID)), slog.String("backend", b.Backend), slog.Int64("reserved", b.Size))
		},
		UploadAborted: func(u ledger.Upload) {
			w.metrics.UploadAborted()
			w.audit("upload_aborted", "stale", slog.String("upload", string(u.ID)), slog.String("bucket", u.Bucket), slog.String("key", u.Key))
		},
	}
	e.Unsettled = func(backend string, blobs []ledger.Blob, err error) {
		list := make([]lostBlob, len(blobs))
		for i, b := range blobs {
			list[i] = lostBlob{b.ID, b.Size}
		}
		w.enqueueFailed(lost{backend, "settle", err, list})
	}
	w.upkeep(e)
	return e
}

// upkeep adds the events that destroy nothing.
func (w *observer) upkeep(e *reclaim.Events) {
	e.ClaimsRecovered = func(r ledger.Recovered, why string) {
		w.metrics.Recovered(r)
		w.audit("claims_recovered", why, slog.String("backend", r.Backend), slog.String("state", r.State.String()), slog.Int64("claims", r.Claims))
	}
	e.RunTakenOver = func(r ledger.Run) {
		w.metrics.RunTakenOver(r)
		w.audit("run_taken_over", "no heartbeat", slog.String("routine", r.Routine), slog.String("run", string(r.ID)),
			slog.String("worker", r.Worker), slog.String("last_sign", r.BeatAt.String()))
	}
	e.Sealed = func(s receipt.Seal) {
		w.audit("receipts_sealed", "the chain of receipts goes on", slog.Int64("seal", s.Seq), slog.String("hash", s.Hash), slog.Int64("receipts", s.Count))
	}
	e.Delivered = func(target string, s ledger.EventsSettled, failure error) {
		if failure != nil {
			w.log.Warn("events were not delivered: see "+w.command("events", "targets"), "target", target, "failed", s.Failed, "dead", s.Dead, "error", failure)
		}
	}
	e.Held = func(backend, reason string) { w.audit("backend_held", reason, slog.String("backend", backend)) }
	e.Tripped = func(g ledger.LimitState) {
		w.audit("limit_tripped", g.Reason, slog.String("kind", string(g.Kind)), slog.String("subject", g.SubjectName()))
		w.log.Error("a deletion limit tripped; deletions wait: see "+w.command("limits", "show"), "kind", g.Kind, "subject", g.SubjectName(), "reason", g.Reason)
	}
	e.ClockDoubted = func(backend, why string) {
		w.audit("clock_doubted", why, slog.String("backend", backend))
		if why != "" {
			w.log.Error("clocks differ: late uploads and keys without a row wait", "backend", backend, "reason", why)
		}
	}
	e.Released = func(backend string) {
		w.audit("backend_released", "it carries its epoch again", slog.String("backend", backend))
	}
	e.Found = func(p reclaim.Problem) {
		w.metrics.Found(p)
		w.checks.found(p)
		w.log.Error("verify found a problem", "problem", p.String(), "kind", p.Kind)
		if p.Kind == "counter" {
			w.audit("counter_differs", p.Detail, slog.String("backend", p.Backend), slog.String("state", p.Name))
		}
	}
	e.RunEnded = func(r ledger.Run, err error) {
		w.metrics.RunEnded(r)
		if err != nil {
			w.log.Log(context.Background(), w.level(err, slog.LevelError), "a run failed; it will be tried again", "routine", r.Routine, "run", r.ID, "error", err)
			return
		}
		w.checks.ended(r.Routine)
		if r.Counts[reclaim.Limited] > 0 {
			w.audit("run_limited", "reclaim.limits.per_run", slog.String("routine", r.Routine), slog.String("run", string(r.ID)), slog.Any("counts", r.Counts))
			w.log.Warn("a run reached its limit and more is due; the rest waits for the next run", "routine", r.Routine, "run", r.ID, "counts", r.Counts)
		}
		w.log.Log(context.Background(), levelOf(r), "run ended", "routine", r.Routine, "run", r.ID, "outcome", r.Outcome, "counts", r.Counts)
	}
	e.BookkeepingFailed = func(what string, err error) {
		w.log.Log(context.Background(), w.level(err, slog.LevelWarn), "a run could not be recorded", "what", what, "error", err)
	}
}

// levelOf is the level of the line about a run.
func levelOf(r ledger.Run) slog.Level {
	if r.Idle() {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// level is the level of a line about an error: while the ledger does not answer,
// one line has reported that.
func (w *observer) level(err error, otherwise slog.Level) slog.Level {
	if errors.Is(err, lethe.ErrUnavailable) && w.ledgerHealth != nil && !w.ledgerHealth.answers() {
		return slog.LevelDebug
	}
	return otherwise
}

// results writes an audit line for the blobs of a batch whose bytes are gone, by
// the reason for which they were condemned.
func (w *observer) results(backend string, blobs []ledger.Blob, items []ledger.SettleItem) {
	w.metrics.Cleaned(backend, items)
	ids := map[lethe.Reason][]lethe.ID{}
	bytes := map[lethe.Reason]int64{}
	for i, item := range items {
		if item.Result == ledger.Gone || item.Result == ledger.Absent {
			ids[blobs[i].Reason] = append(ids[blobs[i].Reason], item.ID)
			bytes[blobs[i].Reason] += blobs[i].Size
		}
	}
	for reason, list := range ids {
		w.audit("blobs_deleted", string(reason), slog.String("backend", backend), slog.Int("count", len(list)),
			slog.Int64("bytes", bytes[reason]), w.ids("blobs", list))
	}
}

// ids returns the first of them, or all if debug logs are enabled.
func (w *observer) ids(name string, list []lethe.ID) slog.Attr {
	if !w.log.Enabled(context.Background(), slog.LevelDebug) {
		list = list[:min(len(list), auditIDs)]
	}
	return slog.Any(name, list)
}
