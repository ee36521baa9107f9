package clients

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/instance"
)

// commandTime bounds every single command of a client.
const commandTime = 2 * time.Minute

// mode is what to do about clients that are missing.
var mode = os.Getenv("LETHE_CLIENTS")

// binary is lethe.
var binary string

func TestMain(m *testing.M) {
	os.Exit(instance.Main(m, instance.Build{Skip: mode == "skip"}, &binary))
}

// begin says that the test runs beside others, if it runs at all.
func begin(t *testing.T) {
	t.Helper()
	if mode == "skip" || testing.Short() {
		t.Skip("tests with real clients are left out: LETHE_CLIENTS is \"skip\", or the run is short")
	}
	t.Parallel()
}

// program finds a client in PATH or among the tools that the scripts built.
func program(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if path, err := filepath.Abs(filepath.Join("..", "..", ".bin", name)); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	missing(t, name)
	return ""
}

// missing skips the test, or fails it where every client is required.
func missing(t *testing.T, name string) {
	t.Helper()
	text := name + " is not installed; scripts/needs.sh installs it"
	if mode == "require" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// environment is that of the machine without what clients would read beside
// their own configuration.
func environment(home string, more ...string) []string {
	var env []string
	for _, pair := range os.Environ() {
		name, _, _ := strings.Cut(pair, "=")
		switch prefix, _, _ := strings.Cut(name, "_"); {
		case prefix == "AWS", prefix == "RCLONE", prefix == "RESTIC", prefix == "LETHE", prefix == "S3", prefix == "XDG":
		case name == "HOME", name == "http_proxy", name == "HTTP_PROXY":
		default:
			env = append(env, pair)
		}
	}
	return append(append(env, "HOME="+home, "LC_ALL=C.UTF-8", "AWS_EC2_METADATA_DISABLED=true"), more...)
}

// command is a program to run with its environment and folder.
type command struct {
	folder string
	env    []string
	args   []string
	stdin  string
}

// run returns what the command prints; err tells what it complained about.
func (c command) run() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.folder, c.env, strings.NewReader(c.stdin)
	cmd.WaitDelay = time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		err = errors.Join(err, fmt.Errorf("not done after %s", commandTime))
	}
	if err != nil {
		err = fmt.Errorf("%s %q: %w\n%s%s", filepath.Base(c.args[0]), c.args[1:], err, out.String(), errs.String())
	}
	return out.String(), err
}
