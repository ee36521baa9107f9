package api

import "time"

// ForecastRequest asks what goes in the next days.
type ForecastRequest struct {
	Bucket string `json:"bucket,omitempty"` // none: all buckets
	Days   int    `json:"days,omitempty"`   // default 30, at most 90
}

// ForecastResult is what goes on which day if nobody acts meanwhile.
type ForecastResult struct {
	Now time.Time `json:"now"`
	// UsageCount is when what is forecast was counted, of several buckets the oldest.
	UsageCount
	// Uncounted are buckets that are not part of it, as they were not counted yet; Changed
	// are those whose rules were changed after they were counted.
	Uncounted []string      `json:"uncounted,omitempty"`
	Changed   []string      `json:"changed,omitempty"`
	Days      []ForecastDay `json:"days"`  // those on which something goes
	Later     Amount        `json:"later"` // what goes after them
	// WithoutEnd are the objects that nothing ends.
	WithoutEnd Amount `json:"without_end"`
}

// ForecastDay is what goes on a day.
type ForecastDay struct {
	Day time.Time `json:"day,omitzero"` // its beginning in UTC; none: it is due already
	Amount
	// FreedBytes is the bytes whose last reference goes then. AtLeast reports that it may be
	// more: of some bytes not all references are known here.
	FreedBytes int64           `json:"freed_bytes"`
	AtLeast    bool            `json:"at_least,omitempty"`
	Held       Amount          `json:"held"` // what would go as well, and is held
	By         []ForecastCause `json:"by"`
	Limits     []ForecastLimit `json:"limits,omitempty"`
}

// ForecastCause is what goes on a day of one bucket for one cause.
type ForecastCause struct {
	Bucket string `json:"bucket"`
	By     string `json:"by"`             // ttl, rule, undo or abort
	Rule   string `json:"rule,omitempty"` // ID
	Amount
	FreedBytes int64  `json:"freed_bytes"`
	AtLeast    bool   `json:"at_least,omitempty"`
	Held       Amount `json:"held"`
}

// ForecastLimit is a deletion limit that would stop some of what goes on a day, if all of it
// was due within an hour. What rules end is, at midnight.
type ForecastLimit struct {
	Kind   string `json:"kind"`
	Bucket string `json:"bucket,omitempty"` // none: it is of the whole store
	Due    int64  `json:"due"`
	Goes   int64  `json:"goes"`
	Why    string `json:"why"`
}
