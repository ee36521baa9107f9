package app

import (
	"context"
	"log/slog"

	"github.com/lethe-storage/lethe/internal/config"
)

// endTrips resets tripped limits that the configuration no longer has. Those that
// it fails to reset stay tripped until the next start.
func (a *App) endTrips(ctx context.Context) {
	if !a.Config.Has(config.RoleReclaim) {
		return
	}
	ended, err := a.Ledger.EndTrips(ctx, a.deletionLimits())
	if err != nil {
		a.opt.Log.Error("limits that the configuration no longer has are still tripped: see "+a.opt.Command("limits", "show"), "error", err)
	}
	for _, g := range ended {
		a.watch.audit("limit_ended", "its limit is gone from the configuration", slog.String("kind", string(g.Kind)),
			slog.String("subject", g.SubjectName()), slog.String("tripped_for", g.Reason))
	}
}
