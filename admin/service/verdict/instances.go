package verdict

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/words"
)

// ofInstances returns which instances are silent, and whether any reclaims.
func ofInstances(s api.Status) (list []api.StatusFinding) {
	serves, reclaims := s.Serving, s.Serving && slices.Contains(s.Roles, "reclaim")
	for _, i := range s.Instances {
		if i.Silent {
			f := finding(about{api.SeverityWarning, api.KindInstanceSilent, i.ID, "lethe serve"},
				"instance %s sends no heartbeat and did not announce that it stops; start it again", i.ID)
			f.Since = i.Seen
			list = append(list, f)
			continue
		}
		if i.Unanswered {
			list = append(list, finding(about{api.SeverityNotice, api.KindInstanceSilent, i.ID, "lethe status"},
				"instance %s did not answer in time: what it last reported is %s old", i.ID, words.Span(s.Now.Sub(i.Seen))))
		}
		serves = serves || slices.Contains(i.Roles, "serve")
		reclaims = reclaims || slices.Contains(i.Roles, "reclaim")
	}
	if reclaims {
		return list
	}
	f := finding(about{api.SeverityWarning, api.KindNobodyReclaims, "", "lethe serve --roles reclaim"},
		"nothing is reclaimed: no instance with the role reclaim runs")
	if !serves {
		f.Next, f.What = "lethe serve", "no server runs on this store: nothing is served, and nothing is reclaimed"
	}
	if len(ofQueues(s)) > 0 {
		f.Severity = api.SeverityCritical
	}
	f.Since = lastRun(s)
	return append(list, f)
}

// ofSettings returns in which settings instances differ where all need the same.
func ofSettings(s api.Status) (list []api.StatusFinding) {
	by := map[string]map[string][]string{} // part, digest, instances
	for _, i := range s.Instances {
		if i.Silent {
			continue
		}
		for part, digest := range i.Settings {
			if by[part] == nil {
				by[part] = map[string][]string{}
			}
			by[part][digest] = append(by[part][digest], i.ID)
		}
	}
	for _, part := range slices.Sorted(maps.Keys(by)) {
		if len(by[part]) < 2 {
			continue
		}
		var groups []string
		for _, ids := range by[part] {
			slices.Sort(ids)
			groups = append(groups, strings.Join(ids, ", "))
		}
		slices.Sort(groups)
		list = append(list, finding(about{api.SeverityWarning, api.KindSettingsDiffer, part, "lethe config print"},
			"instances run with different settings of %s: %s; compare what this shows on each", part, strings.Join(groups, " against ")))
	}
	return list
}

// lastRun returns when a run was last heard of.
func lastRun(s api.Status) (last time.Time) {
	for _, r := range s.Routines {
		if r.LastRun != nil && r.LastRun.Beat.After(last) {
			last = r.LastRun.Beat
		}
	}
	return last
}

// ofBytes returns which bytes are lost or damaged, and how backends differ from the ledger.
func ofBytes(s api.Status) (list []api.StatusFinding) {
	for _, b := range s.Backends {
		lost, last := b.Lost, "lethe reconcile --last --backend "+b.ID
		since := time.Time{}
		if b.Compared != nil {
			if n := b.Compared.Counts["lost"]; n > lost {
				lost, since = n, b.Compared.Started
			}
		}
		if lost > 0 {
			f := finding(about{api.SeverityCritical, api.KindLost, b.ID, "lethe check --checksums"},
				"bytes are lost: %s on backend %s %s missing or damaged, and no sound copy exists; put them back from a backup of the backend", words.Plural(lost, "blob", "blobs"), b.ID, isAre(lost))
			if !since.IsZero() {
				f.Since, f.Next = since, last
			}
			list = append(list, f)
		}
		if n := b.Suspect - b.Lost; n > 0 {
			list = append(list, finding(about{api.SeverityNotice, api.KindSuspect, b.ID, "lethe check --checksums"},
				"%s on backend %s %s missing or damaged; a sound copy exists", words.Plural(n, "blob", "blobs"), b.ID, isAre(n)))
		}
		if n := differences(b); n > 0 {
			list = append(list, finding(about{api.SeverityNotice, api.KindReconcile, b.ID, last},
				"backend %s and the ledger differ in %s", b.ID, words.Plural(n, "place", "places")))
		}
	}
	return list
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// differences counts what the last walks over a backend found, other than what is lost.
func differences(b api.BackendStatus) (n int64) {
	walks := []*api.Walk{b.Compared}
	if b.Walk != nil && (b.Compared == nil || b.Walk.ID != b.Compared.ID) {
		walks = append(walks, b.Walk)
	}
	for _, w := range walks {
		if w == nil {
			continue
		}
		sum := int64(0)
		for _, kind := range []string{"orphans", "foreign", "elsewhere", "missing", "wrong_size"} {
			sum += w.Counts[kind]
		}
		n = max(n, sum)
	}
	return n
}
