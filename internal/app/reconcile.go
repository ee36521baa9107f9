package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"golang.org/x/time/rate"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// Reconciler makes a walk over the named backends (all if none is named); report,
// if not nil, receives its findings.
func (s *Store) Reconciler(only []string, dry bool, report func(ledger.Finding)) *reconcile.Routine {
	c := s.Config.Reclaim.Reconcile
	o := reconcile.Options{
		Ledger: s.Ledger, Stores: s.Backends, Pairing: s.Pairing, Store: s.Identity.ID, Clock: s.opt.Clock,
		NewID: func() lethe.ID { return lethe.RandomID(s.opt.Clock.Now()) },
		Only:  only, DryRun: dry, Grace: s.safety.OrphanGrace, Page: c.Batch, Parallel: c.Workers,
		MostOrphans: s.Config.Reclaim.Orphans.Most, MostShare: s.Config.Reclaim.Orphans.MostShare,
		Events: s.watch.reconciling(), Report: report, Misses: s.missesBytes,
		Wait: s.safety.LateWindow + s.safety.DeleteTime(),
	}
	if c.RatePerSecond > 0 {
		o.Call = rate.NewLimiter(rate.Limit(c.RatePerSecond), c.RatePerSecond).Wait
	}
	return reconcile.New(o)
}

// missesBytes returns why orphans may be bytes that the ledger misses, or nothing. Only a ledger
// that was restored, as a person's acceptance shows, may miss what it moved itself; with one
// backend it moved nothing. What lies on a backend that no walk comes to may be lost as well.
func (s *Store) missesBytes(ctx context.Context) (why string, err error) {
	list, err := s.Ledger.Backends(ctx)
	accepted := slices.ContainsFunc(list, func(b ledger.Backend) bool { return b.Accepted > 0 })
	if err != nil || !accepted || len(list) == 1 {
		return "", err
	}
	totals, err := s.Ledger.Totals(ctx)
	if err != nil {
		return "", err
	}
	if unread := reconcile.UnreadBackends(totals, s.Backends); len(unread) > 0 {
		return fmt.Sprintf("the ledger has blobs on backend %s, which is not in the configuration: configure it, with an empty folder if it is gone", unread[0].Backend), nil
	}
	d, err := s.Ledger.Depths(ctx, ledger.DepthQuery{Backends: slices.Sorted(maps.Keys(s.Backends))})
	for id, x := range d.Suspects {
		if x.Lost > 0 || x.Count >= ledger.MaxSuspects {
			return "blobs on backend " + id + " are lost: put them back, or delete their objects, those in the trash as well", err
		}
	}
	return "", err
}

// reconciling returns the events of package reconcile.
func (w *observer) reconciling() *reconcile.Events {
	return &reconcile.Events{
		Walked: func(backend string, counts map[string]int64) {
			w.metrics.Reconciled(backend, counts)
			w.log.Info("a backend was compared with the ledger", "backend", backend, "counts", counts)
		},
		Broken: func(backend string, err error) {
			w.metrics.ReconcileBroken(backend)
			w.log.Log(context.Background(), w.level(err, slog.LevelWarn), "comparing a backend with the ledger was interrupted; the next run continues it", "backend", backend, "error", err)
		},
		Dangling: func(l reconcile.Loss) {
			what := "a blob's bytes are missing or damaged; they are restored from another copy"
			if l.Copies == 0 {
				what = "a blob's bytes are missing or damaged, and there is no other copy: objects are lost"
			}
			w.log.Error(what, "blob", l.Blob.ID, "backend", l.Blob.Backend, "copies", l.Copies, "objects", l.Objects, "more", l.More, "why", l.Finding.Detail)
		},
		Condemned: func(backend string, blobs []ledger.Blob) {
			ids := make([]lethe.ID, len(blobs))
			var bytes int64
			for i, b := range blobs {
				ids[i] = b.ID
				bytes += b.Size
			}
			w.audit("orphans_condemned", string(lethe.ReasonOrphan), slog.String("backend", backend),
				slog.Int("count", len(ids)), slog.Int64("bytes", bytes), w.ids("blobs", ids))
		},
		Taken: func(ch reconcile.Change) {
			w.metrics.OrphanTaken(ch.Backend)
			w.audit("orphan_taken", "its bytes are those of a lost blob", slog.String("backend", ch.Backend), slog.String("key", ch.Key),
				slog.String("lost", string(ch.For)), slog.Int64("bytes", ch.Size))
		},
		HeldBack: func(backend string, orphans int64, why string) {
			w.audit("orphans_held_back", why, slog.String("backend", backend), slog.Int64("orphans", orphans))
		},
	}
}
