package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// maxWalks bounds the walks in a request: as many as the ledger keeps.
const maxWalks = 30

// Reconcile walks over one backend or all now, and reports each finding as a
// problem. At most one walk runs at a time: ErrRunning.
func (s *Service) Reconcile(ctx context.Context, req api.ReconcileRequest, emit func(api.Event)) (api.ReconcileResult, error) {
	if s.o.Reconcile == nil {
		return api.ReconcileResult{}, fmt.Errorf("%w: this process does not reconcile", api.ErrBadRequest)
	}
	var only []string
	if req.Backend != "" {
		if s.o.Backends[req.Backend] == nil {
			return api.ReconcileResult{}, s.noBackend(req.Backend)
		}
		only = []string{req.Backend}
	}
	totals, err := s.o.Ledger.Totals(ctx)
	if err != nil {
		return api.ReconcileResult{}, err
	}
	unread := int64(0)
	if req.Backend == "" {
		unread = s.unread(totals, emit)
	}
	r := s.o.Reconcile(only, req.DryRun, func(f ledger.Finding) {
		emit(api.Event{Problem: &api.Problem{Kind: string(f.Kind), Backend: f.Backend, Name: f.Key, Detail: api.Plain(f.Detail)}})
	})
	loop := s.alone(r)
	// Under its own name it is refused while the scheduled routine runs, on any
	// instance.
	loop.Worker += "/on-demand"
	loop.Routines[0].Solo = !req.DryRun
	stop := s.follow(loop, []string{r.Name()}, 2*blobsOn(totals, req.Backend), emit)
	done, err := loop.Once(ctx, nil)
	stop()
	if err == nil {
		err = ctx.Err()
	}
	counts := countsBut(done[r.Name()], reclaim.Items)
	if unread > 0 && err == nil {
		if counts == nil { // no walk was made
			counts = map[string]int64{}
		}
		counts[reconcile.Unread] = unread
	}
	return api.ReconcileResult{Counts: counts}, err
}

// reconcileItems are what a walk over one backend or all would change. They
// come from a dry run.
func (s *Service) reconcileItems(ctx context.Context, r api.PlanRequest, yield func(plan.Item) error) error {
	if s.o.Reconcile == nil {
		return fmt.Errorf("%w: this process does not reconcile", api.ErrBadRequest)
	}
	var only []string
	if r.Backend != "" {
		if s.o.Backends[r.Backend] == nil {
			return s.noBackend(r.Backend)
		}
		only = []string{r.Backend}
	}
	return s.o.Reconcile(only, true, nil).Items(ctx, yield)
}

// blobsOn counts the rows of a backend, or of all.
func blobsOn(totals []ledger.Total, backend string) (n int64) {
	for _, t := range totals {
		if t.Backend != ledger.InLedger && (backend == "" || t.Backend == backend) {
			n += t.Blobs
		}
	}
	return n
}

func countsBut(counts map[string]int64, name string) map[string]int64 {
	delete(counts, name)
	return counts
}

// findingKinds are what a request may name.
var findingKinds = []string{string(ledger.FoundOrphan), string(ledger.FoundForeign), string(ledger.FoundElsewhere), string(ledger.FoundMissing), string(ledger.FoundSize)}

// LastReconcile returns the last walks over backends, and what they found.
func (s *Service) LastReconcile(ctx context.Context, req api.LastReconcileRequest) (api.LastReconcileResult, error) {
	limit, walks := cmp.Or(req.Limit, 100), cmp.Or(req.Walks, 1)
	if limit < 1 || limit > 1000 || walks < 1 || walks > maxWalks {
		return api.LastReconcileResult{}, fmt.Errorf("%w: limit is 1 to 1000, walks 1 to %d", api.ErrBadRequest, maxWalks)
	}
	if req.Kind != "" && !slices.Contains(findingKinds, req.Kind) {
		return api.LastReconcileResult{}, fmt.Errorf("%w: there is no kind of finding %q: use %s", api.ErrBadRequest, req.Kind, strings.Join(findingKinds, ", "))
	}
	out := api.LastReconcileResult{Walks: []api.Walk{}, Findings: []api.Finding{}}
	if err := s.hasBackend(ctx, req.Backend); err != nil {
		return api.LastReconcileResult{}, err
	}
	backends, err := s.o.Ledger.Backends(ctx)
	if err != nil {
		return out, err
	}
	for _, b := range backends {
		if req.Backend != "" && req.Backend != b.ID {
			continue
		}
		list, err := s.o.Ledger.Walks(ctx, b.ID, walks)
		if err != nil {
			return out, err
		}
		for _, w := range list {
			out.Walks = append(out.Walks, walkOf(w))
		}
	}
	found, err := s.o.Ledger.Findings(ctx, ledger.FindingQuery{
		Backend: req.Backend, Kind: ledger.FindingKind(req.Kind), AfterBackend: req.AfterBackend, AfterKey: req.AfterKey, Limit: limit + 1,
	})
	if err != nil {
		return out, err
	}
	if out.More = len(found) > limit; out.More {
		found = found[:limit]
	}
	for f := range slices.Values(found) {
		out.Findings = append(out.Findings, api.Finding{
			Backend: f.Backend, Key: f.Key, Kind: string(f.Kind), Size: f.Size, Detail: f.Detail, First: toTime(f.FirstAt), Last: toTime(f.LastAt),
		})
	}
	return out, nil
}

// lastWalks returns the newest walk over a backend, and the newest that
// compared everything; nil if there was none. Only the running walk and
// interrupted ones can precede the latter, so few are read.
func (s *Service) lastWalks(ctx context.Context, backend string) (last, compared *api.Walk, err error) {
	for _, limit := range []int{2, maxWalks} {
		list, err := s.o.Ledger.Walks(ctx, backend, limit)
		if err != nil {
			return nil, nil, err
		}
		for i, row := range list {
			w := walkOf(row)
			if i == 0 {
				last = &w
			}
			if w.Compared && !w.Finished.IsZero() {
				return last, &w, nil
			}
		}
		if len(list) < limit {
			break
		}
	}
	return last, nil, nil
}

func walkOf(w ledger.Walk) api.Walk {
	return api.Walk{
		ID: string(w.ID), Backend: w.Backend, Started: toTime(w.StartedAt), Saved: toTime(w.SavedAt), Finished: toTime(w.FinishedAt),
		Outcome: api.Plain(w.Outcome), Compared: w.Place == ledger.WalkDone, Counts: w.Counts,
	}
}
