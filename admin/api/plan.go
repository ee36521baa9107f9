package api

import "github.com/lethe-storage/lethe/reclaim/plan"

// PlanRequest names a destructive command, and its arguments.
type PlanRequest struct {
	// Command is "reclaim", or one of the commands of "lethe" that destroy: "trash
	// purge", "dead requeue", "dead write-off", "backend drain", "backend remove",
	// "lifecycle set", "import", "reconcile".
	Command string   `json:"command"`
	Only    []string `json:"only,omitempty"` // routines of reclaim; none: all that plan but those that walk over everything
	// OneRun makes what exceeds reclaim.limits.per_run stay, of which one run takes at least so
	// many: a dry run asks so. A plan is not limited.
	OneRun    bool              `json:"one_run,omitempty"`
	Trash     *TrashRequest     `json:"trash,omitempty"`
	Dead      *DeadRequest      `json:"dead,omitempty"`
	Backend   string            `json:"backend,omitempty"`
	Lifecycle *LifecycleRequest `json:"lifecycle,omitempty"`
	Import    *ImportRequest    `json:"import,omitempty"`
}

// ApplyRequest is a plan as it was written, in the body of the call; the parameter
// force=1 accepts one that is too old.
type ApplyRequest struct{}

// ApplyResult is the outcome of a plan's items.
type ApplyResult struct {
	Command  string                 `json:"command"`
	Items    int64                  `json:"items"`
	Done     plan.Sum               `json:"done"`
	Outcomes map[plan.Outcome]int64 `json:"outcomes"`
	// Runs are the counts of the routines that took items, by name.
	Runs map[string]map[string]int64 `json:"runs,omitempty"`
}
