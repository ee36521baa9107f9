package ledger

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Stale says when an open upload was left lying: when nobody has touched it for
// Age, or for the shorter time of a backend that has one of its parts.
type Stale struct {
	Age time.Duration
	On  map[string]time.Duration // by backend; what is not shorter than Age counts for nothing
}

// Of returns how long an upload with parts on these backends may lie untouched, and
// the backend that makes it so short; none if it is Age.
func (s Stale) Of(backends []string) (age time.Duration, by string) {
	age = s.Age
	for _, b := range slices.Sorted(slices.Values(backends)) {
		if on, own := s.On[b]; own && on < age {
			age, by = on, b
		}
	}
	return age, by
}

// Shortest is how long an upload may lie untouched wherever its parts are.
func (s Stale) Shortest() time.Duration {
	age := s.Age
	for _, on := range s.On {
		age = min(age, on)
	}
	return age
}

// OverdueUpload is an open upload whose time is over, as it was left lying or as a
// rule gives it up, and what it holds.
type OverdueUpload struct {
	Upload   Upload
	At       lethe.Time // since when
	Rule     string     // lifecycle.Rule.ID of the rule; empty: it was left lying
	Stale    time.Duration
	By       string   // the backend whose own time that is; empty: it is that of all
	Backends []string // of its stored parts, in order
	Blobs    int64    // its stored parts
	Bytes    int64    // of those
	Held     bool     // by a hold, so that it stays
}

// OverdueQuery asks for uploads whose time is over.
type OverdueQuery struct {
	Stale Stale // of StaleUploads
	Held  bool  // also those that are held
	Limit int
}

// upload counts an upload, all but that it waits.
func (b *Backlog) CountUpload(u OverdueUpload, now lethe.Time) {
	switch {
	case u.At > now:
		b.NextDue = Earlier(b.NextDue, u.At)
	case u.Held:
		b.Held++
		b.HeldBytes += u.Bytes
	default:
		b.Count++
		b.Bytes += u.Bytes
		b.Oldest = Earlier(b.Oldest, u.At)
	}
}

// stale says since when the upload counts as left lying.
func (u *OverdueUpload) SetStale(s Stale) {
	u.Stale, u.By = s.Of(u.Backends)
	u.At = u.Upload.TouchedAt.Add(u.Stale)
}
