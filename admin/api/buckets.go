package api

import "time"

// Bucket is a bucket with its settings and exact totals. Durations have the
// form of times to live ("12h"); empty means none.
type Bucket struct {
	Name         string    `json:"name"`
	Owner        string    `json:"owner"`
	CreatedAt    time.Time `json:"created_at"`
	Objects      int64     `json:"objects"`
	Bytes        int64     `json:"bytes"`
	DefaultTTL   string    `json:"default_ttl,omitempty"`
	MaxTTL       string    `json:"max_ttl,omitempty"`
	DefaultIdle  string    `json:"default_idle,omitempty"` // how long objects are kept after their last read
	MaxIdle      string    `json:"max_idle,omitempty"`
	QuotaBytes   int64     `json:"quota_bytes,omitempty"`
	QuotaObjects int64     `json:"quota_objects,omitempty"`
	Undo         string    `json:"undo,omitempty"`
	Eviction
}

// Eviction is what a bucket does when its quota is used up.
type Eviction struct {
	// WhenFull is "refuse" or "evict": whether it refuses writes, or what was used longest ago goes.
	WhenFull    string `json:"when_full"`
	EvictOrder  string `json:"evict_order,omitempty"`   // "read" or "written": whether reads count as use
	EvictHigh   int    `json:"evict_high,omitempty"`    // percent of the quota above which the engine evicts
	EvictLow    int    `json:"evict_low,omitempty"`     // percent of the quota down to which all evict
	EvictMinAge string `json:"evict_min_age,omitempty"` // what was used since is not evicted
}

// BucketChange changes settings of a bucket; what is null stays. Durations have
// the form of times to live, or are "none".
type BucketChange struct {
	Name         string  `json:"name"`
	DefaultTTL   *string `json:"default_ttl,omitempty"`
	MaxTTL       *string `json:"max_ttl,omitempty"`
	DefaultIdle  *string `json:"default_idle,omitempty"`
	MaxIdle      *string `json:"max_idle,omitempty"`
	QuotaBytes   *int64  `json:"quota_bytes,omitempty"`
	QuotaObjects *int64  `json:"quota_objects,omitempty"`
	Undo         *string `json:"undo,omitempty"`
	WhenFull     *string `json:"when_full,omitempty"`   // "refuse" or "evict"
	EvictOrder   *string `json:"evict_order,omitempty"` // "read" or "written"
	EvictHigh    *int    `json:"evict_high,omitempty"`
	EvictLow     *int    `json:"evict_low,omitempty"`
	EvictMinAge  *string `json:"evict_min_age,omitempty"`
}
