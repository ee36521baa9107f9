package sim

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestWhatDoesNotApplyHasAReason: each cell of the fault matrix that is not applicable is
// in the table of docs/testing.md with its reason, and no other.
func TestWhatDoesNotApplyHasAReason(t *testing.T) {
	text, err := os.ReadFile("../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string][]Fault{}
	for _, m := range regexp.MustCompile("(?m)^\\| (ledger|backend), (writes|reads) \\| ((?:`[a-z-]+`(?:, )?)+) \\| [^|]{20,} \\|$").FindAllStringSubmatch(string(text), -1) {
		for _, f := range regexp.MustCompile("[a-z-]+").FindAllString(m[3], -1) {
			told[m[1]+" "+m[2]] = append(told[m[1]+" "+m[2]], Fault(f))
		}
	}
	all := []Fault{NotDone, Undone, DoneError, Late, Down, Partial, CrashBefore, CrashAfter, Zombie}
	for kind, steps := range map[string][]Step{
		"ledger writes": ledgerWrites, "ledger reads": ledgerReads, "backend writes": blobWrites, "backend reads": blobReads,
	} {
		for _, s := range steps {
			for _, f := range all {
				if applies, said := slices.Contains(applicable(s), f), slices.Contains(told[kind], f); applies == said {
					t.Errorf("%s/%s (%s): applicable %v, told as not applicable %v", s, f, kind, applies, said)
				}
			}
		}
	}
}
