// Package verdict decides what an operator of a store has to know: which findings there are,
// how severe each is, and the one sentence that sums them up. It is a function of an
// api.Status and does no I/O, so that status, /readyz, the metrics, the alerts and what
// instances report of each other cannot disagree.
package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// Of returns the verdict on a status: on what is in the ledger, on what the responding
// process knows, and on what other instances have reported.
func Of(s api.Status) api.Health {
	list := Own(s)
	if s.LedgerError == "" {
		list = slices.Concat(list, ofDeletes(s), ofQueues(s), ofLimits(s), ofInstances(s), ofSettings(s), ofBytes(s), ofEvents(s))
		list = merge(list, s.Instances, s.Now)
	}
	sortFindings(list)
	return api.Health{Sentence: sentence(list), Severity: worst(list), Findings: append([]api.StatusFinding{}, list...)} // never null in JSON
}

// Own returns the findings that only the responding process knows, the worst first.
func Own(s api.Status) []api.StatusFinding {
	list := slices.Concat(ofLedger(s), ofBackends(s), ofRoom(s), ofRoutines(s), ofServices(s))
	sortFindings(list)
	return list
}

// OfProcess returns Own with what stops deletes, the worst first.
func OfProcess(s api.Status) []api.StatusFinding {
	list := Own(s)
	if s.LedgerError == "" {
		list = append(list, ofDeletes(s)...)
	}
	sortFindings(list)
	return list
}

// Unready returns why the responding process should get no requests; empty if it should. One
// backend that answers is enough: reads fail over, and writes go elsewhere.
func Unready(s api.Status) (why []api.StatusFinding) {
	down := map[string]bool{}
	for _, f := range Own(s) {
		switch f.Kind {
		case api.KindLedgerDown:
			return []api.StatusFinding{f}
		case api.KindBackendDown, api.KindBackendMisplaced, api.KindBackendUnknown:
			down[f.Subject] = true
			why = append(why, f)
		}
	}
	for _, b := range s.Backends {
		if !down[b.ID] {
			return nil
		}
	}
	return why
}

// about is what a finding is about, with the next command.
type about struct{ severity, kind, subject, next string }

func finding(a about, format string, args ...any) api.StatusFinding {
	return api.StatusFinding{Severity: a.severity, Kind: a.kind, Subject: a.subject, Next: a.next, What: fmt.Sprintf(format, args...)}
}

// since adds since when it has been so; zero: unknown.
func since(t time.Time, f api.StatusFinding) api.StatusFinding {
	f.Since = t
	return f
}

// rank orders severities and kinds by how bad they are.
func rank(f api.StatusFinding) (severity, kind int) {
	severity = slices.Index(api.Severities, f.Severity)
	for i, k := range api.FindingKinds {
		if k.Kind == f.Kind {
			kind = i
		}
	}
	return severity, kind
}

func sortFindings(list []api.StatusFinding) {
	slices.SortStableFunc(list, func(a, b api.StatusFinding) int {
		as, ak := rank(a)
		bs, bk := rank(b)
		return cmp.Or(cmp.Compare(bs, as), cmp.Compare(ak, bk), cmp.Compare(a.Subject, b.Subject))
	})
}

func worst(sorted []api.StatusFinding) string {
	if len(sorted) == 0 {
		return api.SeverityOK
	}
	return sorted[0].Severity
}

// sentence sums the findings up by the worst, and by how many others there are.
func sentence(sorted []api.StatusFinding) string {
	notices := 0
	for _, f := range sorted {
		if f.Severity == api.SeverityNotice {
			notices++
		}
	}
	switch {
	case len(sorted) == 0:
		return "healthy"
	case notices == len(sorted):
		return "healthy, with " + words.Plural(int64(notices), "notice", "notices")
	case len(sorted)-notices > 1:
		return fmt.Sprintf("%s (and %d more)", sorted[0].What, len(sorted)-notices-1)
	}
	return sorted[0].What
}

// merge adds what the other instances reported, with the age of each report. What several know
// is one finding.
func merge(list []api.StatusFinding, instances []api.Instance, now time.Time) []api.StatusFinding {
	own, seen := len(list), map[string]string{}
	for _, i := range instances {
		if i.Silent {
			continue
		}
		seen[i.ID] = i.ID
		if age := now.Sub(i.Seen); age > asOfNow {
			seen[i.ID] += " " + words.Span(age) + " ago"
		}
		for _, f := range i.Findings {
			at := slices.IndexFunc(list, func(g api.StatusFinding) bool { return g.Kind == f.Kind && g.Subject == f.Subject })
			if at < 0 {
				at = len(list)
				list = append(list, f)
			}
			if slices.Index(api.Severities, f.Severity) > slices.Index(api.Severities, list[at].Severity) {
				list[at].Severity = f.Severity
			}
			list[at].Instances = append(list[at].Instances, i.ID)
		}
	}
	for i, f := range list {
		var reports []string
		for _, id := range f.Instances {
			reports = append(reports, seen[id])
		}
		switch names := strings.Join(reports, ", "); {
		case names == "":
		case i < own:
			list[i].What += " (so on " + names + ")"
		default:
			list[i].What += " (on " + names + ")"
		}
	}
	return list
}

// asOfNow is the age up to which the report of another instance counts as of now.
const asOfNow = 2 * time.Second

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// short cuts a text of others, such as an error of a service, for one line. The beginning says
// what was done, the end why it failed.
func short(text string) string {
	const head, tail = 60, 100
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= head+tail {
		return text
	}
	return strings.ToValidUTF8(text[:head], "") + " .. " + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// sinceOf is an instant of the ledger as a time; zero stays zero.
func sinceOf(t lethe.Time) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return t.Time()
}
