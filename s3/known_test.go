package s3_test

import (
	"bufio"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// setting reads a variable that says with what to run a suite; without it the
// test is skipped.
func setting(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Skip(name + " is not set")
	}
	return value
}

// verdicts are a suite's tests: PASS, FAIL or SKIP. A test that failed once has
// failed.
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

// compare holds the failures against lists, the last of which names the suite:
// another failure fails the test, and so does one of the lists that passes. What is
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

// compareSkips holds what the suite itself skipped against the list of that.
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

// failure is a test of a suite that is known to fail.
type failure struct {
	name, reason string
	unsteady     bool // it passes at times
}

// failures reads the list of a suite: names, each group under its reason in the
// lines with # right before it; ~ before a name: unsteady.
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

// The page between these marks is written from the lists.
const (
	listBegin = "<!-- from s3/testdata: LETHE_UPDATE=1 go test -run TestFailuresAreDocumented ./s3 -->\n"
	listEnd   = "<!-- end -->\n"
)

// TestFailuresAreDocumented holds docs/s3.md to the lists; LETHE_UPDATE=1 writes it.
func TestFailuresAreDocumented(t *testing.T) {
	const page = "../docs/s3.md"
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), listBegin)
	_, after, ok2 := strings.Cut(rest, listEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has not the marks between which the lists stand", page)
	}
	var b strings.Builder
	for _, suite := range []struct{ name, title string }{
		{"versitygw", "versitygw"}, {"versitygw-serve", "versitygw, besides, against lethe serve"}, {"versitygw-posix", "versitygw against its own posix gateway"},
		{"rclone", "rclone"}, {"minio", "minio-go"}, {"s3tests", "s3-tests"}, {"s3tests-serve", "s3-tests, besides, against lethe serve"},
		{"s3tests-front", "s3-tests, besides, against the front alone"},
	} {
		writeFailures(&b, suite.title, failures(t, suite.name))
	}
	want := before + listBegin + b.String() + "\n" + listEnd + after
	if os.Getenv("LETHE_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(data) {
		t.Errorf("%s differs from the lists: run this test with LETHE_UPDATE=1", page)
	}
}

// TestFailuresAreExcused: what fails of versitygw's suite, and of Ceph's, fails on
// versitygw's own posix gateway too, or is of a feature that docs/s3.md says is
// absent, or was decided otherwise; what fails of minio-go's is one of the last two.
func TestFailuresAreExcused(t *testing.T) {
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

// TestSkipsAreDocumented: docs/s3.md names what rclone's suite skips, and minio-go's.
func TestSkipsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/s3.md")
	if err != nil {
		t.Fatal(err)
	}
	for suite, title := range map[string]string{"rclone": "What rclone skips", "minio": "What minio-go's tests skip"} {
		_, section, _ := strings.Cut(string(page), "\n### "+title+"\n")
		section, _, _ = strings.Cut(section, "\n<!-- ")
		section, _, _ = strings.Cut(section, "\n### ")
		for _, f := range listed(t, suite+"-skipped") {
			if name := path.Base(f.name); f.reason == "" || !strings.Contains(section, name) {
				t.Errorf("%s has no reason (%q), or docs/s3.md does not name it", name, f.reason)
			}
		}
	}
}

// absentFeatures are those that docs/s3.md names in its section on them.
func absentFeatures(t *testing.T) map[string]bool {
	t.Helper()
	data, err := os.ReadFile("../docs/s3.md")
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

func writeFailures(b *strings.Builder, title string, list []failure) {
	fmt.Fprintf(b, "\n### What fails of %s: %d\n", title, len(list))
	for len(list) > 0 {
		n := slices.IndexFunc(list, func(f failure) bool { return f.reason != list[0].reason })
		if n < 0 {
			n = len(list)
		}
		fmt.Fprintf(b, "\n**%s** (%d): ", strings.TrimSuffix(list[0].reason, "."), n)
		for i, f := range list[:n] {
			end := ", "
			if i == n-1 {
				end = ".\n"
			}
			if f.unsteady {
				end = " (at times)" + end
			}
			b.WriteString(f.name + end)
		}
		list = list[n:]
	}
}
