package gateway

import (
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/s3api"

	"github.com/lethe-storage/lethe/s3"
)

// TestSecurityPlainRequestsSkipNothing checks that versitygw's routes of objects, which plain
// requests skip, ask for no other header than the one that plain looks for, and that the last
// ones, which they take, ask for nothing.
func TestSecurityPlainRequestsSkipNothing(t *testing.T) {
	gateway, err := s3api.New(NewBackend(BackendOptions{Store: s3.Store{}}), oneRoot, "us-east-1", &oneKey{}, nil, nil, nil, nil, s3api.WithQuiet())
	if err != nil {
		t.Fatal(err)
	}
	app := (*fiber.App)(reflect.ValueOf(gateway).Elem().FieldByName("app").UnsafePointer())
	// X-Amz-Copy-Source: refused by reads; to copy a part, and an object.
	want, headers := map[string]int{"GET": 1, "HEAD": 1, "PUT": 2}, map[string]int{}
	asks := map[string]bool{} // by method: the handler before the last matches something
	for _, r := range slices.Concat(app.Stack()...) {
		matches := false
		for i, h := range r.Handlers {
			name := runtime.FuncForPC(reflect.ValueOf(h).Pointer()).Name()
			switch {
			case want[r.Method] == 0 || !strings.HasPrefix(r.Path, objectPath):
			case strings.Contains(name, ".MatchHeader."):
				headers[r.Method]++
			case !strings.Contains(name, ".MatchQueryArgs.") && !strings.Contains(name, ".ProcessHandlers."):
				t.Errorf("%s %s has the handler %s", r.Method, r.Path, name)
			}
			if r.Path == objectPath && i == len(r.Handlers)-1 {
				asks[r.Method] = matches
			}
			matches = strings.Contains(name, ".Match")
		}
	}
	for method := range want {
		if asks[method] {
			t.Errorf("the last route of %s asks for something", method)
		}
	}
	if !maps.Equal(headers, want) {
		t.Errorf("so many routes look for a header: %v, want %v: look at which, and at plain", headers, want)
	}
}
