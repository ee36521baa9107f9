package app

import (
	"context"
	"log/slog"

	"github.com/lethe-storage/lethe/internal/config"
)

// endStops ends the stops of limits that the configuration no longer has. What
// fails waits for the next start, and stays stopped.
func (a *App) endStops(ctx context.Context) {
	if !a.Config.Has(config.RoleReclaim) {
		return
	}
	limits := a.bounds()
	limits.Deletes = boundOf(a.Config.Reclaim.Guards.Deletes)
	ended, err := a.Ledger.EndStops(ctx, limits)
	if err != nil {
		a.opt.Log.Error("deletions stopped by limits that are off now are still stopped: see "+a.opt.Command("guard", "show"), "error", err)
	}
	for _, g := range ended {
		a.watch.audit("guard_ended", "its limit is gone from the configuration", slog.String("kind", string(g.Kind)),
			slog.String("subject", g.Subject), slog.String("stopped_for", g.Reason))
	}
}
