package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// maxWalks bounds the walks in a request: as many as the ledger keeps.
const maxWalks = 30

// ReconcileRequest selects the backends of a walk.
type ReconcileRequest struct {
	Backend string `json:"backend,omitempty"` // empty: all, one after the other
	DryRun  bool   `json:"dry_run,omitempty"` // change nothing: no row, no mark, no finding
}

// ReconcileResult is the findings of a walk, by the names of package reconcile.
// A walk that was interrupted and resumed counts what this run did.
type ReconcileResult struct {
	Counts map[string]int64 `json:"counts,omitempty"`
}

// LastReconcileRequest selects the findings of walks.
type LastReconcileRequest struct {
	Backend string `json:"backend,omitempty"` // empty: all
	Kind    string `json:"kind,omitempty"`    // of findings; empty: all
	// AfterBackend and AfterKey are those of the last finding of the previous
	// page.
	AfterBackend string `json:"after_backend,omitempty"`
	AfterKey     string `json:"after_key,omitempty"`
	Limit        int    `json:"limit,omitempty"` // findings, 1 to 1000; 0: 100
	Walks        int    `json:"walks,omitempty"` // of each backend, 1 to 30; 0: 1
}

// LastReconcileResult is the last walks and their findings.
type LastReconcileResult struct {
	Walks    []Walk    `json:"walks"`
	Findings []Finding `json:"findings"`
	More     bool      `json:"more,omitempty"` // findings follow
}

// Walk is one comparison of a backend with the ledger.
type Walk struct {
	ID       string    `json:"id"`
	Backend  string    `json:"backend"`
	Started  time.Time `json:"started_at"`
	Saved    time.Time `json:"saved_at"`             // last time that it came on
	Finished time.Time `json:"finished_at,omitzero"` // zero: it goes on, or was cut off and is taken up by the next run
	Outcome  string    `json:"outcome,omitempty"`
	// Compared reports that every row and key was compared.
	Compared bool             `json:"compared"`
	Counts   map[string]int64 `json:"counts,omitempty"`
}

// Finding is a problem with a key of a backend.
type Finding struct {
	Backend string    `json:"backend"`
	Key     string    `json:"key"`
	Kind    string    `json:"kind"` // orphan, foreign, elsewhere, missing, size
	Size    int64     `json:"size"` // bytes that lie there
	Detail  string    `json:"detail"`
	First   time.Time `json:"first_seen_at"`
	Last    time.Time `json:"last_seen_at"`
}

// Reconcile walks over one backend or all now, and reports each finding as a
// problem. At most one walk runs at a time: ErrRunning.
func (s *Service) Reconcile(ctx context.Context, req ReconcileRequest, emit func(Event)) (ReconcileResult, error) {
	if s.o.Reconcile == nil {
		return ReconcileResult{}, fmt.Errorf("%w: this process does not reconcile", ErrBadRequest)
	}
	var only []string
	if req.Backend != "" {
		if s.o.Backends[req.Backend] == nil {
			return ReconcileResult{}, fmt.Errorf("%w: there is no backend %q in the configuration", ErrBadRequest, req.Backend)
		}
		only = []string{req.Backend}
	}
	total, err := s.blobsOn(ctx, req.Backend)
	if err != nil {
		return ReconcileResult{}, err
	}
	r := s.o.Reconcile(only, req.DryRun, func(f ledger.Finding) {
		emit(Event{Problem: &Problem{string(f.Kind), f.Backend, f.Key, f.Detail}})
	})
	loop := s.alone(r)
	// Under its own name it is refused while the scheduled routine runs, on any
	// instance.
	loop.Worker += "/on-demand"
	loop.Routines[0].Solo = !req.DryRun
	stop := s.follow(loop, []string{r.Name()}, 2*total, emit)
	done, err := loop.Once(ctx, nil)
	stop()
	if err == nil {
		err = ctx.Err()
	}
	return ReconcileResult{Counts: countsBut(done[r.Name()], reclaim.Items)}, err
}

// reconcileItems are what a walk over one backend or all would change. They
// come from a dry run.
func (s *Service) reconcileItems(ctx context.Context, r PlanRequest, yield func(plan.Item) error) error {
	if s.o.Reconcile == nil {
		return fmt.Errorf("%w: this process does not reconcile", ErrBadRequest)
	}
	var only []string
	if r.Backend != "" {
		if s.o.Backends[r.Backend] == nil {
			return fmt.Errorf("%w: there is no backend %q in the configuration", ErrBadRequest, r.Backend)
		}
		only = []string{r.Backend}
	}
	return s.o.Reconcile(only, true, nil).Items(ctx, yield)
}

// blobsOn counts the rows of a backend, or of all.
func (s *Service) blobsOn(ctx context.Context, backend string) (n int64, err error) {
	totals, err := s.o.Ledger.Totals(ctx)
	for _, t := range totals {
		if backend == "" || t.Backend == backend {
			n += t.Blobs
		}
	}
	return n, err
}

func countsBut(counts map[string]int64, name string) map[string]int64 {
	delete(counts, name)
	return counts
}

// LastReconcile returns the last walks over backends, and what they found.
func (s *Service) LastReconcile(ctx context.Context, req LastReconcileRequest) (LastReconcileResult, error) {
	limit, walks := cmp.Or(req.Limit, 100), cmp.Or(req.Walks, 1)
	if limit < 1 || limit > 1000 || walks < 1 || walks > maxWalks {
		return LastReconcileResult{}, fmt.Errorf("%w: limit is 1 to 1000, walks 1 to %d", ErrBadRequest, maxWalks)
	}
	out := LastReconcileResult{Walks: []Walk{}, Findings: []Finding{}}
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
		out.Findings = append(out.Findings, Finding{f.Backend, f.Key, string(f.Kind), f.Size, f.Detail, toTime(f.FirstAt), toTime(f.LastAt)})
	}
	return out, nil
}

// lastWalks returns the newest walk over a backend, and the newest that
// compared everything; nil if there was none. Only the running walk and
// interrupted ones can precede the latter, so few are read.
func (s *Service) lastWalks(ctx context.Context, backend string) (last, compared *Walk, err error) {
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

func walkOf(w ledger.Walk) Walk {
	return Walk{
		ID: string(w.ID), Backend: w.Backend, Started: toTime(w.StartedAt), Saved: toTime(w.SavedAt), Finished: toTime(w.FinishedAt),
		Outcome: w.Outcome, Compared: w.Place == ledger.WalkDone, Counts: w.Counts,
	}
}
