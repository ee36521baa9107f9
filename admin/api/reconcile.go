package api

import "time"

// ReconcileRequest selects the backends of a walk.
type ReconcileRequest struct {
	Backend string `json:"backend,omitempty"` // empty: all, one after the other
	DryRun  bool   `json:"dry_run,omitempty"` // change nothing: no row, no mark, no finding
}

// Dry reports whether the request changes nothing.
func (r ReconcileRequest) Dry() bool { return r.DryRun }

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
