package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// NewPostgresOnClock starts a cluster with a clock of its own: it is ahead of the
// machine's by what ahead was last told, from that moment on.
func NewPostgresOnClock(t testing.TB) (s *PostgresServer, ahead func(time.Duration)) {
	t.Helper()
	library := decide(t, need{names: []string{"libfaketime.so.1"}, folders: []string{"/usr/lib/*/faketime", "/usr/lib/faketime"}})
	as, err := ordinary()
	if err != nil {
		t.Fatal(err)
	}
	f, err := newFolder(as) // who reads it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.remove)
	file := filepath.Join(f.path, "ahead")
	ahead = func(d time.Duration) {
		t.Helper()
		// Renamed, as it is read at every look at the clock.
		err := os.WriteFile(file+".new", fmt.Appendf(nil, "+%d\n", int64(d.Seconds())), 0o644)
		if err == nil {
			err = os.Rename(file+".new", file)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ahead(0)
	return launchPostgres(t, nil, []string{
		"LD_PRELOAD=" + library, "FAKETIME_TIMESTAMP_FILE=" + file, "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
	}), ahead
}
