package memadopt_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/lethe-storage/lethe/test/mutation"
)

// The rules of a quarantine that random schedules rarely need: a mutant without
// one fails the suite.
func TestQuarantineMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the mutants")
	}
	const root, rows, claims = "../..", "adopt/memadopt/quarantine.go", "adopt/quarantined.go"
	var list []mutation.Mutant
	for name, m := range map[string]struct{ file, old, new string }{
		"an object that another worker has is begun":        {rows, "case q != nil && q.Due > now:", "case q != nil && q.Due > now && q.Due < 0:"},
		"other bytes move while a delete may take them":     {rows, "case q != nil && q.Late > now:", "case q != nil && q.Late > now && q.Late < 0:"},
		"a copy is recorded without a fence":                {rows, "q == nil || q.Fence != fence || q.State", "q == nil || q.State"},
		"a referenced object moves":                         {rows, "referred, _ := db.named(key); referred ||", "referred, _ := db.named(key); referred && key == \"\" ||"},
		"a held object moves":                               {rows, "db.holds.standing().Object(key) != nil {", "db.holds.standing().Object(key) != nil && key == \"\" {"},
		"an outcome is recorded without a fence":            {rows, "if q == nil || q.Fence != fence {", "if q == nil {"},
		"a copy whose purge may have had an effect is kept": {rows, "case q.State == adopt.Purging:", "case q.State == adopt.Purging && q.Fence < 0:"},
		"an object is claimed from another worker":          {claims, "case h.Due > now:", "case h.Due > now && h.Due < 0:"},
		"a copy is purged while a delete may take effect":   {claims, "case h.Late > now:", "case h.Late > now && h.Late < 0:"},
		"a copy is purged within its retention":             {claims, "(c.Early || h.Until <= now)", "(c.Early || h.Until <= max(now, h.Until))"},
		"a held copy is purged":                             {claims, "&& !h.OnHold &&", "&&"},
		"a copy that is wanted is purged":                   {claims, "&& !h.Wanted &&", "&&"},
		"a known copy is purged":                            {claims, "&& !h.Known &&", "&&"},
		"an incomplete copy is restored":                    {claims, "return h.State != Moving && (h.Named || h.Wanted)", "return h.Named || h.Wanted"},
		"an object that nothing needs is restored":          {claims, "return h.State != Moving && (h.Named || h.Wanted)", "return h.State != Moving"},
	} {
		list = append(list, mutation.Mutant{Name: name, Edits: map[string][]mutation.Edit{m.file: {{Old: m.old, New: m.new}}}})
	}
	files, alone, err := mutation.Plant(root, list)
	if err != nil || len(alone) > 0 {
		t.Fatalf("%v could not be planted, %v", alone, err)
	}
	binary, err := mutation.Build(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range append([]mutation.Mutant{{}}, list...) { // the first one is sound
		suite := exec.CommandContext(t.Context(), binary, "-test.run=^TestSuite$")
		suite.Env = append(os.Environ(), mutation.Wakes+"="+m.Name)
		out, err := suite.CombinedOutput()
		if passed := err == nil; passed != (m.Name == "") {
			t.Errorf("%q: the suite passed: %v\n%s", m.Name, passed, out)
		}
	}
}
