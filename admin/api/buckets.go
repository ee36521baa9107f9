package api

import (
	"cmp"
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

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

// BeyondQuota returns what a bucket that evicts would evict soon after a change: by how much it
// would be above its low mark, if it were above the high one.
func (b Bucket) BeyondQuota(c BucketChange) Amount {
	if cmp.Or(value(c.WhenFull), b.WhenFull) != "evict" {
		return Amount{}
	}
	high := cmp.Or(value(c.EvictHigh), b.EvictHigh, ledger.DefaultEvictHigh)
	then := ledger.Bucket{Objects: b.Objects, Bytes: b.Bytes, BucketSettings: ledger.BucketSettings{
		QuotaObjects: b.QuotaObjects, QuotaBytes: b.QuotaBytes, Evict: ledger.Eviction{
			Order: ledger.EvictByRead, // either order takes as much
			High:  high,
			Low:   min(high, cmp.Or(value(c.EvictLow), b.EvictLow, ledger.DefaultEvictLow)),
		},
	}}
	if c.QuotaObjects != nil {
		then.QuotaObjects = *c.QuotaObjects
	}
	if c.QuotaBytes != nil {
		then.QuotaBytes = *c.QuotaBytes
	}
	beyond := then.Excess(ledger.EvictRequest{})
	return Amount{Objects: beyond.Objects, Bytes: beyond.Bytes}
}

// value returns what a pointer points to, or nothing.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
