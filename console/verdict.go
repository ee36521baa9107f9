package console

import "github.com/lethe-storage/lethe/admin/api"

// levels are the classes of severities in pages.
var levels = map[string]string{api.SeverityOK: "good", api.SeverityNotice: "good", api.SeverityWarning: "warn", api.SeverityCritical: "bad"}

// levelOf is the class of a finding; a notice stands out by nothing.
func levelOf(f api.StatusFinding) string {
	if f.Severity == api.SeverityNotice {
		return ""
	}
	return levels[f.Severity]
}
