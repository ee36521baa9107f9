package console

import (
	"strings"

	"github.com/lethe-storage/lethe/admin/api"
)

// levels are the classes of severities in pages.
var levels = map[string]string{api.SeverityOK: "good", api.SeverityNotice: "good", api.SeverityWarning: "warn", api.SeverityCritical: "bad"}

// levelOf is the class of a finding; a notice stands out by nothing.
func levelOf(f api.StatusFinding) string {
	if f.Severity == api.SeverityNotice {
		return ""
	}
	return levels[f.Severity]
}

// place is a part of the console.
type place struct{ URL, Name string }

// placeOf is where more is said about a finding, or done; zero: nowhere.
func placeOf(f api.StatusFinding) place {
	switch f.Kind {
	case api.KindBackendDown, api.KindBackendMisplaced, api.KindBackendUnknown, api.KindBackendReadOnly, api.KindNoRoom,
		api.KindDeletesStopped, api.KindDeletesRefused, api.KindDeletesSlow, api.KindLost, api.KindSuspect, api.KindReconcile:
		return place{"/backends#backend-" + f.Subject, "Backends"}
	case api.KindDeadLetters:
		return place{"/queues#dead", "Queues"}
	case api.KindDeletesFail:
		return place{"/queues#failing", "Queues"}
	case api.KindBehind, api.KindCopiesFail:
		return place{"/queues#waiting", "Queues"}
	case api.KindLimit:
		return place{"/limits", "Limits"}
	case api.KindHolds:
		return place{"/limits#holds-h", "Holds"}
	case api.KindNobodyReclaims, api.KindInstanceSilent:
		return place{"#instances", "Instances"}
	case api.KindRoutineFails, api.KindSlowed:
		return place{"#routines", "Reclaiming"}
	case api.KindSettingsDiffer:
		return place{"/configuration", "Configuration"}
	}
	return place{}
}

// findingsOf are the findings about a backend.
func findingsOf(s api.Status, backend string) (list []api.StatusFinding) {
	for _, f := range s.Findings {
		if f.Subject == backend && strings.HasPrefix(placeOf(f).URL, "/backends#") {
			list = append(list, f)
		}
	}
	return list
}
