package console

import (
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
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
	s, err := v.h.opt.Operators.CachedStatus(v.as())
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
