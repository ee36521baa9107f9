package adoption

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/test/mutation"
)

var (
	runMutants = flag.Bool("adoption.mutants", false, "build every mutant of the tests under load and see that its test fails")
	onlyMutant = flag.String("adoption.mutant", "", "only the mutants whose name holds this")
)

// loadMutant is a rule of folders or keys that is off, and the test under load
// that has to fail.
type loadMutant struct{ name, test, file, old, new string }

const (
	foldersTest = "TestFoldersUnderLoad"
	keysTest    = "TestKeysUnderLoad"

	bothAges = "case now.Sub(f.Marker) < r.Retention || v.Now.Sub(k.MarkedAt) < r.Retention, r.young(f, now):"
)

var loadMutants = []loadMutant{
	{"the age of marker and record is ignored", foldersTest, "adopt/folderplan.go", bothAges, "case now < 0:"},
	{"the age of the marker is ignored", foldersTest, "adopt/folderplan.go", bothAges, "case v.Now.Sub(k.MarkedAt) < r.Retention:"},
	{"the age of the record is ignored", foldersTest, "adopt/folderplan.go", bothAges, "case now.Sub(f.Marker) < r.Retention:"},
	{"a folder with a row is purged", foldersTest, "adopt/sqladopt/folders.go", "if out = adopt.HasRow; live[k.Name] {", "if out = adopt.HasRow; live[k.Name] && k.Name == \"\" {"},
	{"the age of objects is ignored", keysTest, "adopt/keys.go", "if c.at.Sub(i.ModTime) < c.Rules.MinAge || ", "if "},
	{"an object that a row names again is condemned", keysTest, "adopt/sqladopt/keys.go", "if _, err := t.exec(endOrphans, k.name, sqldb.JSON(named)); err", "named = nil\n\t\tif _, err := t.exec(endOrphans, k.name, sqldb.JSON(named)); err"},
	{"nothing is restored", keysTest, "adopt/restore.go", "if len(keys) == 0 {\n\t\treturn nil\n\t}\n\tbegan := c.Boot.Now()", "if len(keys) >= 0 {\n\t\treturn nil\n\t}\n\tbegan := c.Boot.Now()"},
	{"a copy that a row names is purged", keysTest, "adopt/quarantined.go", "&& !h.Known &&", "&&"},
}

func (m loadMutant) patched() mutation.Mutant {
	return mutation.Mutant{Name: m.name, Edits: map[string][]mutation.Edit{m.file: {{Old: m.old, New: m.new}}}}
}

// Each mutant makes its test fail, in the time that the test takes anyway.
func TestLoadMutants(t *testing.T) {
	const root = "../../.."
	var chosen []mutation.Mutant
	for _, m := range loadMutants {
		if _, err := m.patched().Patches(root); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		if strings.Contains(m.name, *onlyMutant) {
			chosen = append(chosen, m.patched())
		}
	}
	if t.Failed() {
		return
	}
	if len(chosen) == 0 {
		t.Fatalf("no mutant has %q in its name", *onlyMutant)
	}
	if !*runMutants && *onlyMutant == "" {
		t.Skipf("%d patches apply; run them with -adoption.mutants", len(loadMutants))
	}
	files, alone, err := mutation.Plant(root, chosen)
	if err != nil || len(alone) > 0 {
		t.Fatalf("%v could not be planted, %v", alone, err)
	}
	binary, err := mutation.Build(root, t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []string{foldersTest, keysTest} {
		if out, err := runLoad(t.Context(), binary, test, ""); err != nil {
			t.Fatalf("a build whose mutants sleep: %v\n%s", err, out)
		}
	}
	for _, m := range loadMutants {
		if !strings.Contains(m.name, *onlyMutant) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			out, err := runLoad(t.Context(), binary, m.test, m.name)
			if err == nil || !lost.MatchString(out) {
				t.Errorf("%s: %v\n%s", m.test, err, out)
			}
		})
	}
}

// lost matches what a test says of an object that a row names.
var lost = regexp.MustCompile(`is (gone|not there)`)

// longestLoad bounds a test under load that fails because it never ends.
const longestLoad = time.Minute

func runLoad(ctx context.Context, binary, test, mutant string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longestLoad)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "-test.v", "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), mutation.Wakes+"="+mutant, "LETHE_SERVERS=require")
	out, err := cmd.CombinedOutput()
	return string(out), err
}
