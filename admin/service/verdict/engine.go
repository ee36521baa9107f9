package verdict

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

const (
	// slowLedger is how long the ledger may take to answer, in seconds.
	slowLedger = 1.0
	// clockLate is how far the machine's clock may be behind before that is critical, in
	// seconds.
	clockLate = 60.0
)

// ofLedger returns what is wrong with the ledger as this process sees it.
func ofLedger(s api.Status) (list []api.StatusFinding) {
	if s.LedgerError != "" {
		return []api.StatusFinding{finding(about{api.SeverityCritical, api.KindLedgerDown, "", "lethe config print"},
			"the database does not answer: requests get 503, and nothing is reclaimed: %s", short(s.LedgerError))}
	}
	if s.Ledger.Full {
		list = append(list, finding(about{api.SeverityCritical, api.KindLedgerFull, "", "lethe reclaim --once"},
			"the ledger's disk is full: deletes continue, new objects are refused until there is room"))
	}
	if s.Ledger.Refused != "" {
		list = append(list, finding(about{api.SeverityCritical, api.KindLedgerReadOnly, "", "lethe config print"},
			"the database takes no writes: they get 503, and nothing is reclaimed: %s", short(s.Ledger.Refused)))
	}
	if s.LedgerLatency > slowLedger {
		list = append(list, finding(about{api.SeverityWarning, api.KindLedgerSlow, "", "lethe config print"},
			"the database takes %s to answer", words.Span(seconds(s.LedgerLatency))))
	}
	switch {
	case s.ClockAhead > 0:
		list = append(list, finding(about{api.SeverityCritical, api.KindClock, "ahead", "lethe clock show"},
			"the machine's clock was set forward by %s: nothing is removed by age; set it back, or stop the server and start it if it is right now", words.Span(seconds(s.ClockAhead))))
	case s.ClockBehind > clockLate:
		list = append(list, finding(about{api.SeverityCritical, api.KindClock, "behind", "lethe clock show"},
			"the machine's clock is %s behind the ledger's: nothing becomes due until it has caught up", words.Span(seconds(s.ClockBehind))))
	case s.ClockBehind > 0:
		list = append(list, finding(about{api.SeverityNotice, api.KindClock, "behind", "lethe clock show"},
			"the machine's clock is %s behind the ledger's", words.Span(seconds(s.ClockBehind))))
	}
	return list
}

// overdue is how long a routine may be without success beyond two intervals, in seconds.
const overdue = 600.0

// ofRoutines returns which routines of this process fail, or have had no success for long.
func ofRoutines(s api.Status) (list []api.StatusFinding) {
	if !s.Serving || !slices.Contains(s.Roles, "reclaim") {
		return nil
	}
	for _, r := range s.Routines {
		next := "lethe reclaim --once --only " + r.Name
		late := s.Now.Sub(lastSuccess(r, s.StartedAt))
		switch {
		case r.Error != "":
			list = append(list, since(r.FailingSince, finding(about{api.SeverityWarning, api.KindRoutineFails, r.Name, next}, "the routine %s fails: %s", r.Name, short(r.Error))))
		case r.Interval > 0 && !r.Running && late > seconds(2*r.Interval+overdue):
			f := finding(about{api.SeverityWarning, api.KindRoutineFails, r.Name, next}, "the routine %s has not succeeded for %s", r.Name, words.Span(late))
			f.Since = s.Now.Add(-late)
			list = append(list, f)
		}
	}
	return list
}

// lastSuccess returns the latest instant at which a routine succeeded, here or elsewhere; the
// start of the process if it never did.
func lastSuccess(r api.RoutineStatus, started time.Time) time.Time {
	latest := started
	for _, t := range []time.Time{r.SucceededAt, goodRun(r)} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}

func goodRun(r api.RoutineStatus) time.Time {
	if r.LastGood == nil {
		return time.Time{}
	}
	return r.LastGood.Finished
}

// queues are the routines whose due items must not wait, with the seconds that they may wait
// beyond two intervals of the schedule, and what they are.
var queues = []struct {
	routine   string
	slack     float64
	one, many string
}{
	{"expire", 900, "object whose time has come", "objects whose time has come"},
	{"purge", 900, "trash entry", "trash entries"},
	{"reap", 900, "unfinished write", "unfinished writes"},
	{"clean", 7200, "blob to delete", "blobs to delete"},
	{"replicate", 3600, "content that needs copies", "contents that need copies"},
}

// ofQueues returns which routines are behind: their items have been due for longer than their
// schedule explains.
func ofQueues(s api.Status) (list []api.StatusFinding) {
	for _, q := range queues {
		for _, r := range s.Routines {
			if r.Name != q.routine || r.Backlog.Due == 0 || r.Backlog.Age <= 2*r.Interval+q.slack {
				continue
			}
			f := finding(about{api.SeverityWarning, api.KindBehind, r.Name, "lethe reclaim --once --only " + r.Name},
				"reclaiming is behind by %s: %s %s for the routine %s", words.Span(seconds(r.Backlog.Age)),
				words.Plural(r.Backlog.Due, q.one, q.many), waits(r.Backlog.Due), r.Name)
			f.Since = r.Backlog.Oldest
			list = append(list, f)
		}
	}
	if f := s.FailingCopies; f != nil {
		list = append(list, finding(about{api.SeverityWarning, api.KindCopiesFail, "", "lethe backend list"},
			"copies of %s could not be made for an hour: %s", words.Plural(f.Count, "content", "contents"), short(f.Error)))
	}
	return list
}

func waits(n int64) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}

// limited are the deletions of each kind of limit.
var limited = map[string]string{
	string(ledger.LimitRules): "deletions by lifecycle rules", string(ledger.LimitTTL): "deletions by time to live",
	string(ledger.LimitPurge): "purges of the trash", string(ledger.LimitDeletes): "deletes",
}

// ofLimits returns which deletion limits and which clocks have stopped something, and the
// holds that are set.
func ofLimits(s api.Status) (list []api.StatusFinding) {
	for _, g := range s.Trips {
		of, name := "", cmp.Or(g.Name, g.Subject)
		switch {
		case name == "":
		case g.Kind == string(ledger.LimitDeletes) || g.Kind == string(ledger.LimitClock):
			of = " on backend " + name
		default:
			of = " in bucket " + name
		}
		var f api.StatusFinding
		switch allow := "lethe limits allow " + g.Kind; {
		case g.Kind == string(ledger.LimitClock):
			f = finding(about{api.SeverityCritical, api.KindClock, name, "lethe limits show"},
				"the clocks of the ledger and of backend %s differ: %s; correct the wrong one", name, g.Reason)
		case g.Until != 0:
			f = finding(about{api.SeverityNotice, api.KindLimit, g.Kind + " " + name, "lethe limits show"},
				"%s%s pause until %s: %s", limited[g.Kind], of, g.Until.Time().UTC().Format("15:04 MST"), g.Reason)
		case name == "":
			f = finding(about{api.SeverityWarning, api.KindLimit, g.Kind, allow}, "%s%s wait for your permission: %s", limited[g.Kind], of, g.Reason)
		default:
			f = finding(about{api.SeverityWarning, api.KindLimit, g.Kind + " " + name, allow + " " + name}, "%s%s wait for your permission: %s", limited[g.Kind], of, g.Reason)
		}
		f.Since = sinceOf(g.Since)
		list = append(list, f)
	}
	switch kept := ""; {
	case s.Holds > 0:
		if s.Deferred > 0 {
			kept = "; holds and limits keep " + words.Plural(s.Deferred, "object that is due", "objects that are due")
		}
		list = append(list, finding(about{api.SeverityNotice, api.KindHolds, "", "lethe hold list"}, "%s set%s", words.Plural(s.Holds, "hold is", "holds are"), kept))
	case s.Deferred > 0:
		list = append(list, finding(about{api.SeverityNotice, api.KindHolds, "", "lethe limits show"},
			"a limit keeps %s", words.Plural(s.Deferred, "object that is due", "objects that are due")))
	}
	return list
}

// slowest is the last backoff level.
const slowest = 4

// ofServices returns what is wrong around this process: Redis, the cache, the load.
func ofServices(s api.Status) (list []api.StatusFinding) {
	if s.Redis != nil && !s.Redis.Up {
		why := ""
		if s.Redis.Error != "" {
			why = ": " + short(s.Redis.Error)
		}
		list = append(list, since(s.Redis.Since, finding(about{api.SeverityWarning, api.KindRedisDown, "", "lethe config print"},
			"Redis does not answer; everything works without it, only slower%s", why)))
	}
	if w := s.WrongValues; w != nil && s.Now.Sub(w.Last) < wrongFor {
		list = append(list, finding(about{api.SeverityWarning, api.KindCacheWrong, "", "lethe config print"},
			"the cache returned %s, the last %s ago; they were dropped, and the backend was read", words.Plural(w.Count, "wrong value", "wrong values"), words.Span(s.Now.Sub(w.Last))))
	}
	for _, kind := range slices.Sorted(maps.Keys(s.Contradictions)) {
		list = append(list, finding(about{api.SeverityCritical, api.KindBooks, kind, "lethe check"},
			"a check found the ledger in contradiction with itself: %s of kind %s; keep its file and a backup", words.Plural(s.Contradictions[kind], "problem", "problems"), kind))
	}
	if s.BackoffLevel >= slowest {
		list = append(list, finding(about{api.SeverityNotice, api.KindSlowed, "", "lethe config print"}, "reclaiming goes as slowly as it can: %s", s.SlowedBy))
	}
	return list
}

// wrongFor is how long a wrong value of the cache is worth telling.
const wrongFor = 15 * time.Minute
