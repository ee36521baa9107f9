package sim_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// holders are what shows that a rule of docs/protocol.md holds, beside the mutants,
// which name the rule that they break.
type holders struct {
	variants []string // of model/lethe.pml: the rule switched off, and the violation found
	tests    []string
}

// heldBy has one entry for each rule. A new rule needs an entry, a mutant and a test.
var heldBy = map[string]holders{
	"1": {
		variants: []string{"BYTES_BEFORE_ROW"},
		tests:    []string{"TestSystemCallsOfARealServer", "TestQuay6318_CollectedBeforeTheFirstReference"},
	},
	"2": {
		variants: []string{"UNGUARDED_COMMIT"},
		tests:    []string{"TestSeaweedFS9944_ALateDuplicateCommit", "TestCommitsOfSmallBodies"},
	},
	"3": {
		variants: []string{"BLIND_DECREMENT"},
		tests:    []string{"TestEqualsMemoryLedger", "TestPostgresEqualsMemoryLedger"},
	},
	"4": {
		variants: []string{"NO_TOMBSTONE"},
		tests:    []string{"TestJuiceFS5451_DeletesLostOnInterrupt", "TestOrchestrator805_TheQueueIsDown"},
	},
	"5": {
		variants: []string{"NOT_DURABLE"},
		tests:    []string{"TestBytesBeforeRowsBeforeUnlinks", "TestASwappedOrderIsSeen", "TestSystemCallsOfARealServer"},
	},
	"6": {tests: []string{"TestModule", "TestGitLab1237_CallsInsideTransactions"}},
	"7": {
		variants: []string{"COMPENSATE"},
		tests:    []string{"TestLostAnswersOfCommits", "TestJuiceFS4808_TimeoutOfAMetadataWrite"},
	},
	"8": {
		variants: []string{"TRUST_UNKNOWN"},
		tests:    []string{"TestAutoMQ1027_AnswersThatLeaveSuccessesOut", "TestS3FS838_ErrorsWithinASuccess", "FuzzBatchDeleteAnswers"},
	},
	"9": {
		variants: []string{"NO_SECOND_DELETE", "WINDOW_AT_SETTLE"},
		tests:    []string{"TestSweepAbortsWhatNobodySends", "TestQuay12557_PartsThatNoListingShows"},
	},
	"10": {tests: []string{"TestModule", "TestAClockThatRanBackRemovesNothing", "TestOrchestrator_TextTimesDoNotSort"}},
	"11": {tests: []string{"TestLyingCacheIsNotBelieved", "TestZot4062_RedisIsLost"}},
	"12": {tests: []string{"TestBrokenListing", "TestVerifyRefusesBrokenListings", "TestTheGuardDoesNotGuess"}},
	"13": {tests: []string{"TestABackendWithoutAnEpochTellsNothing", "FuzzEpoch"}},
	"14": {tests: []string{"TestAnOutageBurnsNoAttempts", "TestACutOffPassBurnsNoAttempts"}},
	"15": {tests: []string{"TestOtherNames", "TestForeignNames", "TestVerifyFindsHarm", "TestSupabase830_ImagesMatchesImages2"}},
	"16": {tests: []string{"TestConformance", "TestTorture", "TestLimitsAreLockedAfterBuckets"}},
	"17": {tests: []string{"TestOzone4589_TwoDecideWhichCopiesGo", "TestOrchestrator260_TheCopyThatStaysIsTheDamagedOne", "TestAcknowledgedUploadSurvivesLossOfOlderCopies", "TestCallsOfDuplicates"}},
	"18": {tests: []string{"TestSegmentsMovedWhileTheyAreRead", "TestReplacedWhileItIsRead", "TestResolvedOnceMore", "TestSlowReadersAreNotCutOff"}},
	"19": {
		variants: []string{"PROMOTE_UNPROVEN", "PROMOTE_STALE"},
		tests:    []string{"TestOnlyFixedBodiesArePromotable", "TestPromoteBesideAWrite", "TestRestic3569_TheLaptopSleeps"},
	},
	"20": {
		variants: []string{"UNCHECKED_REFERENCE"},
		tests:    []string{"TestSuspectContentGetsANewCopy", "TestStoredAgainAfterDamage"},
	},
	"21": {tests: []string{"TestSeaweedFS11183_StampsOutliveTheirRule"}},
	"22": {tests: []string{"TestHarmedFiles", "TestSumsAreLearntOnce", "TestLostSums"}},
	"23": {tests: []string{"TestDamagedInlineBytes", "TestRecountInline", "TestContentsInTheLedger", "TestInlineContentsNeedNoBackend", "TestMovesMeet"}},
}

// TestEveryRuleIsHeld checks that each rule that docs/protocol.md numbers has a mutant that
// breaks it and a test, that all named variants and tests exist, and that no mutant names a
// rule that does not exist. With -v it prints the table.
func TestEveryRuleIsHeld(t *testing.T) {
	rules := tableRows(t, "docs/protocol.md", "## Rules")
	model, tests := moduleFile(t, "model/lethe.pml"), allTests(t)
	for i := range len(rules) {
		n := strconv.Itoa(i + 1)
		rule, ok := rules[n]
		if !ok {
			t.Fatalf("docs/protocol.md has %d rules, and none is number %s", len(rules), n)
		}
		held, breaks := heldBy[n], mutantsOf(n)
		if len(breaks) == 0 || len(held.tests) == 0 {
			t.Errorf("rule %s (%s) has %d mutants and %d tests, want at least one of each", n, rule[0], len(breaks), len(held.tests))
		}
		for _, v := range held.variants {
			if !regexp.MustCompile(`\b` + v + `\b`).MatchString(model) {
				t.Errorf("rule %s: the model has no variant %q", n, v)
			}
		}
		for _, name := range held.tests {
			if !tests[name] {
				t.Errorf("rule %s: there is no test %q", n, name)
			}
		}
		t.Logf("rule %s: %s\n  mutants: %s\n  model: %s\n  tests: %s", n, rule[0],
			strings.Join(breaks, "; "), strings.Join(held.variants, ", "), strings.Join(held.tests, ", "))
	}
	for n := range heldBy {
		if _, ok := rules[n]; !ok {
			t.Errorf("heldBy has a rule %s, and docs/protocol.md has none", n)
		}
	}
	for _, m := range allMutants() {
		if n := ruleOf(m); n != "" && rules[n] == nil {
			t.Errorf("the mutant %q breaks rule %s, and docs/protocol.md has none", m.name, n)
		}
	}
}

// ruleOf returns the number of the rule that a mutant breaks, "" if it names none.
func ruleOf(m mutant) string {
	return regexp.MustCompile(`^\d+`).FindString(m.rule)
}

// mutantsOf returns the names of the mutants that break a rule, sorted.
func mutantsOf(rule string) (names []string) {
	for _, m := range allMutants() {
		if ruleOf(m) == rule {
			names = append(names, m.name)
		}
	}
	slices.Sort(names)
	return names
}

// tableRows are the rows of the first table below a heading that begin with a number, by
// that, without it; of a numbered list, what is bold at the beginning of each item.
func tableRows(t *testing.T, file, heading string) map[string][]string {
	t.Helper()
	_, text, found := strings.Cut(moduleFile(t, file), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", file, heading)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	rows := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^(?:\| (\d+) \| (.*) \||(\d+)\. \*\*(.*?)\*\*.*)$`).FindAllStringSubmatch(text, -1) {
		rows[m[1]+m[3]] = strings.Split(m[2]+m[4], " | ")
	}
	if len(rows) == 0 {
		t.Fatalf("%s: no rows below %q", file, heading)
	}
	return rows
}

func moduleFile(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// allTests are the names of all tests and fuzz targets of the module.
func allTests(t *testing.T) map[string]bool {
	t.Helper()
	names, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
