package verdict_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/admin/service/verdict"
)

var now = time.Date(2026, 11, 25, 3, 0, 0, 0, time.UTC)

// well is a store in which all is well: a server on it, and two backends.
func well() api.Status {
	free := int64(1 << 40)
	states := func() []api.StateTotal {
		return []api.StateTotal{{State: "live", Blobs: 10, Bytes: 1 << 20}, {State: "condemned"}, {State: "dead"}}
	}
	return api.Status{
		Now: now, Serving: true, StartedAt: now.Add(-time.Hour), Roles: []string{"serve", "reclaim"},
		Backends: []api.BackendStatus{{ID: "main", Free: &free, States: states()}, {ID: "cold", Free: &free, States: states()}},
		Routines: []api.RoutineStatus{
			{Name: "expire", Interval: 5, SucceededAt: now}, {Name: "clean", Interval: 60, SucceededAt: now}, {Name: "verify", Interval: 86400},
		},
		Redis: &api.RedisStatus{Up: true},
	}
}

// decision is a change of that store, and what has to be said of it.
type decision struct {
	name     string
	change   func(*api.Status)
	severity string
	kind     string // of the worst finding; empty: there is none
	what     string // part of its text
	next     string // its command
}

func (d decision) check(t *testing.T) {
	t.Helper()
	s := well()
	d.change(&s)
	h := verdict.Of(s)
	switch {
	case h.Severity != d.severity:
		t.Errorf("%s is %s, not %s: %+v", d.name, h.Severity, d.severity, h.Findings)
	case h.Findings == nil:
		t.Errorf("%s: the findings are null in JSON", d.name)
	case d.kind == "" && len(h.Findings) > 0:
		t.Errorf("%s: %+v", d.name, h.Findings)
	case d.kind == "":
	case len(h.Findings) == 0 || h.Findings[0].Kind != d.kind || !strings.Contains(h.Findings[0].What, d.what) || h.Findings[0].Next != d.next:
		t.Errorf("%s: found %+v, wanted %s with %q and %q", d.name, h.Findings, d.kind, d.what, d.next)
	case d.severity != api.SeverityNotice && !strings.HasPrefix(h.Sentence, h.Findings[0].What):
		t.Errorf("%s: the verdict is %q", d.name, h.Sentence)
	}
	for _, f := range h.Findings {
		declared := slices.ContainsFunc(api.FindingKinds, func(k struct {
			Kind       string
			Severities []string
		}) bool {
			return k.Kind == f.Kind && slices.Contains(k.Severities, f.Severity)
		})
		if !declared || f.What == "" || !strings.HasPrefix(f.Next, "lethe ") {
			t.Errorf("%s: %+v is not of a declared kind, or says nothing", d.name, f)
		}
	}
}

func first(change func(*api.BackendStatus)) func(*api.Status) {
	return func(s *api.Status) { change(&s.Backends[0]) }
}

func target(t api.EventTarget) func(*api.Status) {
	t.Name, t.Configured, t.Most = "app", true, 100
	return func(s *api.Status) { s.EventTargets = []api.EventTarget{t} }
}

func routine(name string, change func(*api.RoutineStatus)) func(*api.Status) {
	return func(s *api.Status) {
		for i := range s.Routines {
			if s.Routines[i].Name == name {
				change(&s.Routines[i])
			}
		}
	}
}

func TestBackends(t *testing.T) {
	little := int64(1 << 20)
	for _, d := range []decision{
		{"a store", func(*api.Status) {}, api.SeverityOK, "", "", ""},
		{"a dead backend", first(func(b *api.BackendStatus) { b.Unreachable, b.Missing = "connection refused", true }),
			api.SeverityCritical, api.KindBackendDown, "backend main does not answer: connection refused", "lethe backend list"},
		{"an open breaker", first(func(b *api.BackendStatus) {
			b.Breaker = &api.BreakerFacts{Open: true, Error: "timeout", Since: now.Add(-time.Minute)}
		}), api.SeverityCritical, api.KindBackendDown, "is not called: timeout", "lethe backend list"},
		{"another disk", first(func(b *api.BackendStatus) { b.Misplaced, b.Missing = "it is empty", true }),
			api.SeverityCritical, api.KindBackendMisplaced, "not in its place: it is empty", "lethe backend list"},
		{"an unknown backend", first(func(b *api.BackendStatus) { b.Missing = true }),
			api.SeverityCritical, api.KindBackendUnknown, "not in the configuration", "lethe config print"},
		{"a bucket with versions", first(func(b *api.BackendStatus) { b.S3 = &api.S3Facts{NoWrites: "it keeps versions"} }),
			api.SeverityWarning, api.KindBackendReadOnly, "nothing is written to backend main: it keeps versions", "lethe backend list"},
		{"a disk that may only be read", first(func(b *api.BackendStatus) { b.NoWrites = "read-only file system" }),
			api.SeverityWarning, api.KindBackendReadOnly, "nothing is written to backend main: read-only file system", "lethe backend list"},
		{"a bucket with a lock", first(func(b *api.BackendStatus) { b.S3 = &api.S3Facts{NoDeletes: "it is locked"} }),
			api.SeverityWarning, api.KindDeletesRefused, "it is locked", "lethe backend list"},
		{"a full quota", first(func(b *api.BackendStatus) { b.Quota = 1 << 20 }),
			api.SeverityWarning, api.KindNoRoom, "its quota of 1.0 MiB is used up", "lethe reclaim --dry-run"},
		{"an almost full quota", first(func(b *api.BackendStatus) { b.Quota = 1<<20 + 1<<10 }),
			api.SeverityWarning, api.KindNoRoom, "1.0 KiB of its quota", "lethe reclaim --dry-run"},
		{"a full disk", first(func(b *api.BackendStatus) { b.Free = &little }),
			api.SeverityWarning, api.KindNoRoom, "the disk of backend main is full", "lethe reclaim --dry-run"},
		{"full disks", func(s *api.Status) { s.Backends[0].Free, s.Backends[1].Free = &little, &little },
			api.SeverityCritical, api.KindNoRoom, "no other backend takes new objects", "lethe reclaim --dry-run"},
		{"a full disk, and one that is drained", func(s *api.Status) { s.Backends[0].Free, s.Backends[1].Draining = &little, true },
			api.SeverityCritical, api.KindNoRoom, "no other backend takes new objects", "lethe reclaim --dry-run"},
	} {
		d.check(t)
	}
}

func TestDeletes(t *testing.T) {
	for _, d := range []decision{
		{"a stop", first(func(b *api.BackendStatus) { b.Held, b.HeldFor = "a trial", "person" }),
			api.SeverityCritical, api.KindDeletesStopped, "are stopped by an operator: a trial", "lethe backend list"},
		{"a delete that failed", first(func(b *api.BackendStatus) {
			b.Failing = &api.FailingDeletes{Count: 1, Attempts: 1, Error: "denied"}
		}), api.SeverityNotice, api.KindDeletesFail, "1 delete on backend main failed (up to 1 attempt)", "lethe cleanup-queue list --min-attempts 1 --backend main"},
		{"deletes that fail again", first(func(b *api.BackendStatus) {
			b.Failing = &api.FailingDeletes{Count: 1200, Attempts: 3, Error: "denied"}
		}), api.SeverityWarning, api.KindDeletesFail, "1,200 deletes on backend main fail again and again (up to 3 attempts)", "lethe cleanup-queue list --min-attempts 1 --backend main"},
		{"a dead letter", first(func(b *api.BackendStatus) { b.States[2] = api.StateTotal{State: "dead", Blobs: 1, Bytes: 5, Age: 60} }),
			api.SeverityWarning, api.KindDeadLetters, "1 blob on backend main could not be deleted and was given up", "lethe dead list --backend main"},
		{"a low rate", first(func(b *api.BackendStatus) { b.DeletesPerSecond, b.States[1].Blobs = 1, 200_000 }),
			api.SeverityWarning, api.KindDeletesSlow, "the 200,000 blobs that wait take 2 d 7 h at least", "lethe config print"},
		{"a rate that delays", first(func(b *api.BackendStatus) { b.Limited, b.States[1].Age = true, 3*3600 }),
			api.SeverityWarning, api.KindDeletesSlow, "has waited for 3 h", "lethe config print"},
		{"a limit", func(s *api.Status) {
			s.Trips = []api.LimitInfo{{Kind: "ttl", Subject: "id", Name: "photos", Reason: "too many", Since: lethe.FromTime(now)}}
		}, api.SeverityWarning, api.KindLimit, "deletions by time to live in bucket photos wait for your permission: too many", "lethe limits allow ttl photos"},
		{"a limit of the store", func(s *api.Status) { s.Trips = []api.LimitInfo{{Kind: "purge", Reason: "too many"}} },
			api.SeverityWarning, api.KindLimit, "purges of the trash wait", "lethe limits allow purge"},
		{"a limit for an hour", func(s *api.Status) {
			s.Trips = []api.LimitInfo{{Kind: "deletes", Subject: "main", Reason: "too many", Until: lethe.FromTime(now)}}
		}, api.SeverityNotice, api.KindLimit, "deletes on backend main pause until 03:00 UTC", "lethe limits show"},
		{"holds", func(s *api.Status) { s.Holds, s.Deferred = 1, 2 },
			api.SeverityNotice, api.KindHolds, "1 hold is set; holds and limits keep 2 objects that are due", "lethe hold list"},
	} {
		d.check(t)
	}
}

func TestEngine(t *testing.T) {
	for _, d := range []decision{
		{"a backlog", routine("expire", func(r *api.RoutineStatus) {
			r.Backlog = api.Backlog{Due: 1, Age: 7200, Oldest: now.Add(-2 * time.Hour)}
		}), api.SeverityWarning, api.KindBehind, "reclaiming is behind by 2 h: 1 object whose time has come waits", "lethe reclaim --once --only expire"},
		{"copies that cannot be made", func(s *api.Status) {
			s.FailingCopies = &api.FailingCopies{Count: 1, Error: "too few backends take a copy"}
		}, api.SeverityWarning, api.KindCopiesFail, "copies of 1 content could not be made for an hour: too few backends take a copy", "lethe backend list"},
		{"a backlog that the schedule explains", routine("expire", func(r *api.RoutineStatus) {
			r.Interval, r.Backlog = 3600, api.Backlog{Due: 1, Age: 7200}
		}), api.SeverityOK, "", "", ""},
		{"bytes that are cleaned soon", routine("clean", func(r *api.RoutineStatus) { r.Backlog = api.Backlog{Due: 1, Age: 3600} }),
			api.SeverityOK, "", "", ""},
		{"a routine that fails", routine("verify", func(r *api.RoutineStatus) { r.Error = "no such table" }),
			api.SeverityWarning, api.KindRoutineFails, "the routine verify fails: no such table", "lethe reclaim --once --only verify"},
		{"a routine that stands still", routine("clean", func(r *api.RoutineStatus) { r.SucceededAt = now.Add(-time.Hour) }),
			api.SeverityWarning, api.KindRoutineFails, "has not succeeded for 1 h", "lethe reclaim --once --only clean"},
		{"a routine that runs for long", routine("clean", func(r *api.RoutineStatus) { r.SucceededAt, r.Running = now.Add(-time.Hour), true }),
			api.SeverityOK, "", "", ""},
		{"no database", func(s *api.Status) { s.LedgerError, s.Backends[0].Unreachable = "connection refused", "no ledger" },
			api.SeverityCritical, api.KindLedgerDown, "the database does not answer", "lethe config print"},
		{"a slow database", func(s *api.Status) { s.LedgerLatency = 3 }, api.SeverityWarning, api.KindLedgerSlow, "takes 3 s", "lethe config print"},
		{"a full disk", func(s *api.Status) { s.Ledger.Full = true }, api.SeverityCritical, api.KindLedgerFull, "disk is full", "lethe reclaim --once"},
		{"a database that takes no writes", func(s *api.Status) { s.Ledger.Refused = "this connection may only read" }, api.SeverityCritical,
			api.KindLedgerReadOnly, "takes no writes: they get 503, and nothing is reclaimed: this connection may only read", "lethe config print"},
		{"a clock that is behind", func(s *api.Status) { s.ClockBehind = 3600 }, api.SeverityCritical, api.KindClock, "is 1 h behind", "lethe clock show"},
		{"a clock that is a little behind", func(s *api.Status) { s.ClockBehind = 3 }, api.SeverityNotice, api.KindClock, "is 3 s behind", "lethe clock show"},
		{"a clock that was set", func(s *api.Status) { s.ClockAhead = 3600 }, api.SeverityCritical, api.KindClock, "set forward by 1 h", "lethe clock show"},
		{"clocks that differ", func(s *api.Status) { s.Trips = []api.LimitInfo{{Kind: "clock", Subject: "main", Reason: "by 20 min"}} },
			api.SeverityCritical, api.KindClock, "the clocks of the ledger and of backend main differ", "lethe limits show"},
		{"no Redis", func(s *api.Status) { s.Redis = &api.RedisStatus{Error: "connection refused"} },
			api.SeverityWarning, api.KindRedisDown, "only slower: connection refused", "lethe config print"},
		{"wrong values", func(s *api.Status) { s.WrongValues = &api.WrongValues{Count: 2, Last: now.Add(-time.Minute)} },
			api.SeverityWarning, api.KindCacheWrong, "2 wrong values, the last 1 min ago", "lethe config print"},
		{"wrong values long ago", func(s *api.Status) { s.WrongValues = &api.WrongValues{Count: 2, Last: now.Add(-time.Hour)} },
			api.SeverityOK, "", "", ""},
		{"books", func(s *api.Status) { s.Contradictions = map[string]int64{"counter": 1} },
			api.SeverityCritical, api.KindBooks, "1 problem of kind counter", "lethe check"},
		{"a target that is away", target(api.EventTarget{Waiting: 2, FailingSince: now.Add(-time.Hour), LastError: "connection refused"}),
			api.SeverityWarning, api.KindEvents, "events do not reach the target app; 2 events wait: connection refused", "lethe events list app"},
		{"a target that failed just now", target(api.EventTarget{Waiting: 2, FailingSince: now.Add(-time.Minute)}), api.SeverityOK, "", "", ""},
		{"a target near its bound", target(api.EventTarget{Waiting: 80, Dead: 10}),
			api.SeverityWarning, api.KindEvents, "the target app has 90 events, near the bound of 100", "lethe events list app"},
		{"events that were given up", target(api.EventTarget{Dead: 1}),
			api.SeverityWarning, api.KindEvents, "the target app refused 1 event that was given up", "lethe events list app --dead"},
		{"a full backoff", func(s *api.Status) { s.BackoffLevel, s.SlowedBy = 4, "client latency" },
			api.SeverityNotice, api.KindSlowed, "as slowly as it can: client latency", "lethe config print"},
	} {
		d.check(t)
	}
}

func TestInstances(t *testing.T) {
	others := func(list ...api.Instance) func(*api.Status) {
		return func(s *api.Status) { s.Serving, s.Instances = false, list }
	}
	late := func(s *api.Status) {
		s.Serving = false
		s.Routines[0].Backlog = api.Backlog{Due: 1, Age: 7200}
	}
	ran := func(s *api.Status) {
		s.Serving, s.Instances = false, []api.Instance{{ID: "a", Roles: []string{"serve"}}}
		s.Routines[0].LastRun = &api.Run{Beat: now.Add(-time.Minute)}
	}
	for _, d := range []decision{
		{"no server", others(), api.SeverityWarning, api.KindNobodyReclaims, "no server runs on this store", "lethe serve"},
		{"no server, and work", late, api.SeverityCritical, api.KindNobodyReclaims, "no server runs on this store", "lethe serve"},
		{"servers that only serve", ran, api.SeverityWarning, api.KindNobodyReclaims, "no instance with the role reclaim runs", "lethe serve --roles reclaim"},
		{"one that reclaims", others(api.Instance{ID: "a", Roles: []string{"reclaim"}}), api.SeverityOK, "", "", ""},
		{"a silent instance", func(s *api.Status) {
			s.Instances = []api.Instance{{ID: "a", Silent: true, Seen: now.Add(-time.Minute)}}
		},
			api.SeverityWarning, api.KindInstanceSilent, "instance a sends no heartbeat", "lethe serve"},
		{"one that does not answer now", func(s *api.Status) {
			s.Instances = []api.Instance{{ID: "a", Roles: []string{"reclaim"}, Unanswered: true, Seen: now.Add(-12 * time.Second)}}
		}, api.SeverityNotice, api.KindInstanceSilent, "instance a did not answer in time: what it last reported is 12 s old", "lethe status"},
		{"a silent one that alone reclaims", others(api.Instance{ID: "a", Silent: true, Roles: []string{"reclaim"}}),
			api.SeverityWarning, api.KindNobodyReclaims, "no server runs", "lethe serve"},
		{"another's dead backend", func(s *api.Status) {
			s.Instances = []api.Instance{{ID: "b", Seen: now.Add(-time.Second), Findings: []api.StatusFinding{{Severity: api.SeverityCritical, Kind: api.KindBackendDown, Subject: "main", What: "backend main does not answer", Next: "lethe backend list"}}}}
		}, api.SeverityCritical, api.KindBackendDown, "backend main does not answer (on b)", "lethe backend list"},
		{"other settings", func(s *api.Status) {
			s.Instances = []api.Instance{
				{ID: "a", Settings: map[string]string{"placement": "1", "lifecycle": "1"}}, {ID: "b", Settings: map[string]string{"placement": "2", "lifecycle": "1"}},
				{ID: "c", Settings: map[string]string{"placement": "1"}}, {ID: "old"},
			}
		}, api.SeverityWarning, api.KindSettingsDiffer, "different settings of placement: a, c against b", "lethe config print"},
		{"settings of a silent instance", func(s *api.Status) {
			s.Instances = []api.Instance{{ID: "a", Settings: map[string]string{"placement": "1"}}, {ID: "b", Silent: true, Settings: map[string]string{"placement": "2"}}}
		}, api.SeverityWarning, api.KindInstanceSilent, "instance b", "lethe serve"},
		{"a dead backend of both", func(s *api.Status) {
			s.Backends[0].Unreachable = "refused"
			s.Instances = []api.Instance{{ID: "b", Seen: now.Add(-8 * time.Second), Findings: []api.StatusFinding{{Severity: api.SeverityCritical, Kind: api.KindBackendDown, Subject: "main", What: "x", Next: "lethe backend list"}}}}
		}, api.SeverityCritical, api.KindBackendDown, "backend main does not answer: refused (so on b 8 s ago)", "lethe backend list"},
		{"what a silent instance reported", func(s *api.Status) {
			s.Instances = []api.Instance{{ID: "b", Silent: true, Findings: []api.StatusFinding{{Severity: api.SeverityCritical, Kind: api.KindBackendDown, What: "x"}}}}
		}, api.SeverityWarning, api.KindInstanceSilent, "instance b", "lethe serve"},
	} {
		d.check(t)
	}
}

func TestBytes(t *testing.T) {
	for _, d := range []decision{
		{"a lost blob", first(func(b *api.BackendStatus) { b.Suspect, b.Lost = 1, 1 }),
			api.SeverityCritical, api.KindLost, "bytes are lost: 1 blob on backend main is missing or damaged", "lethe check --checksums"},
		{"lost blobs that a walk found", first(func(b *api.BackendStatus) {
			b.Compared = &api.Walk{ID: "w", Started: now.Add(-time.Hour), Counts: map[string]int64{"lost": 2}}
		}), api.SeverityCritical, api.KindLost, "2 blobs on backend main are missing or damaged", "lethe reconcile --last --backend main"},
		{"a damaged copy", first(func(b *api.BackendStatus) { b.Suspect = 1 }),
			api.SeverityNotice, api.KindSuspect, "1 blob on backend main is missing or damaged; a sound copy exists", "lethe check --checksums"},
		{"orphans", first(func(b *api.BackendStatus) {
			b.Compared, b.Walk = &api.Walk{ID: "w"}, &api.Walk{ID: "x", Counts: map[string]int64{"orphans": 1}}
		}), api.SeverityNotice, api.KindReconcile, "differ in 1 place", "lethe reconcile --last --backend main"},
	} {
		d.check(t)
	}
}

// Deletes that wait because a backend is not in its place are no finding of their own; those that
// something else stops are.
func TestOneFindingOfAMisplacedBackend(t *testing.T) {
	for held, want := range map[string]int{"it is empty": 1, "a copy": 2} {
		s := well()
		s.Backends[0].Misplaced, s.Backends[0].Held = "it is empty", held
		if list := verdict.Of(s).Findings; len(list) != want {
			t.Errorf("held for %q: %+v", held, list)
		}
	}
}

// An outage says since when.
func TestSince(t *testing.T) {
	begun := now.Add(-time.Hour)
	for name, change := range map[string]func(*api.Status){
		"held":      func(s *api.Status) { s.Backends[0].Held, s.Backends[0].HeldSince = "a copy", begun },
		"no answer": func(s *api.Status) { s.Backends[0].Unreachable, s.Backends[0].DownSince = "refused", begun },
		"misplaced": func(s *api.Status) { s.Backends[0].Misplaced, s.Backends[0].DownSince = "it is empty", begun },
		"no Redis":  func(s *api.Status) { s.Redis.Up, s.Redis.Since = false, begun },
		"failing": func(s *api.Status) {
			s.Serving, s.Roles = true, []string{"reclaim"}
			s.Routines = []api.RoutineStatus{{Name: "verify", Error: "disk", SucceededAt: begun.Add(-24 * time.Hour), FailingSince: begun}}
		},
		"not called": func(s *api.Status) { s.Backends[0].Breaker = &api.BreakerFacts{Open: true, Since: begun} },
	} {
		s := well()
		change(&s)
		if got := verdict.Of(s).Findings[0]; got.Since != begun {
			t.Errorf("%s: since %v, not %v: %+v", name, got.Since, begun, got)
		}
	}
}

// The verdict names the worst, and counts the others; notices do not make a store unwell.
func TestSentence(t *testing.T) {
	s := well()
	s.Holds = 2
	if h := verdict.Of(s); h.Sentence != "healthy, with 1 notice" {
		t.Errorf("holds: %q", h.Sentence)
	}
	s.Redis.Up = false
	s.Backends[1].Held = "a copy"
	s.Ledger.Full = true
	h := verdict.Of(s)
	var kinds []string
	for _, f := range h.Findings {
		kinds = append(kinds, f.Kind)
	}
	if want := []string{api.KindLedgerFull, api.KindDeletesStopped, api.KindRedisDown, api.KindHolds}; !slices.Equal(kinds, want) {
		t.Errorf("found %v, wanted %v", kinds, want)
	}
	if !strings.HasPrefix(h.Sentence, "the ledger's disk is full") || !strings.HasSuffix(h.Sentence, "(and 2 more)") {
		t.Errorf("the verdict is %q", h.Sentence)
	}
}

// A process gets requests while the ledger and one backend answer.
func TestUnready(t *testing.T) {
	s := well()
	s.Backends[0].Unreachable = "refused"
	if why := verdict.Unready(s); why != nil {
		t.Errorf("with one of two backends: %+v", why)
	}
	s.Backends[1].Misplaced = "it is empty"
	if why := verdict.Unready(s); len(why) != 2 {
		t.Errorf("without backends: %+v", why)
	}
	s.LedgerError = "refused"
	if why := verdict.Unready(s); len(why) != 1 || why[0].Kind != api.KindLedgerDown {
		t.Errorf("without a ledger: %+v", why)
	}
}

// Long texts of services are cut in the middle.
func TestLongErrorsAreCut(t *testing.T) {
	s := well()
	s.Backends[0].Unreachable = "operation error S3: HeadObject, " + strings.Repeat("x", 300) + " connection refused"
	what := verdict.Of(s).Findings[0].What
	if len(what) > 250 || !strings.Contains(what, "HeadObject") || !strings.HasSuffix(what, "connection refused") {
		t.Errorf("%d bytes: %q", len(what), what)
	}
}
