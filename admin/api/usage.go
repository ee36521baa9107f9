package api

import (
	"math"
	"time"
)

// UsageRequest asks what a bucket stores, or a prefix of it.
type UsageRequest struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Since is how long ago growth is measured from ("1h", "7d", the default).
	Since string `json:"since,omitempty"`
}

// UsageTotals are what a number of objects come to. They are object rows: those that are due
// count until they are reclaimed.
type UsageTotals struct {
	Amount
	// StoredBytes is their share of the bytes that are stored. Bytes that several objects
	// or trash entries have in common are stored once, and divided evenly among them.
	StoredBytes int64 `json:"stored_bytes"`
	// WithoutEnd are those that neither a time to live nor a lifecycle rule ends.
	WithoutEnd Amount    `json:"without_end"`
	Oldest     time.Time `json:"oldest,omitzero"`
	Newest     time.Time `json:"newest,omitzero"`
}

// Growth is by how much an amount has changed since an earlier count.
type Growth struct {
	Since   time.Time `json:"since"`
	Objects int64     `json:"objects"`
	Bytes   int64     `json:"bytes"`
	// AtLeast reports that it may have grown by more: it was too small to be recorded.
	AtLeast bool `json:"at_least,omitempty"`
}

// UsageOrders are the orders in which buckets and prefixes are listed, by name: those with the
// largest value come first.
var UsageOrders = map[string]func(UsageTotals, *Growth) int64{
	"bytes":       func(t UsageTotals, _ *Growth) int64 { return t.Bytes },
	"objects":     func(t UsageTotals, _ *Growth) int64 { return t.Objects },
	"without-end": func(t UsageTotals, _ *Growth) int64 { return t.WithoutEnd.Bytes },
	"growth": func(_ UsageTotals, g *Growth) int64 {
		if g == nil {
			return math.MinInt64
		}
		return g.Bytes
	},
	"age": func(t UsageTotals, _ *Growth) int64 {
		if t.Oldest.IsZero() {
			return math.MinInt64
		}
		return -t.Oldest.Unix()
	},
}

// UsagePrefix is what is below a prefix that ends in a slash.
type UsagePrefix struct {
	Prefix string `json:"prefix"`
	UsageTotals
	Growth *Growth `json:"growth,omitempty"` // nil: not known
}

// UsageClass is the objects below a size or an age, and not below that of the class before.
type UsageClass struct {
	Below int64 `json:"below,omitempty"` // bytes, or seconds; none: no bound
	Amount
	WithoutEnd Amount `json:"without_end"`
}

// UsageCount is when and how a count was made.
type UsageCount struct {
	// At is when the count began; none: the bucket was not counted yet.
	At time.Time `json:"counted_at,omitzero"`
	// Live reports that the rows were counted for this request. Otherwise the count is the
	// last one of the routine usage.
	Live bool `json:"live,omitempty"`
	// Partial reports that the count stopped because there was too much to count for one
	// request: there is at least so much.
	Partial bool `json:"partial,omitempty"`
}

// Gets are the gets of a bucket's objects that the process that answers has served since it
// started: what the client has already (304) was found. Other instances count their own.
type Gets struct {
	Since  time.Time `json:"since"`
	Found  int64     `json:"found"`
	Missed int64     `json:"missed"`
}

// Usage is what a bucket stores, or a prefix of it.
type Usage struct {
	Bucket string    `json:"bucket"`
	Prefix string    `json:"prefix,omitempty"`
	Now    time.Time `json:"now"`
	UsageCount
	UsageTotals
	Growth *Growth `json:"growth,omitempty"` // nil: not known
	Gets   *Gets   `json:"gets,omitempty"`   // of a whole bucket; nil: none were counted
	// First is when the count was made from which growth is measured, or would be; none: the
	// routine usage made none yet.
	First time.Time `json:"first_counted_at,omitzero"`
	// The others are known of a whole bucket, and of what was counted live.
	Held    Amount       `json:"held"` // objects that holds keep
	Trash   Amount       `json:"trash"`
	Uploads Amount       `json:"uploads"` // incomplete ones, with the bytes of their stored parts
	Sizes   []UsageClass `json:"sizes,omitempty"`
	Ages    []UsageClass `json:"ages,omitempty"`
	// Prefixes are the largest ones below Prefix, at any depth, each with all those above
	// it, in byte order. Below is how many there are directly below Prefix.
	Prefixes []UsagePrefix `json:"prefixes,omitempty"`
	Below    int           `json:"below,omitempty"`
}

// BucketUsagesRequest asks what all buckets store.
type BucketUsagesRequest struct {
	Since string `json:"since,omitempty"` // as in UsageRequest
}

// BucketUsages are what all buckets store, by name.
type BucketUsages struct {
	Now     time.Time     `json:"now"`
	Buckets []BucketUsage `json:"buckets"`
}

// BucketUsage is what a bucket stores, in short. Objects and Bytes are exact; the rest is of
// the count.
type BucketUsage struct {
	Bucket string `json:"bucket"`
	UsageCount
	UsageTotals
	// Soon is what is due now, today and tomorrow (UTC).
	Soon   Amount  `json:"soon"`
	Growth *Growth `json:"growth,omitempty"` // nil: not known
}
