package adoption

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// A hook reads each key that a row names and that has no object. If it fails
// the run continues, and the next one repeats it; plans and reports do not run
// it.
func TestHookIsToldOfMissingObjects(t *testing.T) {
	folder := t.TempDir()
	told := filepath.Join(folder, "told")
	f := newFiles(t, func(s *adopt.KeySpec) {
		s.Hook = []string{"/bin/sh", "-c", `cat >> "$1"; test -e "$1.works" || { echo "no room" >&2; exit 3; }`, "hook", told}
	})
	f.put("a", "orphan")
	f.row("a", "lost", "q\"<\n")
	k, err := f.Keys(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Report(t.Context(), func([]adopt.OrphanObject) {}, func([]string) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(told); err == nil {
		t.Error("a report ran the hook")
	}
	f.passes(map[string]int64{"missing": 2, "hook_failed": 2})
	if err := os.WriteFile(told+".works", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.exec(`UPDATE lethe.runs SET finished_at = finished_at - 86400000000 * 2`) // the interval passes
	f.passes(map[string]int64{"missing": 2, "hook_failed": 0})
	text, err := os.ReadFile(told)
	want := `{"collection":"files","bucket":"main","key":"files/lost"}
{"collection":"files","bucket":"main","key":"files/q\"<\n"}
`
	if err != nil || string(text) != want+want {
		t.Errorf("it read %s, %v, want twice\n%s", text, err, want)
	}
	f.lose("orphan")
}

func TestCheckFindsAHookThatIsNotThere(t *testing.T) {
	f := newFiles(t, func(s *adopt.KeySpec) { s.Hook = []string{"/nowhere/missing"} })
	f.put("a")
	f.row("a")
	found, err := f.Check(t.Context())
	if err != nil || !adopt.Problems(found["files"]) {
		t.Fatalf("%v, %v", found, err)
	}
	for _, x := range found["files"] {
		if x.Problem && !strings.Contains(x.What, "/nowhere/missing") {
			t.Errorf("it finds %q", x.What)
		}
	}
}
