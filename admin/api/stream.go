package api

import (
	"encoding/json"

	"github.com/lethe-storage/lethe/reclaim/plan"
)

// Problem is one finding of a check.
type Problem struct {
	Kind    string `json:"kind"`
	Backend string `json:"backend,omitempty"`
	Name    string `json:"name"`
	Detail  string `json:"detail"`
}

// Event is one line of a stream: progress, a finding, and last the result or the
// error.
type Event struct {
	Progress *Progress       `json:"progress,omitempty"`
	Problem  *Problem        `json:"problem,omitempty"`
	Item     *plan.Result    `json:"item,omitempty"` // of a plan, that was not acted on
	Ends     *ForecastRow    `json:"ends,omitempty"` // of a simulation: what goes
	Result   json.RawMessage `json:"result,omitempty"`
	Error    *Error          `json:"error,omitempty"`
}

// Progress reports how far an operation has come. Total is 0 if it is unknown;
// it is an estimate, since others work meanwhile.
type Progress struct {
	What   string           `json:"what"`
	Done   int64            `json:"done"`
	Total  int64            `json:"total,omitempty"`
	Counts map[string]int64 `json:"counts,omitempty"`
}
