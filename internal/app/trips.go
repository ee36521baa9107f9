package app

import (
	"context"
	"log/slog"

	"github.com/lethe-storage/lethe/internal/config"
)

// endTrips resets tripped limits that the configuration no longer has. What
// fails waits for the next start, and stays stopped.
func (a *App) endTrips(ctx context.Context) {
	if !a.Config.Has(config.RoleReclaim) {
		return
	}
	ended, err := a.Ledger.EndTrips(ctx, a.deletionLimits())
	if err != nil {
		a.opt.Log.Error("deletions stopped by limits that are off now are still stopped: see "+a.opt.Command("limits", "show"), "error", err)
	}
	for _, g := range ended {
		a.watch.audit("limit_ended", "its limit is gone from the configuration", slog.String("kind", string(g.Kind)),
			slog.String("subject", g.Subject), slog.String("stopped_for", g.Reason))
	}
}
