package main

import (
	"strings"
	"testing"
	"time"
)

// Without triggers unreferenced contents are moved. One that a row names
// although its bytes were uploaded before is readable again after the next run.
func TestAdoptQuarantine(t *testing.T) {
	a := newAdopted(t, strings.NewReplacer("unreferenced: 10m", "unreferenced: 0s", "longest_write: 30s", "longest_write: 1s",
		"guard: trigger ", "quarantine: {prefix: kept/}\n    guard: quarantine "))
	p, err := a.store.Create(t.Context(), []byte("short"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	gone, err := a.store.Create(t.Context(), []byte("gone for good"), time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"2 objects are in quarantine"}, "run", a.file, "--once")
	if n := a.count(lethesOwn); n != 1 {
		t.Errorf("%d things of lethe's, want its schema alone", n)
	}
	object, other := "content/"+p.Hash, "content/"+gone.Hash
	a.ok([]string{object, other, "kept/" + object, "2 objects"}, "quarantine", "list", a.file)
	a.ok([]string{"2 objects wait to be deleted for good, the first until 2"}, "status", a.file)
	if _, err := a.db.Exec(t.Context(), `WITH c AS (INSERT INTO content (content_hash, object_key, size, ref_count) VALUES ($1, 'content/' || $1, 5, 1))
		INSERT INTO pastes (short_code, content_hash) VALUES ($2, $1)`, p.Hash, p.Code); err != nil {
		t.Fatal(err)
	}
	// Its check misses that very object; what is in quarantine is restored all
	// the same.
	if code, out := a.run("run", a.file, "--once"); code != exitProblems || !strings.Contains(out, "restored 1") {
		t.Errorf("a run that copies back: exit code %d\n%s", code, out)
	}
	if _, body, err := a.store.Read(t.Context(), p.Code); err != nil || string(body) != "short" {
		t.Errorf("the paste that came back reads %q, %v", body, err)
	}
	a.ok([]string{"was moved into quarantine", "was copied back from quarantine", "lies in quarantine as kept/" + object}, "explain", a.file, object)
	a.ok([]string{"is in its place again"}, "quarantine", "restore", a.file, other)
	if code, out := a.run("quarantine", "restore", a.file, "content/never"); code == 0 || !strings.Contains(out, "is not in quarantine") {
		t.Errorf("what is not there: exit code %d\n%s", code, out)
	}
	if code, out := a.run("remove", a.file, "--yes"); code == 0 || !strings.Contains(out, "the quarantine of pastes has 2 objects") {
		t.Errorf("remove: exit code %d\n%s", code, out)
	}
	a.ok([]string{"0 copies were deleted", "2 objects stay in quarantine"}, "quarantine", "purge", a.file, "--yes")
	a.ok([]string{"; no purge before 2"}, "quarantine", "list", a.file)
	if _, err := a.db.Exec(t.Context(), `UPDATE lethe.quarantined SET late_at = 0`); err != nil {
		t.Fatal(err)
	}
	a.ok([]string{"2 copies were deleted"}, "quarantine", "purge", a.file, "--yes")
	if _, err := a.db.Exec(t.Context(), `UPDATE lethe.condemned SET due_at = 0`); err != nil {
		t.Fatal(err)
	}
	a.ok(nil, "remove", a.file, "--yes")
}
