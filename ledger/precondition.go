package ledger

import (
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Precondition is a condition on the object under the key, checked in the transaction of the
// write or delete. The zero value always holds. ETags are without quotes; "*" matches any
// object.
type Precondition struct {
	IfMatch     string     `json:"m,omitempty"` // fails unless the object exists with one of these ETags (comma separated)
	IfNoneMatch string     `json:"n,omitempty"` // fails if the object exists with one of these ETags, or at all with "*"
	IfID        lethe.ID   `json:"i,omitempty"` // fails unless the object is exactly this version
	IfSize      *int64     `json:"s,omitempty"` // delete only
	IfModified  lethe.Time `json:"t,omitempty"` // delete only: ModifiedAt, compared in whole seconds
}

// VisibleAt reports whether readers see the object at the instant now.
func (o *Object) VisibleAt(now lethe.Time) bool {
	return o != nil && o.ReadsLeft != AllRead && !o.TTLPassed(now) && (o.IdleAt == 0 || o.IdleAt > now)
}

// TTLPassed reports whether the object's time to live has ended: none is restored from the trash
// after that.
func (o *Object) TTLPassed(now lethe.Time) bool { return o.TTLAt != 0 && o.TTLAt <= now }

// needsObject reports whether the precondition fails where no object is.
func (p Precondition) needsObject() bool {
	return p.IfMatch != "" || p.IfID != "" || p.IfSize != nil || p.IfModified != 0
}

// Holds returns ErrPreconditionFailed if the precondition fails for the visible object under
// the key, nil for none.
func (p Precondition) Holds(o *Object) error {
	const second = lethe.Time(time.Second / time.Microsecond)
	switch {
	case o == nil && p.needsObject():
		return fmt.Errorf("the key has no object: %w", lethe.ErrPreconditionFailed)
	case o == nil:
		return nil
	case p.IfMatch != "" && !MatchesETag(p.IfMatch, o.ETag),
		p.IfNoneMatch != "" && MatchesETag(p.IfNoneMatch, o.ETag),
		p.IfID != "" && p.IfID != o.ID,
		p.IfSize != nil && *p.IfSize != o.Size,
		p.IfModified != 0 && p.IfModified/second != o.ModifiedAt/second:
		return fmt.Errorf("the key has version %s: %w", o.ID, lethe.ErrPreconditionFailed)
	}
	return nil
}

// MatchesETag reports whether the list names an object with this ETag: it is "*", or ETags
// separated by commas, with or without quotes. Weak ETags ("W/") match none.
func MatchesETag(list, etag string) bool {
	for m := range strings.SplitSeq(list, ",") {
		m = strings.TrimSpace(m)
		if m == "*" || strings.Trim(m, `"`) == etag {
			return true
		}
	}
	return false
}

// EndOf returns when an object written now ends. That is the wish (relative to now, or
// absolute), else the default, at most the longest life. Of the bucket's and the access key's
// the shorter counts. A longer wish returns ErrInvalidTTL.
func (b *Bucket) EndOf(now lethe.Time, wish TTLChange, byDefault time.Duration) (lethe.Time, error) {
	if wish.TTL < 0 || wish.At < 0 {
		return 0, fmt.Errorf("a time to live must not be negative: %w", lethe.ErrInvalidTTL)
	}
	end := wish.At
	if wish.TTL > 0 {
		end = now.Add(wish.TTL)
	}
	latest, longest := lethe.Forever, shorter(b.MaxTTL, wish.ByKey.Max)
	if longest > 0 {
		latest = now.Add(longest)
	}
	switch {
	case end > latest && longest == b.MaxTTL:
		return 0, fmt.Errorf("bucket %s keeps objects no longer than %s: %w", b.Name, lethe.FormatTTL(longest), lethe.ErrInvalidTTL)
	case end > latest:
		return 0, fmt.Errorf("what access key %s writes is kept no longer than %s: %w", wish.ByKey.Key, lethe.FormatTTL(longest), lethe.ErrInvalidTTL)
	case end != 0:
		return end, nil
	}
	if ttl := b.ttlWithout(byDefault, wish.ByKey); ttl > 0 {
		return now.Add(ttl), nil
	}
	return 0, nil
}

// ttlWithout returns the default, or the key's, at most as long as both permit; 0: no end.
func (b BucketSettings) ttlWithout(byDefault time.Duration, key KeyTTL) time.Duration {
	return shorter(shorter(byDefault, key.Default), shorter(b.MaxTTL, key.Max))
}
