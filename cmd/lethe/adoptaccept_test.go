package main

import (
	"strings"
	"testing"
	"time"
)

// A database that was moved, or copied, only reports, and says how to go on. Once an operator has
// accepted that it reclaims.
func TestAdoptAccept(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s"))
	a.ok(nil, "guard", "install", a.file, "--yes")
	a.ok([]string{"there is nothing to do"}, "accept", a.file, "--yes")
	if _, err := a.store.Create(t.Context(), []byte("first"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	a.ok(nil, "run", a.file, "--once")
	a.ok([]string{"paired with this database, last "}, "check", a.file)
	a.sql("UPDATE lethe.pairings SET marks = 'of another cluster'")
	if _, err := a.store.Create(t.Context(), []byte("second"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"check", a.file}, {"run", a.file, "--once"}} {
		if code, out := a.run(args...); code != exitProblems || !strings.Contains(out, "database in another place") {
			t.Errorf("%s: exit code %d\n%s", args[0], code, out)
		}
	}
	if _, out := a.run("check", a.file); !strings.Contains(out, "lethe adopt accept "+a.file) {
		t.Errorf("check does not say what to do:\n%s", out)
	}
	if code, out := a.run("remove", a.file, "--yes"); code == 0 || !strings.Contains(out, "--forget leaves it as it is") {
		t.Errorf("remove: exit code %d\n%s", code, out)
	}
	a.ok([]string{"pastes: the objects belong to this database"}, "accept", a.file, "--yes")
	a.ok(nil, "run", a.file, "--once")
	if n := a.count("SELECT count(*) FROM pastes"); n != 0 {
		t.Errorf("%d pastes are left", n)
	}
}
