package console

import (
	"cmp"
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// finding is something that an operator should know, and the command that comes next.
type finding struct {
	Level string // bad, warn or empty
	What  string
	Next  string
}

// verdict is the state of the store in one sentence, and what it rests on.
type verdict struct {
	Level    string // bad, warn or good
	Sentence string
	Findings []finding
}

// home is what the first page shows.
type home struct {
	Status    api.Status
	Verdict   verdict
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
	v.live, v.command = 5, []string{"status"}
	return homePage(v.frame(), homeOf(s)), nil
}

func homeOf(s api.Status) home {
	h := home{Status: s, Refreshed: s.Now}
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
	h.Verdict = verdictOn(s, h)
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

// behind is how long due work may wait before the store counts as behind.
const behind = 15 * time.Minute

func verdictOn(s api.Status, h home) verdict {
	var found []finding
	add := func(level, what, next string) { found = append(found, finding{level, what, next}) }
	if s.Ledger.Full {
		add("bad", "the ledger's disk is full: deletes go on, new objects are refused", "")
	}
	if s.ClockAhead > 0 {
		add("bad", "the clock was set forward by "+span(seconds(s.ClockAhead))+": nothing is removed by age", "lethe clock show")
	}
	if s.ClockBehind > 0 {
		add("warn", "the machine's clock is "+span(seconds(s.ClockBehind))+" behind the ledger's: nothing becomes due until it has caught up", "lethe clock show")
	}
	for _, b := range s.Backends {
		found = append(found, findingsOf(b)...)
	}
	for _, t := range s.Trips {
		if t.Tripped {
			add("warn", "a limit has stopped "+t.Kind+" of "+cmp.Or(t.Name, t.Subject, "the store")+": "+t.Reason, "lethe limits show")
		}
	}
	for _, r := range s.Routines {
		if r.Error != "" {
			add("warn", r.Name+" failed: "+r.Error, "lethe status")
		}
		if age := seconds(r.Backlog.Age); r.Backlog.Due > 0 && age > behind {
			add("warn", fmt.Sprintf("%s is behind by %s (%s due)", r.Name, span(age), number(r.Backlog.Due)), "lethe reclaim")
		}
	}
	for _, i := range s.Instances {
		if i.Silent {
			add("warn", "the instance "+i.ID+" on "+i.Host+" is silent", "")
		}
	}
	if h.Dead.Blobs > 0 {
		add("warn", "deletes of "+plural(h.Dead.Blobs, "blob were", "blobs were")+" given up ("+size(h.Dead.Bytes)+")", "lethe dead list")
	}
	if s.Redis != nil && !s.Redis.Up {
		add("warn", "Redis does not answer; everything works without it, only slower", "")
	}
	return verdictOf(found)
}

// findingsOf returns what is wrong with a backend.
func findingsOf(b api.BackendStatus) (out []finding) {
	accept := "lethe backend accept " + b.ID
	switch {
	case b.Misplaced != "":
		out = append(out, finding{"bad", "the backend " + b.ID + " is not in its place: " + b.Misplaced, ""})
	case b.Held != "":
		out = append(out, finding{"bad", "deletes on the backend " + b.ID + " are stopped: " + b.Held, accept})
	case b.Missing:
		out = append(out, finding{"bad", "the backend " + b.ID + " is not configured here", ""})
	}
	if b.Breaker != nil && b.Breaker.Open {
		out = append(out, finding{"bad", "the backend " + b.ID + " does not work: " + b.Breaker.Error, "lethe backend show " + b.ID})
	} else if b.Unwritable != "" {
		out = append(out, finding{"warn", "the backend " + b.ID + " takes no writes: " + b.Unwritable, "lethe backend show " + b.ID})
	}
	if b.S3 != nil && b.S3.NoDeletes != "" {
		out = append(out, finding{"warn", "the backend " + b.ID + " refuses deletes: " + b.S3.NoDeletes, "lethe backend show " + b.ID})
	}
	return out
}

func verdictOf(found []finding) verdict {
	if len(found) == 0 {
		return verdict{Level: "good", Sentence: "Healthy"}
	}
	worst := found[0]
	for _, f := range found {
		if f.Level == "bad" && worst.Level != "bad" {
			worst = f
		}
	}
	return verdict{Level: worst.Level, Sentence: sentence(worst.What), Findings: found}
}

// roomOf describes the room of a backend.
func roomOf(b api.BackendStatus) string {
	switch {
	case b.Draining:
		return "is being drained"
	case b.Quota > 0:
		var used int64
		for _, st := range b.States {
			used += st.Bytes
		}
		return size(max(b.Quota-used, 0)) + " of " + size(b.Quota) + " free"
	case b.Free != nil:
		return size(*b.Free) + " free on the disk"
	}
	return "no quota"
}
