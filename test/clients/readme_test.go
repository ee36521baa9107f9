package clients

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A reader of README.md types its commands, in one shell, and sees what it says.

// TestFirstFiveMinutes types the commands of the section with that name.
func TestFirstFiveMinutes(t *testing.T) {
	begin(t)
	for _, name := range []string{"aws", "curl"} {
		program(t, name)
	}
	sh := newShell(t)
	s3, paste := freePort(t), freePort(t)
	sh.ports = strings.NewReplacer("127.0.0.1:9000", s3, "127.0.0.1:9001", paste, "127.0.0.1:9002", "off")
	sh.names = strings.NewReplacer(s3, "127.0.0.1:9000", paste, "127.0.0.1:9001")
	for _, c := range commandsOf(t, "## The first five minutes") {
		switch {
		case strings.HasPrefix(c.line, "go run ./cmd/lethe serve"):
			c.line = fmt.Sprintf("LETHE_SERVER_S3_LISTEN=%s LETHE_SERVER_PASTE_LISTEN=%s LETHE_SERVER_METRICS_LISTEN=127.0.0.1:0 LETHE_SERVER_CONSOLE_LISTEN=127.0.0.1:0 "+
				"LETHE_RECLAIM_GRACE_HEARTBEAT=2s LETHE_RECLAIM_GRACE_READ_GRACE=2s %s serve > serve.out 2> serve.log & "+
				"until grep -q secret serve.out; do sleep 0.1; done; cat serve.out", s3, paste, binary)
			t.Cleanup(func() { sh.quit(t) })
			c.want = strings.Replace(c.want, "http://127.0.0.1:9002/metrics", "ANY", 1)
		case strings.HasPrefix(c.line, "go build ./cmd/lethe"):
			c.line = "cp " + binary + " lethe"
		}
		sh.types(t, c)
	}
}

// TestAdoptionInAFolder types the commands that adopt a database in a file and a folder.
func TestAdoptionInAFolder(t *testing.T) {
	begin(t)
	program(t, "sqlite3")
	sh := newShell(t)
	list := commandsOf(t, "## Adopting what you have")
	first, last := 0, 0
	for i, c := range list {
		if strings.HasPrefix(c.line, "mkdir -p media") {
			first = i
		}
		if strings.HasPrefix(c.line, "lethe adopt explain") && last == 0 {
			last = i
		}
	}
	if first == 0 || last <= first {
		t.Fatal("README.md has no example with a folder any more")
	}
	for _, c := range list[first : last+1] {
		sh.types(t, c)
	}
}

// typed is a line of README.md after a prompt, with the output that it shows.
type typed struct{ line, want string }

// commandsOf returns the commands of a section.
func commandsOf(t *testing.T, heading string) (list []typed) {
	t.Helper()
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(data), "\n"+heading+"\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatalf("README.md has no %q", heading)
	}
	prompt := false
	for line := range strings.Lines(section) {
		text, block := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		switch command, is := strings.CutPrefix(text, "$ "); {
		case !block && text != "":
			prompt = false
		case block && is:
			list, prompt = append(list, typed{line: command}), true
		case !prompt:
		case strings.Count(list[len(list)-1].line, `"`)%2 == 1: // a quoted command goes on
			list[len(list)-1].line += "\n" + text
		default:
			list[len(list)-1].want += text + "\n"
		}
	}
	if len(list) == 0 {
		t.Fatalf("%q has no commands", heading)
	}
	return list
}

// shell is a shell in a folder of its own.
type shell struct {
	in    io.Writer
	out   *bufio.Reader
	ports *strings.Replacer // of commands
	names *strings.Replacer // of what they print
}

func newShell(t *testing.T) *shell {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("bash")
	path := filepath.Dir(binary) + ":" + os.Getenv("PATH")
	cmd.Dir, cmd.Env = home, environment(home, "PATH="+path, "TZ=UTC", "AWS_PAGER=")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil && !t.Failed() {
			t.Logf("the shell: %v", err)
		}
	})
	sh := &shell{in: in, out: bufio.NewReader(out), ports: strings.NewReplacer(), names: strings.NewReplacer()}
	sh.run(t, "shopt -s expand_aliases")
	return sh
}

// quit stops the server that the shell started.
func (sh *shell) quit(t *testing.T) {
	sh.run(t, "kill -INT %1; wait")
}

// run types a line, and returns what it prints.
func (sh *shell) run(t *testing.T, line string) string {
	t.Helper()
	const end = "-- end of the command --"
	if _, err := fmt.Fprintf(sh.in, "%s\necho '%s'\n", sh.ports.Replace(line), end); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for {
		got, err := sh.out.ReadString('\n')
		if before, ended := strings.CutSuffix(got, end+"\n"); ended {
			text.WriteString(before)
			return sh.names.Replace(text.String())
		}
		text.WriteString(got)
		if err != nil {
			t.Fatalf("the shell ended at %q: %v\n%s", line, err, &text)
		}
	}
}

// tries is how often a command that only reads is typed, five times a second, until it shows
// what the page says: times to live and graces pass meanwhile.
const tries = 450

// reads reports whether a command may be typed again.
func (c typed) reads() bool {
	return regexp.MustCompile(`^(s3 ls|ls|\./lethe (explain|check)|lethe adopt explain)\b`).MatchString(c.line)
}

func (sh *shell) types(t *testing.T, c typed) {
	t.Helper()
	for try := 1; ; try++ {
		got := sh.run(t, c.line)
		if matches(c.want, got) {
			return
		}
		if !c.reads() || try == tries {
			t.Fatalf("$ %s\n%s\nREADME.md says\n%s", c.line, got, c.want)
		}
		time.Sleep(200 * time.Millisecond) // between two looks; nothing is synchronised by it
	}
}

// variable are the parts of an output that differ from run to run.
var variable = []struct {
	is *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]{8,15}Z?`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-v]{26}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{32,64}\b`), "HEX"},
	{regexp.MustCompile(`\bLETHE[0-9A-F]{15}\b`), "KEY"},
	{regexp.MustCompile(`(127\.0\.0\.1:9001/)[0-9A-Za-z]{7}\b`), "${1}CODE"},
	{regexp.MustCompile(`\(in [0-9]+s\)`), "(in SECONDS)"},
	{regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+/metrics`), "ANY"},
	{regexp.MustCompile(`console +http://127\.0\.0\.1:[0-9]+`), "console ANY"},
	{regexp.MustCompile(`(?m)^{"time":.*$`), ""}, // the log, which the page leaves out
	{regexp.MustCompile(`[ \t]+`), " "},
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

// freePort returns an address at which nobody listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
