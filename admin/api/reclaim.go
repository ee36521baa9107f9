package api

import (
	"time"

	"github.com/lethe-storage/lethe/reclaim/plan"
)

// ReclaimRequest requests one run of routines, each until nothing is due.
type ReclaimRequest struct {
	Only   []string `json:"only,omitempty"` // names of routines; none: all but those that walk over everything
	DryRun bool     `json:"dry_run,omitempty"`
}

// Dry reports whether the request changes nothing.
func (r ReclaimRequest) Dry() bool { return r.DryRun }

// ReclaimResult is what a dry run would do, or what a run did, by routine.
type ReclaimResult struct {
	Plan  []PlannedRoutine `json:"plan,omitempty"`
	Done  []DoneRoutine    `json:"done,omitempty"`
	Calls int64            `json:"calls,omitempty"` // delete calls to backends
}

// PlannedRoutine is what waits for a routine.
type PlannedRoutine struct {
	Name    string  `json:"name"`
	Backlog Backlog `json:"backlog"`
	Plans   bool    `json:"plans"` // its plan says what it would take
	// PerRun is how many one run takes at least before it ends (reclaim.limits.per_run), 0: all.
	PerRun int64 `json:"per_run,omitempty"`
}

// DryRun is what "lethe reclaim --dry-run --json" writes: what a run would take now.
type DryRun struct {
	Routines  []DryRunRoutine `json:"routines"`
	Totals    plan.Totals     `json:"totals"`
	Estimates []plan.Estimate `json:"estimates,omitempty"`
}

// DryRunRoutine is what a routine would take now.
type DryRunRoutine struct {
	Name  string   `json:"name"`
	Takes plan.Sum `json:"takes"`
	Stays plan.Sum `json:"stays"` // due, and kept by a hold or a limit
	// AtLeast reports that one run takes at least so many, and so many stay at most, as it ends at
	// reclaim.limits.per_run: which ones, and their bytes, depend on its workers and buckets.
	AtLeast bool `json:"at_least,omitempty"`
	// Reapplies is how many objects changed rules are applied to first. What those end is
	// counted with expire.
	Reapplies int64     `json:"reapplies,omitempty"`
	Later     int64     `json:"later"` // not due yet
	NextDue   time.Time `json:"next_due,omitzero"`
}

// DoneRoutine is what a routine did.
type DoneRoutine struct {
	Name   string           `json:"name"`
	Counts map[string]int64 `json:"counts"`
}
