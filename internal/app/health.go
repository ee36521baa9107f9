package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// healthTime bounds the responses of ledger and backends.
const healthTime = 5 * time.Second

// openMetrics serves /metrics, /healthz (the process lives) and /readyz (the ledger
// and a backend answer, and the process is not stopping). Held deletes are listed
// by /readyz, and do not make it fail.
func (a *App) openMetrics(ctx context.Context) error {
	l := a.Config.Server.Metrics
	if l.Off() {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.watch.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := a.readiness(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
		a.tellHeld(r.Context(), w)
	})
	return a.serve(ctx, "metrics", l, mux)
}

// tellHeld writes on which backends deletes are held, why, and the remedy.
func (a *App) tellHeld(ctx context.Context, w io.Writer) {
	list, err := a.Ledger.Backends(ctx)
	if err != nil {
		return
	}
	for _, b := range list {
		if b.Held != "" {
			fmt.Fprintf(w, "deletes are stopped on backend %s: %s; find the cause, then: lethe backend accept %s\n", b.ID, b.Held, b.ID)
		}
	}
}

// readiness returns why the store should get no requests, nil if it should.
func (a *App) readiness(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	if a.watch.drain.Load() {
		return errors.New("stopping")
	}
	if _, err := a.Ledger.Identity(ctx); err != nil {
		return fmt.Errorf("the ledger does not answer: %w", err)
	}
	// No blob has this name: a backend that works reports so. One such backend is
	// enough: reads fail over, and writes go elsewhere.
	probe := lethe.BlobKey(a.Identity.ID, lethe.RandomID(a.opt.Clock.Now()))
	var down []error
	for id, b := range a.Backends {
		if _, err := b.Stat(ctx, probe); !errors.Is(err, blob.ErrNotExist) {
			down = append(down, fmt.Errorf("backend %s does not answer: %w", id, err))
		}
	}
	if len(down) == len(a.Backends) {
		return errors.Join(down...)
	}
	return nil
}
