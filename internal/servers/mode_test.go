package servers

import (
	"os"
	"path/filepath"
	"testing"
)

// outcome runs the decision as a test of its own would.
type outcome struct {
	testing.TB
	skipped, failed bool
}

type stopped struct{}

func (o *outcome) Helper()               {}
func (o *outcome) Skip(...any)           { o.skipped = true; panic(stopped{}) }
func (o *outcome) Skipf(string, ...any)  { o.skipped = true; panic(stopped{}) }
func (o *outcome) Fatalf(string, ...any) { o.failed = true; panic(stopped{}) }
func decided(n need) (o outcome, path string) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stopped); !ok {
				panic(r)
			}
		}
	}()
	path = decide(&o, n)
	return o, path
}

func TestModes(t *testing.T) {
	there := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(there, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	found := need{names: []string{"server"}, folders: []string{filepath.Dir(there)}}
	missing := need{names: []string{"no-such-server"}}
	optional := need{names: []string{"no-such-server"}, optional: true}
	for _, c := range []struct {
		mode            string
		need            need
		skipped, failed bool
	}{
		{"", found, false, false}, {"", missing, true, false}, {"", optional, true, false},
		{"skip", found, true, false}, {"skip", missing, true, false},
		{"require", found, false, false}, {"require", missing, false, true}, {"require", optional, true, false},
		{"requier", found, false, true},
	} {
		t.Setenv("LETHE_SERVERS", c.mode)
		got, path := decided(c.need)
		if got.skipped != c.skipped || got.failed != c.failed {
			t.Errorf("mode %q, %v: skipped %v, failed %v", c.mode, c.need, got.skipped, got.failed)
		}
		if !c.skipped && !c.failed && path != there {
			t.Errorf("found %q, want %q", path, there)
		}
	}
}
