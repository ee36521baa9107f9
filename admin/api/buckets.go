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
}
