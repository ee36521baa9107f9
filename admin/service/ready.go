package service

import (
	"context"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service/verdict"
	"github.com/lethe-storage/lethe/ledger"
)

// Ready asks the ledger, the backends and Redis now. It returns why the process should get no
// requests, if it should not, and which warnings and worse there are of it and of deletes that
// are stopped. Status finds the same, and more.
func (s *Service) Ready(ctx context.Context) (unready, found []api.StatusFinding) {
	out, err := s.own(ctx)
	var rows []ledger.Backend
	if err == nil && out.LedgerError == "" {
		rows, err = s.o.Ledger.Backends(ctx)
	}
	if err != nil {
		out.LedgerError = api.Plain(err.Error())
	}
	for _, b := range rows {
		at := slices.IndexFunc(out.Backends, func(k api.BackendStatus) bool { return k.ID == b.ID })
		if at >= 0 {
			k := &out.Backends[at]
			k.Held, k.HeldFor, k.HeldSince, k.Draining = b.Held, string(b.HeldFor), toTime(b.HeldSince), b.Draining
		}
	}
	found = slices.DeleteFunc(verdict.OfProcess(out), func(f api.StatusFinding) bool { return f.Severity == api.SeverityNotice })
	return verdict.Unready(out), found
}

// Report returns what only this process knows, for the other instances.
func (s *Service) Report(ctx context.Context) (list []ledger.InstanceFinding) {
	for _, f := range verdict.Own(s.process(ctx)) {
		if len(list) == ledger.MaxInstanceFindings {
			break
		}
		what := f.What
		if len(what) > ledger.MaxInstanceFinding {
			what = strings.ToValidUTF8(what[:ledger.MaxInstanceFinding], "") + ".."
		}
		out := ledger.InstanceFinding{Severity: f.Severity, Kind: f.Kind, Subject: f.Subject, What: what, Next: f.Next}
		if !f.Since.IsZero() {
			out.Since = lethe.FromTime(f.Since)
		}
		list = append(list, out)
	}
	return list
}
