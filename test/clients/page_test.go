package clients

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// typed is a line of a page after a prompt, with the output that the page shows.
type typed struct{ line, want string }

// block is an indented block of a page.
type block struct {
	page  string
	lines []string
}

// drawing and outside stand for blocks that no test types.
const (
	drawing = "a drawing"
	outside = "it needs containers; make compose runs the files as processes"
)

// typedBy has, by page and first line, who types each block.
var typedBy = map[string]map[string]string{
	"README.md": {
		"$ go run ./cmd/lethe serve     # data in ./lethe-data":                            "TestTwoCommands",
		"$ go run ./cmd/lethe serve":                                                       "TestFirstFiveMinutes",
		"$ go build ./cmd/lethe":                                                           "TestFirstFiveMinutes",
		"$ ./lethe explain s3://first/monday/copy.bin":                                     "TestFirstFiveMinutes",
		"$ echo \"for an hour\" | curl -s --data-binary @- 'http://127.0.0.1:9001?ttl=1h'": "TestFirstFiveMinutes",
		"$ s3 ls --recursive s3://first":                                                   "TestFirstFiveMinutes",
		"$ ./lethe explain s3://first/report.bin":                                          "TestFirstFiveMinutes",
		"$ lethe adopt init --database \"$DATABASE_URL\" --endpoint https://s3.example.org --bucket app > adopt.yaml": "TestAdoptionOfAnApplication",
		"$ mkdir -p media/photos && for i in 1 2 3; do head -c 200000 /dev/urandom > media/photos/$i.jpg; done":       "TestAdoptionInAFolder",
		"collections:":                   "TestAdoptionOfAnApplication",
		"$ lethe adopt check adopt.yaml": "TestAdoptionOfAnApplication",
		"rows       live ---- claim ----> claimed ---- settle ----> gone":          drawing,
		"$ lethe adopt status adopt.yaml                        # what waits":      "TestAdoptionOfAnApplication",
		"$ export LETHE_DATABASE_URL=postgres://lethe:secret@db.example.org/lethe": "TestSeveralMachines",
		"    client: PUT                                       client: GET":        drawing,
	},
	"docs/caching.md": {
		"$ lethe serve --set store.head_counts=true &":                                        "TestBuildCache",
		"$ head -c 200000 /dev/urandom > app.o; entry=$(sha256sum app.o | cut -c-64)":         "TestBuildCache",
		"$ lethe buckets set builds --max-idle 30d --yes":                                     "TestBuildCache",
		"$ lethe buckets set builds --quota 50GiB --when-full evict --evict-min-age 1h --yes": "TestBuildCache",
	},
	"docs/scaling.md": {
		"$ cd deploy/compose": outside,
		"$ cat lethe.yaml":    "TestScaling",
		"$ lethe serve --config lethe.yaml --data-dir a &":                        "TestScaling",
		"$ export AWS_SHARED_CREDENTIALS_FILE=a/credentials AWS_REGION=us-east-1": "TestScaling",
	},
}

// TestEveryBlockIsTyped: no block of these pages is left to chance.
func TestEveryBlockIsTyped(t *testing.T) {
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for page, by := range typedBy {
		left := map[string]bool{}
		for first := range by {
			left[first] = true
		}
		for _, b := range blocksOf(t, page) {
			first := b.lines[0]
			who, known := by[first]
			delete(left, first)
			switch prompts := slices.ContainsFunc(b.lines, func(line string) bool { return strings.HasPrefix(line, "$ ") }); {
			case !known:
				t.Errorf("%s: nobody types the block that begins with %q: name a test in typedBy", page, first)
			case who == drawing && prompts:
				t.Errorf("%s: a drawing has commands: %q", page, first)
			case strings.HasPrefix(who, "Test") && !strings.Contains(string(source), "\nfunc "+who+"("):
				t.Errorf("%s: there is no %s, which would type %q", page, who, first)
			}
		}
		for first := range left {
			t.Errorf("%s: no block begins with %q any more", page, first)
		}
	}
}

// blocksOf returns the indented blocks of a page.
func blocksOf(t *testing.T, page string) (list []block) {
	t.Helper()
	data, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	var open *block
	blank := 0
	for line := range strings.Lines(string(data)) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch {
		case text == "":
			blank++
			continue
		case !indented:
			open = nil
		case open == nil:
			list = append(list, block{page, []string{text}})
			open = &list[len(list)-1]
		default:
			open.lines = append(append(open.lines, make([]string, blank)...), text)
		}
		blank = 0
	}
	return list
}

// mine returns the blocks that the test is to type.
func mine(t *testing.T, page string) []block {
	t.Helper()
	return slices.DeleteFunc(blocksOf(t, page), func(b block) bool { return typedBy[page][b.lines[0]] != t.Name() })
}

// typedIn returns the commands that the test is to type.
func typedIn(t *testing.T, page string) (list []typed) {
	t.Helper()
	for _, b := range mine(t, page) {
		list = append(list, b.commands()...)
	}
	if len(list) == 0 {
		t.Fatalf("%s has no commands for %s", page, t.Name())
	}
	return list
}

// commands returns the commands of a block.
func (b block) commands() (list []typed) {
	for _, line := range b.lines {
		command, prompt := strings.CutPrefix(line, "$ ")
		if prompt {
			list = append(list, typed{line: command})
			continue
		}
		if len(list) == 0 {
			return nil
		}
		last := &list[len(list)-1]
		if strings.Count(last.line, `"`)%2 == 1 || strings.HasSuffix(last.line, `\`) { // it goes on
			last.line += "\n" + line
		} else {
			last.want += line + "\n"
		}
	}
	return list
}

// variable are the parts of an output that differ from run to run.
var variable = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{8,15}Z?`), "TIME"},
	{regexp.MustCompile(`(?m)^\S+-[0-9]+-[0-9a-z]+ +([a-z,]+) +(http://\S+|-) .*$`), "INSTANCE $1 $2"},
	{regexp.MustCompile(`answers in [0-9.µmns]+`), "answers in TIME"},
	{regexp.MustCompile(`\b[0-9a-v]{26}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{32,64}\b`), "HEX"},
	{regexp.MustCompile(`\bLETHE[0-9A-F]{15}\b`), "KEY"},
	{regexp.MustCompile(`(127\.0\.0\.1:9001/)[0-9A-Za-z]{7}\b`), "${1}CODE"},
	{regexp.MustCompile(`\(in [0-9]+ s\)`), "(in SECONDS)"},
	{regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/metrics`), "ANY"},
	{regexp.MustCompile(`console +http://127\.0\.0\.1:[0-9]+`), "console ANY"},
	{regexp.MustCompile(`(?m)^{"time":.*$`), ""}, // the log, which the page leaves out
	{regexp.MustCompile(`[ \t]+`), " "},
}

func isInstance(line string) bool {
	return strings.HasPrefix(line, "INSTANCE ") && !strings.HasPrefix(line, "INSTANCE ROLES ")
}

// plain replaces what differs from run to run.
func plain(text string) []string {
	for _, v := range variable {
		text = v.is.ReplaceAllString(text, v.as)
	}
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	first := slices.IndexFunc(lines, isInstance)
	if first < 0 {
		return lines
	}
	last := first
	for last < len(lines) && isInstance(lines[last]) {
		last++
	}
	slices.Sort(lines[first:last]) // which of several registers first is chance
	return lines
}

// matches reports whether an output is what the page shows, in which "..." stands for any lines.
func matches(want, got string) bool {
	have := plain(got)
	for _, w := range plain(want) {
		if w == "..." {
			return true
		}
		if len(have) == 0 || have[0] != w {
			return false
		}
		have = have[1:]
	}
	return len(have) == 0
}
