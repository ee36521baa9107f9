package metrics

import "github.com/lethe-storage/lethe/admin/api"

var findings = gauge("findings", "What lethe status finds wrong, over all instances, by kind and severity.", "kind", "severity")

// tellFindings counts findings, with a zero for each kind and severity that there could be.
func tellFindings(tell teller, list []api.StatusFinding) {
	n := map[[2]string]int{}
	for _, f := range list {
		n[[2]string{f.Kind, f.Severity}]++
	}
	for _, k := range api.FindingKinds {
		for _, severity := range k.Severities {
			tell(findings, float64(n[[2]string{k.Kind, severity}]), k.Kind, severity)
		}
	}
}
