package verdict

import (
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
)

// ofBackends returns what is wrong with backends themselves.
func ofBackends(s api.Status) (list []api.StatusFinding) {
	for _, b := range s.Backends {
		switch {
		case b.Misplaced != "":
			list = append(list, since(b.DownSince, finding(about{api.SeverityCritical, api.KindBackendMisplaced, b.ID, "lethe backend list"},
				"backend %s is not in its place: %s; mount its disk; only if its bytes are lost for good, lethe backend accept %s", b.ID, b.Misplaced, b.ID)))
			continue
		case b.Breaker != nil && b.Breaker.Open:
			list = append(list, since(b.Breaker.Since, finding(about{api.SeverityCritical, api.KindBackendDown, b.ID, "lethe backend list"},
				"backend %s fails and is not called: %s", b.ID, short(b.Breaker.Error))))
			continue
		case s.LedgerError != "": // whether a backend is in its place is asked of the ledger, too
			continue
		case b.Unreachable != "":
			list = append(list, since(b.DownSince, finding(about{api.SeverityCritical, api.KindBackendDown, b.ID, "lethe backend list"},
				"backend %s does not answer: %s", b.ID, short(b.Unreachable))))
			continue
		case b.Missing:
			list = append(list, finding(about{api.SeverityCritical, api.KindBackendUnknown, b.ID, "lethe config print"},
				"backend %s is in the ledger and not in the configuration: nothing is read or deleted there", b.ID))
			continue
		}
		if why := noWrites(b); why != "" {
			list = append(list, finding(about{api.SeverityWarning, api.KindBackendReadOnly, b.ID, "lethe backend list"},
				"nothing is written to backend %s: %s", b.ID, why))
		}
		if f := b.S3; f != nil && f.NoDeletes != "" {
			list = append(list, finding(about{api.SeverityWarning, api.KindDeletesRefused, b.ID, "lethe backend list"},
				"nothing can be deleted from backend %s: %s", b.ID, f.NoDeletes))
		}
	}
	return list
}

// noWrites returns why a backend that answers takes no writes; empty if it does.
func noWrites(b api.BackendStatus) string {
	if b.S3 != nil {
		return b.S3.NoWrites
	}
	return short(b.NoWrites)
}

const (
	// fullDisk and lowDisk are the free bytes of a disk below which it counts as full, and
	// as almost full.
	fullDisk = 32 << 20
	lowDisk  = 128 << 20
	// lowQuota is the part of a quota that counts as almost nothing.
	lowQuota = 20
)

// ofRoom returns which backends have no room for new objects, or soon will.
func ofRoom(s api.Status) (list []api.StatusFinding) {
	takes := 0
	for _, b := range s.Backends {
		what, full := roomOf(b)
		if !full && !b.Draining {
			takes++
		}
		if what != "" {
			list = append(list, finding(about{api.SeverityWarning, api.KindNoRoom, b.ID, "lethe reclaim --dry-run"}, "%s", what))
		}
	}
	if takes > 0 || len(list) == 0 {
		return list
	}
	for i := range list {
		list[i].Severity = api.SeverityCritical
		list[i].What += "; no other backend takes new objects"
	}
	return list
}

// roomOf describes a lack of room; empty if there is enough.
func roomOf(b api.BackendStatus) (what string, full bool) {
	_, used := b.Totals()
	left := max(b.Quota-used, 0)
	switch {
	case b.Draining:
		return "", false
	case b.Quota > 0 && left == 0:
		return "backend " + b.ID + " is full: its quota of " + size(b.Quota) + " is used up", true
	case b.Quota > 0 && left < b.Quota/lowQuota:
		return "backend " + b.ID + " is almost full: " + size(left) + " of its quota of " + size(b.Quota) + " are left", false
	case strings.Contains(b.Unwritable, "its disk is full"), b.Free != nil && *b.Free < fullDisk:
		return "the disk of backend " + b.ID + " is full", true
	case b.Free != nil && *b.Free < lowDisk:
		return "the disk of backend " + b.ID + " is almost full: " + size(*b.Free) + " are left", false
	}
	return "", false
}

func size(n int64) string { return humanize.IBytes(uint64(max(n, 0))) }

// ofDeletes returns what stops or delays deletes on backends.
func ofDeletes(s api.Status) (list []api.StatusFinding) {
	for _, b := range s.Backends {
		if b.Held != "" && b.Held != b.Misplaced { // a misplaced one is found already
			list = append(list, since(b.HeldSince, finding(about{api.SeverityCritical, api.KindDeletesStopped, b.ID, "lethe backend list"},
				"deletes on backend %s are stopped%s: %s; find the cause, then lethe backend accept %s", b.ID, byPerson(b), b.Held, b.ID)))
		}
		if f := b.Failing; f != nil {
			list = append(list, failing(b, *f))
		}
		if n, bytes, age := stateOf(b, "dead"); n > 0 {
			f := finding(about{api.SeverityWarning, api.KindDeadLetters, b.ID, "lethe dead list --backend " + b.ID},
				"%s on backend %s could not be deleted and %s given up: %s of bytes stay", words.Plural(n, "blob", "blobs"), b.ID, wasWere(n), size(bytes))
			if age > 0 {
				f.Since = s.Now.Add(-seconds(age))
			}
			list = append(list, f)
		}
		list = append(list, slow(s, b)...)
	}
	return list
}

func byPerson(b api.BackendStatus) string {
	if b.HeldFor == string(ledger.HeldByPerson) && !strings.Contains(b.Held, "operator") {
		return " by an operator"
	}
	return ""
}

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// stateOf returns the blobs of a backend in a state.
func stateOf(b api.BackendStatus, state string) (blobs, bytes int64, age float64) {
	for _, st := range b.States {
		if st.State == state {
			return st.Blobs, st.Bytes, st.Age
		}
	}
	return 0, 0, 0
}

// failsAgain is how many attempts of one delete are more than an accident.
const failsAgain = 2

func failing(b api.BackendStatus, f api.FailingDeletes) api.StatusFinding {
	severity, again := api.SeverityNotice, "failed"
	if f.Attempts >= failsAgain {
		severity, again = api.SeverityWarning, "fail again and again"
		if f.Count == 1 {
			again = "fails again and again"
		}
	}
	return finding(about{severity, api.KindDeletesFail, b.ID, "lethe cleanup-queue list --min-attempts 1 --backend " + b.ID},
		"%s on backend %s %s (up to %s) and wait for the next try: %s", words.Plural(f.Count, "delete", "deletes"), b.ID, again,
		words.Plural(int64(f.Attempts), "attempt", "attempts"), short(f.Error))
}

const (
	// deletesLate is how long due bytes may wait before rates count as too low.
	deletesLate = 2 * 3600.0
	// deletesLong is how long the due bytes may take at the rate that is set, in seconds.
	deletesLong = 24 * 3600.0
)

// slow returns whether the delete rates of a backend are too low for what is due there.
func slow(s api.Status, b api.BackendStatus) []api.StatusFinding {
	condemned, _, age := stateOf(b, "condemned")
	takes := 0.0
	if b.DeletesPerSecond > 0 {
		takes = float64(condemned) / b.DeletesPerSecond
	}
	next := "lethe config print"
	switch {
	case takes > deletesLong:
		return []api.StatusFinding{finding(about{api.SeverityWarning, api.KindDeletesSlow, b.ID, next},
			"deletes on backend %s may run at %g per second: the %s that wait take %s at least", b.ID, b.DeletesPerSecond,
			words.Plural(condemned, "blob", "blobs"), words.Span(seconds(takes)))}
	case b.Limited && age > deletesLate:
		f := finding(about{api.SeverityWarning, api.KindDeletesSlow, b.ID, next},
			"the delete rates of backend %s are too low: what is due there has waited for %s", b.ID, words.Span(seconds(age)))
		f.Since = s.Now.Add(-seconds(age))
		return []api.StatusFinding{f}
	}
	return nil
}
