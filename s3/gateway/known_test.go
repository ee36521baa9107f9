package gateway_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// setting returns the variable that configures a suite; without it the test is
// skipped.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skip(name + " is not set")
	}
	return value
}

// verdicts are the results of a suite's tests: PASS, FAIL or SKIP. A test that
// failed once has failed.
type verdicts map[string]string

func (v *verdicts) add(name, verdict string) {
	if *v == nil {
		*v = verdicts{}
	}
	switch verdict {
	case "PASS", "PASSED":
		verdict = "PASS"
	case "FAIL", "FAILED", "ERROR":
		verdict = "FAIL"
	case "SKIP":
	default:
		return
	}
	if (*v)[name] != "FAIL" {
		(*v)[name] = verdict
	}
}

func (v verdicts) count(verdict string) (n int) {
	for _, got := range v {
		if got == verdict {
			n++
		}
	}
	return n
}

// compare checks the failures against lists, the last of which names the suite.
// An unlisted failure, and a listed test that passes, fail the test. Tests
// marked as unsteady may do either.
func (v verdicts) compare(t *testing.T, lists ...string) {
	t.Helper()
	t.Logf("%s: %d passed, %d failed, %d skipped by the suite itself", lists[len(lists)-1], v.count("PASS"), v.count("FAIL"), v.count("SKIP"))
	known := map[string]failure{}
	for _, list := range lists {
		for _, f := range failures(t, list) {
			known[f.name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		f, listed := known[name]
		switch {
		case v[name] == "FAIL" && !listed:
			t.Errorf("%s fails and is not on the list", name)
		case v[name] == "PASS" && listed && !f.unsteady:
			t.Errorf("%s passes: take it off the list", name)
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("%s is on the list, but not in the suite", name)
	}
}

// compareSkips checks the tests that the suite skipped against the list of
// those.
func (v verdicts) compareSkips(t *testing.T, suite string) {
	t.Helper()
	want := map[string]bool{}
	for _, f := range listed(t, suite+"-skipped") {
		want[f.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if skipped := v[name] == "SKIP"; skipped != want[name] {
			t.Errorf("%s is skipped: %v, and on the list of that: %v", name, skipped, want[name])
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("%s is on the list of what is skipped, but not in the suite", name)
	}
}

// failure is a known failure of a suite.
type failure struct {
	name, reason string
	unsteady     bool // it passes sometimes
}

// failures reads the list of a suite: names, each group after its reason, in
// lines with #; ~ before a name: unsteady.
func failures(t *testing.T, suite string) []failure {
	t.Helper()
	return listed(t, suite+"-failures")
}

func listed(t *testing.T, list string) (out []failure) {
	t.Helper()
	file, err := os.Open("testdata/" + list + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var reason []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		text, comment := strings.CutPrefix(line, "# ")
		switch {
		case line == "":
			reason = nil
		case comment:
			reason = append(reason, text)
		default:
			name, unsteady := strings.CutPrefix(line, "~")
			out = append(out, failure{name, strings.Join(reason, " "), unsteady})
		}
	}
	return out
}

// TestFailuresAreCounted checks that docs/s3.md links each list with its number
// of tests.
func TestFailuresAreCounted(t *testing.T) {
	page, err := os.ReadFile("../../docs/s3.md")
	if err != nil {
		t.Fatal(err)
	}
	for list, n := range map[string]int{
		"versitygw-failures": 0, "versitygw-serve-failures": 0, "rclone-failures": 0, "minio-failures": 0, "s3tests-failures": 0,
		"rclone-skipped": 0, "minio-skipped": 0,
	} {
		for _, f := range listed(t, list) {
			if n++; f.reason == "" {
				t.Errorf("%s: %s has no reason", list, f.name)
			}
		}
		link := regexp.MustCompile(fmt.Sprintf(`\[%d\b[^]]*\]\(\.\./s3/gateway/testdata/%s\.txt\)`, n, list))
		if !link.Match(page) {
			t.Errorf("docs/s3.md does not say that %s has %d tests", list, n)
		}
	}
}

// TestKnownFailuresAreExplained checks the known failures. What fails of versitygw's
// and Ceph's suites fails on versitygw's posix gateway too, or is of a feature
// that docs/s3.md lists as absent, or was decided otherwise. What fails of
// minio-go's is one of the last two.
func TestKnownFailuresAreExplained(t *testing.T) {
	absent := absentFeatures(t)
	for posix, suites := range map[string][]string{
		"versitygw-posix": {"versitygw", "versitygw-serve"}, "s3tests-posix": {"s3tests", "s3tests-serve", "s3tests-front"},
		"": {"minio"},
	} {
		there := map[string]bool{}
		if posix != "" {
			for _, f := range failures(t, posix) {
				there[f.name] = true
			}
		}
		seen := map[string]bool{}
		for _, suite := range suites {
			for _, f := range failures(t, suite) {
				what, named := strings.CutPrefix(f.reason, "Absent: ")
				end := strings.IndexAny(what, ",;.")
				switch {
				case f.reason == "" || seen[f.name]:
					t.Errorf("%s, %s: there is no reason, or it is listed twice", suite, f.name)
				case named && (end < 0 || !absent[what[:end]]):
					t.Errorf("%s, %s: docs/s3.md does not say that it is absent: %q", suite, f.name, what)
				case !named && !there[f.name] && !strings.HasPrefix(f.reason, "Decided: "):
					t.Errorf("%s, %s: it fails here alone, and %q is neither absent nor decided", suite, f.name, f.reason)
				}
				seen[f.name] = true
			}
		}
	}
}

// absentFeatures returns the features in the section of docs/s3.md on absent
// ones.
func absentFeatures(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("../../docs/s3.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## What is absent\n")
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]bool{}
	for line := range strings.Lines(section) {
		if item, ok := strings.CutPrefix(line, "- **"); ok {
			name, _, _ := strings.Cut(item, "**")
			out[name] = true
		}
	}
	if len(out) == 0 {
		t.Fatal("docs/s3.md names no absent feature")
	}
	return out
}
