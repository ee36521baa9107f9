package api

import "time"

// Simulation is what each rule would expire, and how the limits would decide
// about all rules together.
type Simulation struct {
	Rules []Forecast `json:"rules"`
	// TTL is what goes by its own time to live, before any rule ends it.
	TTL Ends `json:"ttl"`
	// Read is what was read for the last time.
	Read Ends `json:"read"`
	// Idle is what nobody has read for its idle time, if nobody does meanwhile.
	Idle Ends `json:"idle"`
	// Abandoned are the incomplete uploads that nobody adds to
	// (reclaim.grace.multipart_stale), before any rule aborts them.
	Abandoned UploadForecast `json:"abandoned"`
	// Limits are the verdicts of reclaim.limits.rules on what expires today,
	// and on the later day on which the most would at once.
	Limits []Verdict `json:"limits"`
}

// Forecast is what a rule would expire. What a hold keeps is counted
// separately, of all that would expire within the days asked for.
type Forecast struct {
	Rule
	Ends
	// Uploads are the incomplete uploads that it would abort.
	Uploads UploadForecast `json:"uploads"`
}

// Ends are the objects that end for one cause.
type Ends struct {
	Today    Amount    `json:"today"` // up to the next midnight in UTC
	Days     Amount    `json:"days"`  // within the days asked for, today included
	Held     Amount    `json:"held"`
	Examples []Example `json:"examples,omitempty"`
}

// Amount is a number of objects and their bytes.
type Amount struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// Example is an object that a rule would expire.
type Example struct {
	Key        string    `json:"key"`
	Size       int64     `json:"size"`
	ModifiedAt time.Time `json:"modified_at"`
	EndsAt     time.Time `json:"ends_at"`
}

// UploadForecast is what a rule would abort of incomplete uploads.
type UploadForecast struct {
	Today    UploadAmount    `json:"today"`
	Days     UploadAmount    `json:"days"`
	Held     UploadAmount    `json:"held"`
	Examples []UploadExample `json:"examples,omitempty"`
}

// UploadAmount is a number of incomplete uploads and the bytes of their stored parts.
type UploadAmount struct {
	Uploads int64 `json:"uploads"`
	Bytes   int64 `json:"bytes"`
}

// UploadExample is an incomplete upload that a rule would abort.
type UploadExample struct {
	Key     string    `json:"key"`
	ID      string    `json:"id"`
	Bytes   int64     `json:"bytes"`
	BegunAt time.Time `json:"begun_at"`
	EndsAt  time.Time `json:"ends_at"`
}

// Verdict is the decision of the rules' deletion limit on objects of a bucket
// that are due at once: how many would be deleted within the hour. What holds keep is in none
// of its counts, though the limit counts it until a run has set it aside.
type Verdict struct {
	At   time.Time `json:"at"` // the midnight by which they are due
	Due  int64     `json:"due"`
	Has  int64     `json:"has"` // objects in the bucket then, as far as is known now
	Goes int64     `json:"goes"`
	Why  string    `json:"why,omitempty"` // the others would not; empty: all go
}
