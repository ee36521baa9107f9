package ledger

import (
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/lifecycle"
)

// Stale is when an open upload counts as abandoned: when it was not touched for Age, or for
// the shorter time of a backend that holds one of its parts.
type Stale struct {
	Age time.Duration
	On  map[string]time.Duration // by backend; a time that is not below Age is ignored
}

// Of returns how long an upload with parts on these backends may stay untouched, and the
// backend that shortens it; "" if it is Age.
func (s Stale) Of(backends []string) (age time.Duration, by string) {
	age = s.Age
	for _, b := range slices.Sorted(slices.Values(backends)) {
		if on, own := s.On[b]; own && on < age {
			age, by = on, b
		}
	}
	return age, by
}

// Shortest returns how long an upload may stay untouched, wherever its parts are.
func (s Stale) Shortest() time.Duration {
	age := s.Age
	for _, on := range s.On {
		age = min(age, on)
	}
	return age
}

// OverdueUpload is an open upload whose time has passed, because it is abandoned or because
// a rule aborts it.
type OverdueUpload struct {
	Upload   Upload
	At       lethe.Time // since when it is overdue
	Rule     string     // lifecycle.Rule.ID of the rule; empty: it is abandoned
	Stale    time.Duration
	By       string   // the backend whose shorter time applies; empty: the general one does
	Backends []string // of its stored parts, sorted
	Blobs    int64    // its stored parts
	Bytes    int64    // of those
	Held     bool     // a hold keeps it
}

// OverdueQuery asks for uploads whose time has passed.
type OverdueQuery struct {
	Stale Stale // used by StaleUploads
	Held  bool  // include held uploads
	Limit int
}

// CountUpload counts an upload as due, held or later.
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

// SetStale sets since when the upload counts as abandoned, and by which backend.
func (u *OverdueUpload) SetStale(s Stale) {
	u.Stale, u.By = s.Of(u.Backends)
	u.At = u.Upload.TouchedAt.Add(u.Stale)
}

// Ends returns when and by what the upload is aborted: as abandoned at its At, or before
// that by a rule in force.
func (u *OverdueUpload) Ends(rs lifecycle.Rules) Ending {
	e := Ending{At: u.At, By: EndsByAbort}
	if r, at := rs.Aborts(u.Upload.Key, u.Upload.CreatedAt); r != nil && at < e.At {
		e.At, e.Rule = at, r.ID
	}
	return e
}
