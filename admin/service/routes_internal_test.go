package service

import (
	"testing"

	"github.com/lethe-storage/lethe/admin/api"
)

// Each route of the table has a method that serves it, of the same types and properties,
// and no other call is served.
func TestEveryRouteIsServed(t *testing.T) {
	served := methods()
	for _, r := range api.Routes() {
		m, ok := served[r.Name]
		switch {
		case !ok:
			t.Errorf("%s has no method", r.Name)
		case m.request != r.Request || m.response != r.Response:
			t.Errorf("%s: the table says %v and %v, the method takes %v and returns %v", r.Name, r.Request, r.Response, m.request, m.response)
		case m.stream != r.Stream || m.changes != r.Changes:
			t.Errorf("%s: the table says stream %t and changes %t, the method %t and %t", r.Name, r.Stream, r.Changes, m.stream, m.changes)
		}
		delete(served, r.Name)
	}
	for name := range served {
		t.Errorf("%s is not in the table", name)
	}
}
