package lifecycle

import (
	"maps"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Rule ends objects, incomplete uploads, or both. The zero value matches everything and ends
// nothing.
type Rule struct {
	ID string `json:"id"`
	// Number identifies this version of the rule in its bucket, forever. A new or changed
	// rule gets a new number, so a number shows whether the rule is still in force. The
	// ledger sets it (Rules.Succeed).
	Number   int64  `json:"no,omitempty"`
	Disabled bool   `json:"off,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
	// Whole confirms that an empty prefix is meant: every object of the bucket.
	Whole bool              `json:"whole,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"` // all of them
	// Over and Under bound the size in bytes, exclusive; nil: no bound.
	Over  *int64 `json:"over,omitempty"`
	Under *int64 `json:"under,omitempty"`
	// Days ends objects this many days after they were modified, Date at an instant. At most
	// one of them is set.
	Days int        `json:"days,omitempty"`
	Date lethe.Time `json:"date,omitempty"`
	// AbortDays aborts uploads this many days after they were begun; 0: never.
	AbortDays int `json:"abort,omitempty"`
	// Legacy: the prefix was beside the filter, and is written there again.
	Legacy bool `json:"legacy,omitempty"`
}

// Facts are the properties of an object that rules match.
type Facts struct {
	Key      string
	Tags     map[string]string
	Size     int64 // bytes
	Modified lethe.Time
}

// Matches reports whether the rule applies to an object, enabled or not.
func (r *Rule) Matches(f Facts) bool {
	if !strings.HasPrefix(f.Key, r.Prefix) || r.Over != nil && f.Size <= *r.Over || r.Under != nil && f.Size >= *r.Under {
		return false
	}
	for k, v := range r.Tags {
		if have, ok := f.Tags[k]; !ok || have != v {
			return false
		}
	}
	return true
}

// Expires reports whether the rule ends objects.
func (r *Rule) Expires() bool { return r.Days > 0 || r.Date != 0 }

// Everything reports whether the rule ends every object of its bucket.
func (r *Rule) Everything() bool {
	return r.Expires() && r.Prefix == "" && len(r.Tags) == 0
}

// day is 24 hours: S3 counts days in UTC.
const day = 24 * time.Hour

// end returns when the rule ends an object that it matches. S3 rounds days up to the next
// midnight. An object written after Date ends at once.
func (r *Rule) end(modified lethe.Time) lethe.Time {
	if r.Date != 0 {
		return max(r.Date, modified)
	}
	return midnightAfter(modified, r.Days)
}

// Midnight returns the first midnight in UTC after an instant.
func Midnight(t lethe.Time) lethe.Time { return midnightAfter(t, 0) }

// midnightAfter returns the first midnight in UTC after so many days.
func midnightAfter(t lethe.Time, days int) lethe.Time {
	const perDay = lethe.Time(day / time.Microsecond)
	at := t + lethe.Time(days)*perDay
	return at - at%perDay + perDay
}

// sameEffect reports whether two rules have the same effect and the same ID.
func (r *Rule) sameEffect(o *Rule) bool {
	return r.ID == o.ID && r.Disabled == o.Disabled && r.Prefix == o.Prefix &&
		maps.Equal(r.Tags, o.Tags) && equal(r.Over, o.Over) && equal(r.Under, o.Under) &&
		r.Days == o.Days && r.Date == o.Date && r.AbortDays == o.AbortDays
}

func equal(a, b *int64) bool { return a == b || a != nil && b != nil && *a == *b }
