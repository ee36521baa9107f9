package app

import (
	"context"
	"net/http"

	"github.com/lethe-storage/lethe/admin/service"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// verifyBatch is the rows of one step of a check on demand.
const verifyBatch = 500

// AdminHandler returns the admin API for operators that access admits.
func (s *Store) AdminHandler(serving bool, access service.Access) http.Handler {
	s.admin = service.New(service.Options{
		Ledger: s.Ledger, Objects: s.Objects, Backends: s.Backends, Cache: s.Cache, Loop: s.Loop, Pairing: s.Pairing, StoreID: s.Identity.ID,
		Verify:    func(checksums bool) *routine.Verify { return s.Verifier(verifyBatch, checksums) },
		Reconcile: s.Reconciler, Importer: s.importers(),
		Safety: s.safety, Limits: s.deletionLimits(), Clock: s.opt.Clock, Scratch: s.Config.DataDir, Version: s.opt.Version, Serving: serving, Audit: s.watch.audit,
		Runtime: s.runtimeInfo(), Stopwatch: s.opt.Stopwatch, RootKey: s.rootKey, Audited: s.watch.kept.latest, Gets: s.watch.metrics.Gets, Instance: s.instanceName(),
		Targets: service.Targets{Names: s.targets.Targets(), Most: s.Config.Events.MaxWaiting},
	})
	s.watch.metrics.Ask(s.admin, s.opt.Clock, s.opt.Stopwatch)
	return s.watch.tracedWeb("admin", adminCalls(), service.Handler(s.admin, access))
}

// openAdmin serves the admin API. On a Unix socket, which only its owner can reach,
// calls need no token. On TCP every call needs one: that of the data folder, or one
// of the ledger.
func (a *App) openAdmin(ctx context.Context) error {
	l := a.Config.Server.Admin
	access := service.Access{Open: "owner of the socket"}
	if _, unix := l.Unix(); !unix {
		secret, err := adminToken(a.Config.DataDir)
		if err != nil {
			return err
		}
		access = service.Access{Token: secret.Reveal(), TrustedProxies: prefixes(a.Config.Server.TrustedProxies)}
	}
	return a.serve(ctx, "admin", l, a.AdminHandler(true, access))
}
