package console

import (
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// home is what the first page shows.
type home struct {
	Status    api.Status
	Stored    int64 // bytes on all backends that are referenced
	Saved     int64 // by sharing; 0 if copies need more than sharing saves
	Leaving   total
	Dead      total
	Waiting   int64 // items that are due
	NextDue   time.Time
	Refreshed time.Time
}

// total is a number of blobs and their bytes.
type total struct{ Blobs, Bytes int64 }

func (v *visit) home() (templ.Component, error) {
	s, err := v.h.opt.Operators.Glance(v.as())
	if err != nil {
		return nil, err
	}
	v.live = 5
	v.sameAs("status")
	return homePage(v.frame(), homeOf(s)), nil
}

func homeOf(s api.Status) home {
	h := home{Status: s, Refreshed: s.Now, Stored: s.Inline.Bytes}
	for _, b := range s.Backends {
		h.Stored += stateOf(b, lethe.Live).Bytes
		for sum, state := range map[*total]lethe.State{&h.Leaving: lethe.Condemned, &h.Dead: lethe.Dead} {
			st := stateOf(b, state)
			sum.Blobs += st.Blobs
			sum.Bytes += st.Bytes
		}
	}
	h.Saved = max(s.Bytes-h.Stored, 0)
	for _, r := range s.Routines {
		h.Waiting += r.Backlog.Due
		if next := r.Backlog.NextDue; !next.IsZero() && (h.NextDue.IsZero() || next.Before(h.NextDue)) {
			h.NextDue = next
		}
	}
	return h
}

// stateOf returns what a backend holds in a state.
func stateOf(b api.BackendStatus, state lethe.State) api.StateTotal {
	for _, st := range b.States {
		if st.State == state.String() {
			return st
		}
	}
	return api.StateTotal{}
}

const notConfigured = "not in the configuration"

// downOf says why a backend is not used at all; empty: it is used.
func downOf(b api.BackendStatus) string {
	switch {
	case b.Misplaced != "":
		return "not in its place"
	case b.Breaker != nil && b.Breaker.Open, b.Unreachable != "":
		return "does not answer"
	case b.Missing:
		return notConfigured
	}
	return ""
}

// roomOf describes the room of a backend.
func roomOf(b api.BackendStatus) string {
	switch {
	case downOf(b) != "":
		return downOf(b)
	case b.Draining:
		return "is being drained"
	case b.Quota > 0:
		var used int64
		for _, st := range b.States {
			used += st.Bytes
		}
		return words.Size(max(b.Quota-used, 0)) + " of " + words.Size(b.Quota) + " free"
	case b.Free != nil:
		return words.Size(*b.Free) + " free on the disk"
	}
	return "no quota"
}
