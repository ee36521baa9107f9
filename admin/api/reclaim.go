package api

// ReclaimRequest requests one run of routines, each until nothing is due.
type ReclaimRequest struct {
	Only   []string `json:"only,omitempty"` // names of routines; none: all but those that walk over everything
	DryRun bool     `json:"dry_run,omitempty"`
}

// ReclaimResult is what a dry run would do, or what a run did, by routine.
type ReclaimResult struct {
	Plan  []PlannedRoutine `json:"plan,omitempty"`
	Done  []DoneRoutine    `json:"done,omitempty"`
	Calls int64            `json:"calls,omitempty"` // delete calls to backends
}

// PlannedRoutine is what a routine would do now.
type PlannedRoutine struct {
	Name    string  `json:"name"`
	Backlog Backlog `json:"backlog"`
}

// DoneRoutine is what a routine did.
type DoneRoutine struct {
	Name   string           `json:"name"`
	Counts map[string]int64 `json:"counts"`
}
