package app

import (
	"context"
	"net/http"

	"github.com/lethe-storage/lethe/admin"
	"github.com/lethe-storage/lethe/reclaim"
)

// verifyBatch is the rows of one step of a check on demand.
const verifyBatch = 500

// AdminHandler offers the store to operators; token as in admin.Handler.
func (s *Store) AdminHandler(serving bool, token string) http.Handler {
	service := admin.New(admin.Options{
		Ledger: s.Ledger, Objects: s.Objects, Backends: s.Backends, Cache: s.Cache, Loop: s.Loop, Guard: s.Guard,
		Verify: func(checksums bool) *reclaim.Verify { return s.Verifier(verifyBatch, checksums) },
		Safety: s.safety, Clock: s.opt.Clock, Scratch: s.Config.DataDir, Version: s.opt.Version, Serving: serving, Audit: s.watch.audit,
		Around: s.surroundings(),
	})
	s.watch.metrics.Ask(service)
	return admin.Handler(service, token)
}

// openAdmin serves the admin API. Behind a socket only its owner gets in; on TCP
// every call needs the token that is kept in the data folder.
func (a *App) openAdmin(ctx context.Context) error {
	l := a.Config.Server.Admin
	token := ""
	if _, unix := l.Unix(); !unix {
		secret, err := adminToken(a.Config.DataDir)
		if err != nil {
			return err
		}
		token = secret.Reveal()
	}
	return a.serve(ctx, "admin", l, a.AdminHandler(true, token))
}
