package api

import "time"

// ForecastRequest asks what goes in the next days.
type ForecastRequest struct {
	Bucket string `json:"bucket,omitempty"` // none: all buckets
	// Prefix is that of the keys in the bucket. It has to have few enough objects to be counted
	// for the answer, and no limits are named, since they count whole buckets.
	Prefix string `json:"prefix,omitempty"`
	Days   int    `json:"days,omitempty"` // default 30, at most 90
}

// ForecastResult is what goes on which day if nobody acts meanwhile.
type ForecastResult struct {
	Now time.Time `json:"now"`
	// Doubt is why nothing goes now, whatever is due: the clock is in doubt.
	Doubt string `json:"doubt,omitempty"`
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
	// FreedBytes is the bytes whose last reference goes then, without what limits keep. AtLeast
	// reports that it may be more: of some bytes not all references are known here, or a limit
	// lets some of a cause go.
	FreedBytes int64           `json:"freed_bytes"`
	AtLeast    bool            `json:"at_least,omitempty"`
	Held       Amount          `json:"held"` // what would go as well, and is held
	By         []ForecastCause `json:"by"`
	Limits     []ForecastLimit `json:"limits,omitempty"`
}

// ForecastCause is what goes on a day of one bucket for one cause.
type ForecastCause struct {
	Bucket string `json:"bucket"`         // empty: buckets that were deleted
	By     string `json:"by"`             // ttl, read (for the last time), rule, undo or abort
	Rule   string `json:"rule,omitempty"` // ID
	Amount
	FreedBytes int64  `json:"freed_bytes"`
	AtLeast    bool   `json:"at_least,omitempty"`
	Held       Amount `json:"held"`
}

// ForecastLimit is a deletion limit that would stop some of what goes on a day, if all of it
// was due within an hour. What rules end is, at midnight. What holds keep is in none of its
// counts, though a limit on objects counts it until a run has set it aside.
type ForecastLimit struct {
	Kind   string `json:"kind"`
	Bucket string `json:"bucket,omitempty"` // none: it is of the whole store
	Due    int64  `json:"due"`
	Goes   int64  `json:"goes"`
	Why    string `json:"why"`
}

// ForecastDayRequest asks what goes on one day of a forecast, row by row.
type ForecastDayRequest struct {
	Day    time.Time `json:"day,omitzero"`     // an instant of it, in UTC; none: what is due already
	Bucket string    `json:"bucket,omitempty"` // none: all buckets
	By     string    `json:"by,omitempty"`     // ttl, read (for the last time), rule, undo or abort; none: all causes
	Rule   string    `json:"rule,omitempty"`   // ID; none: all rules
	After  string    `json:"after,omitempty"`  // Next of the page before
	Limit  int       `json:"limit,omitempty"`  // rows; default and most 1000
}

// ForecastRows is a page of what goes on a day: objects by when they end, then trash entries,
// then incomplete uploads. Those that a hold or a limit was met by come after the others of
// their kind. A page may be shorter than its limit, or empty, while More is set.
type ForecastRows struct {
	Now  time.Time     `json:"now"`
	Rows []ForecastRow `json:"rows"`
	More bool          `json:"more,omitempty"`
	Next string        `json:"next,omitempty"`
}

// ForecastRow is an object, a trash entry (by undo) or an incomplete upload (by abort) that
// goes.
type ForecastRow struct {
	Bucket string    `json:"bucket"`
	Key    string    `json:"key"`
	Size   int64     `json:"size"` // of an upload, the bytes of its stored parts
	EndsAt time.Time `json:"ends_at"`
	By     string    `json:"by"`             // ttl, read (for the last time), rule, undo or abort
	Rule   string    `json:"rule,omitempty"` // ID
	Held   bool      `json:"held,omitempty"` // a hold keeps it
}
