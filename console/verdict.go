package console

import (
	"cmp"
	"fmt"
	"time"

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
