package app

import (
	"context"
	"net/netip"

	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/internal/ratelimit"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/paste"
)

// prefixes are the networks of the configuration in the form that packages below
// take.
func prefixes(list []config.Network) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, n := range list {
		out[i] = n.Prefix
	}
	return out
}

// openPaste serves pastes, which have their own bucket.
func (a *App) openPaste(ctx context.Context) error {
	c := a.Config.Paste
	l := a.Config.Server.Paste
	if !c.Enabled || l.Off() || !a.Config.Has(config.RoleServe) {
		return nil
	}
	o := paste.Options{
		Store: tracedObjects{a.Objects, a.watch.trace}, Bucket: c.Bucket, Settings: ledger.BucketSettings{Undo: a.Config.Store.Undo.Std()},
		PublicURL: l.PublicURL, MaxSize: int64(c.MaxSize), DefaultTTL: c.DefaultTTL.Std(), MaxTTL: c.MaxTTL.Std(),
		TrustedProxies: prefixes(a.Config.Server.TrustedProxies), Clock: a.opt.Clock, Events: a.watch.pastes(),
	}
	if r := a.Config.Server.RateLimit; r.RequestsPerSecond > 0 {
		o.Limiter = ratelimit.New(ratelimit.Rate{PerSecond: r.RequestsPerSecond, Burst: r.Burst}, nil)
	}
	if n := c.MissesPerMinute; n > 0 {
		o.Misses = ratelimit.New(ratelimit.Rate{PerSecond: float64(n) / 60, Burst: n}, nil)
	}
	h, err := paste.New(ctx, o)
	if err != nil {
		return err
	}
	return a.serve(ctx, "paste", l, a.watch.tracedWeb("paste", pasteCall, discreet(h)))
}
