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
	o = tried(func(t testing.TB) { path = decide(t, n) })
	return o, path
}

// tried is how a test that begins with f goes on.
func tried(f func(testing.TB)) (o outcome) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(stopped); !ok {
				panic(r)
			}
		}
	}()
	f(&o)
	return o
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

// A tracer that is there and may not trace is no better than none.
func TestStraceThatMayNotTrace(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	for script, allowed := range map[string]bool{"exit 0": true, "echo ptrace: Operation not permitted; exit 1": false} {
		if err := os.WriteFile(filepath.Join(folder, "strace"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		for mode, required := range map[string]bool{"": false, "require": true} {
			t.Setenv("LETHE_SERVERS", mode)
			got := tried(func(t testing.TB) { Strace(t) })
			if got.failed != (required && !allowed) || got.skipped != (!required && !allowed) {
				t.Errorf("mode %q, %q: skipped %v, failed %v", mode, script, got.skipped, got.failed)
			}
		}
	}
}
