package memadopt_test

import (
	"maps"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/lethe-storage/lethe/test/mutation"
)

// The rules that random schedules rarely need: a mutant without one fails the
// tests of the rule.
func TestMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the mutants")
	}
	var list []mutation.Mutant
	for _, ms := range []mutants{quarantineMutants, firstRunMutants, markMutants} {
		for name, m := range ms {
			list = append(list, mutation.Mutant{Name: name, Edits: map[string][]mutation.Edit{m.file: {{Old: m.old, New: m.new}}}})
		}
	}
	files, alone, err := mutation.Plant(root, list)
	if err != nil || len(alone) > 0 {
		t.Fatalf("%v could not be planted, %v", alone, err)
	}
	binary, err := mutation.Build(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	quarantineMutants.hunt(t, binary, "^TestSuite$")
	firstRunMutants.hunt(t, binary, "^Test(FirstRunOf|OrphanThatIs)")
	markMutants.hunt(t, binary, "^TestSuite$")
}

// mutants are rules taken away, by name: what old stands for in a file becomes
// new.
type mutants map[string]struct{ file, old, new string }

const (
	root     = "../.."
	rows     = "adopt/memadopt/quarantine.go"
	marks    = "adopt/memadopt/contents.go"
	claims   = "adopt/quarantined.go"
	keys     = "adopt/keys.go"
	orphans  = "adopt/orphans.go"
	folders  = "adopt/folderplan.go"
	firstRun = "adopt/fewrows.go"
)

var firstRunMutants = mutants{
	"what was put during the listing is deleted":       {orphans, "case now.Size == o.Size &&", "case true || now.Size == o.Size &&"},
	"a first run deletes":                              {keys, "c.left = 0 //", "c.left += 0 //"},
	"keys that few rows name are believed":             {keys, "if !c.first {", "if !c.first || c.without > 0 {"},
	"a run that was refused counts as the first":       {keys, "			return false, err\n		}\n		for due", "			return false, errors.Join(err, k.Rows.End(ctx, c.below, c.at))\n		}\n		for due"},
	"a census does not doubt":                          {keys, "return out, c.plausible()", "return out, nil"},
	"folders that few rows name are believed":          {folders, "if v.Last == 0 {", "if v.Last == 0 && v.Rows == 0 {"},
	"thumbnails are no doubt":                          {keys, "if c.first && c.doubts && c.Rules.Least != 0 {\n		if err := c.derive", "if false {\n		if err := c.derive"},
	"one row proves a description":                     {firstRun, "float64(named) > least*float64(all)", "named > 0"},
	"ten things without a row prove nothing":           {firstRun, "without < provesNothing", "without <= provesNothing"},
	"one thing without a row proves a description bad": {firstRun, "without < provesNothing ||", "without < 1 ||"},
	"least is half whatever is set":                    {firstRun, "> least*float64(all)", "> max(least, 0.5)*float64(all)"},
}

var markMutants = mutants{
	"a mark that is over refuses references":        {"adopt/memadopt/app.go", " && !m.ended(db.o.Clock.Now())", ""},
	"a mark that is over keeps from beginning anew": {"adopt/memadopt/records.go", "m.State == Waiting || m.ended(now)", "m.State == Waiting"},
}

var quarantineMutants = mutants{
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
	"a moved object is not looked for again":            {marks, "if n++; db.o.Quarantine && db.content(m) == nil {", "if n++; db.o.Quarantine && n < 0 {"},
	"what came back is looked for without its grace":    {marks, "if n++; db.o.Quarantine && db.content(m) == nil {", "if n++; db.o.Quarantine {"},
	"a moved object is looked for before copies land":   {marks, "return g.LooksAgain()", "return g.LongestWrite"},
	"an object is looked for again without end":         {marks, "o.Failed == \"\" && o.Again &&", "o.Failed == \"\" && o.Again && fence < 0 &&"},
	"an object whose content had a row is let be":       {marks, "o.Failed == \"\" && o.Again &&", "o.Failed == \"\" && db.o.Quarantine &&"},
	"an object whose content has a row is let be":       {marks, "o.Again && db.contents[o.Content] == nil:", "o.Again:"},
	"an object that somebody wants is moved again":      {rows, "return m.Object == key }", "return m.Object == key && key == \"\" }"},
	"an object that nothing needs is restored":          {claims, "return h.State != Moving && (h.Named || h.Wanted)", "return h.State != Moving"},
}

// hunt sees that tests fail with each of the mutants in a binary, and pass
// without.
func (ms mutants) hunt(t *testing.T, binary, tests string) {
	t.Helper()
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(ms))...) { // the first one is sound
		suite := exec.CommandContext(t.Context(), binary, "-test.run="+tests)
		suite.Env = append(os.Environ(), mutation.Wakes+"="+name)
		out, err := suite.CombinedOutput()
		if passed := err == nil; passed != (name == "") {
			t.Errorf("%q: %s passed: %v\n%s", name, tests, passed, out)
		}
	}
}
