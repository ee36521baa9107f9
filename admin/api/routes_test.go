package api_test

import (
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// Each route of the table has a role, a sentence, and types; names are in order
// and used once.
func TestEveryRouteIsDescribed(t *testing.T) {
	last := ""
	for _, r := range api.Routes() {
		switch {
		case r.Name <= last:
			t.Errorf("%s comes after %s", r.Name, last)
		case r.Role != api.Read && r.Role != api.Operate && r.Role != api.Destroy:
			t.Errorf("%s has the role %q: use read, operate or destroy", r.Name, r.Role)
		case r.Summary == "" || strings.HasSuffix(r.Summary, "."):
			t.Errorf("%s: say in a sentence without a full stop what it does, not %q", r.Name, r.Summary)
		case r.Response == nil && r.Media == "":
			t.Errorf("%s answers nothing that is described", r.Name)
		}
		last = r.Name
	}
}
