package app

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
)

// healthTime bounds the responses of ledger and backends.
const healthTime = 5 * time.Second

// openMetrics serves /metrics, /healthz (the process lives) and /readyz (the ledger
// and a backend answer, and the process is not stopping). What else is wrong with this
// process, and stopped deletes, are listed by /readyz, and do not make it fail.
func (a *App) openMetrics(ctx context.Context) error {
	l := a.Config.Server.Metrics
	if l.Off() {
		return nil
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", a.watch.metrics.Handler())
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), healthTime)
		defer cancel()
		if a.watch.drain.Load() {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		unready, found := a.admin.Ready(ctx)
		if len(unready) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			list(w, unready)
			return
		}
		fmt.Fprintln(w, "ok")
		list(w, found)
	})
	return a.serve(ctx, "metrics", l, mux)
}

// list writes findings, each with the next command.
func list(w io.Writer, findings []api.StatusFinding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%s: %s; next: %s\n", f.Severity, f.What, f.Next)
	}
}
