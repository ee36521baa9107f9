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

// shell is a shell in a folder of its own.
type shell struct {
	home    string
	in      io.Writer
	out     *bufio.Reader
	ports   *strings.Replacer // of commands
	names   *strings.Replacer // of what they print
	servers int               // that were started in it
}

func newShell(t *testing.T, more ...string) *shell {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command("bash")
	path := filepath.Dir(binary) + ":" + os.Getenv("PATH")
	cmd.Dir, cmd.Env = home, environment(home, append([]string{"PATH=" + path, "TZ=UTC", "AWS_PAGER="}, more...)...)
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
	sh := &shell{home: home, in: in, out: bufio.NewReader(out), ports: strings.NewReplacer(), names: strings.NewReplacer()}
	t.Cleanup(func() {
		_, _ = io.WriteString(in, "for job in $(jobs -p); do kill -INT -- -$job; done; wait; exit\n")
		_, _ = io.Copy(io.Discard, out) // until the servers have ended
		_ = cmd.Wait()
	})
	sh.run(t, "shopt -s expand_aliases; set -m") // every job in a group of its own
	return sh
}

// serves types a command that starts a server, in the background, and waits until it serves. The
// settings are variables of the environment. It returns what the server prints.
func (sh *shell) serves(t *testing.T, line string, settings ...string) string {
	t.Helper()
	sh.servers++
	file := fmt.Sprintf("serve-%d", sh.servers)
	line = strings.TrimRight(regexp.MustCompile(`\s# .*$`).ReplaceAllString(line, ""), " &")
	return sh.run(t, fmt.Sprintf("%s %s > %s.out 2> %[3]s.log & until [ -s %[3]s.out ]; do sleep 0.1; kill -0 $! || { cat %[3]s.log; break; }; done; cat %[3]s.out",
		strings.Join(settings, " "), line, file))
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
	return regexp.MustCompile(`^(s3 ls|ls|(\./)?lethe (explain|check|status)|lethe adopt explain|curl -s http\S+/readyz)\b`).MatchString(c.line)
}

func (sh *shell) types(t *testing.T, c typed) {
	t.Helper()
	for try := 1; ; try++ {
		got := sh.run(t, c.line)
		if matches(c.want, got) {
			return
		}
		if !c.reads() || try == tries {
			t.Fatalf("$ %s\n%s\nthe page says\n%s", c.line, got, c.want)
		}
		time.Sleep(200 * time.Millisecond) // between two looks; nothing is synchronised by it
	}
}

// shows fails unless an output is what the page shows.
func shows(t *testing.T, c typed, got string) {
	t.Helper()
	if !matches(c.want, got) {
		t.Fatalf("$ %s\n%s\nthe page says\n%s", c.line, got, c.want)
	}
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
