package adoption

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/servers"
)

var killCount = flag.Int("adoption.kills", 0, "how many workers TestKilledAtAnyMoment kills")

// asWorker is the variable that makes a process of this test one that reclaims: where
// the paste service lies.
const asWorker = "ADOPTION_WORKER"

func TestMain(m *testing.M) {
	flag.Parse()
	if at := os.Getenv(asWorker); at != "" {
		if err := reclaimAt(context.Background(), at); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// reclaimAt is a process that reclaims until it is killed, and tells what it does.
func reclaimAt(ctx context.Context, at string) error {
	var env map[string]string
	if err := json.Unmarshal([]byte(at), &env); err != nil {
		return err
	}
	d, err := describe(env, underLoad)
	if err != nil {
		return err
	}
	a, err := Open(ctx, d, Options{Log: slog.New(slog.NewTextHandler(os.Stdout, nil))})
	if err != nil {
		return err
	}
	for {
		counts, err := a.Loop.Once(ctx, nil)
		for routine, c := range counts {
			for what, n := range c {
				fmt.Printf("%s: %s=%d\n", routine, what, n)
			}
		}
		if err != nil { // a database that is away comes back
			fmt.Println(err)
		}
		_ = lethe.Sleep(ctx, 10*time.Millisecond)
	}
}

// killed runs processes one after the other, each of which is killed after a moment,
// until ctx ends.
func (l *load) killed(ctx context.Context) {
	env, err := json.Marshal(l.place.env())
	if err != nil {
		l.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		cmd := exec.Command(os.Args[0], fmt.Sprint("-adoption.rows=", *loadRows))
		cmd.Env = append(os.Environ(), asWorker+"="+string(env))
		out, err := cmd.StdoutPipe()
		if err != nil {
			l.t.Error(err)
			return
		}
		cmd.Stderr = cmd.Stdout
		if err := servers.Start(cmd); err != nil {
			l.t.Error(err)
			return
		}
		end := time.AfterFunc(150*time.Millisecond+rand.N(time.Second), func() { _ = cmd.Process.Kill() })
		for lines := bufio.NewScanner(out); lines.Scan(); {
			l.told(lines.Text())
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) {
			l.t.Errorf("a worker ended by itself: %v", err)
		}
		end.Stop()
		l.count("kills", 1)
	}
}

// told takes a line that a worker has written.
func (l *load) told(line string) {
	l.alarms.look(line)
	var n int64
	if what, value, ok := strings.Cut(line, "="); ok && strings.Contains(what, ": ") {
		if _, err := fmt.Sscan(value, &n); err == nil {
			l.count(what, n)
		}
	}
}

// restarts kills the database, and starts it again after a moment.
func (l *load) restarts(ctx context.Context) {
	for lethe.Sleep(ctx, 500*time.Millisecond+rand.N(2*time.Second)) == nil {
		l.server.Kill()
		_ = lethe.Sleep(ctx, rand.N(faultTime))
		l.server.Restart()
		l.count("restarts", 1)
	}
}

// Processes that reclaim are killed at any moment, and so is the database, while the
// application writes. In the end everything is exact.
func TestKilledAtAnyMoment(t *testing.T) {
	if *killCount == 0 {
		t.Skip("make crash runs it")
	}
	l := newLoad(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
	defer cancel()
	live := l.fill(ctx)
	enough := func(ctx context.Context) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return ctx.Err() != nil || l.done["kills"] >= int64(*killCount)
	}
	for {
		l.while(ctx, l.killed, l.killed, l.restarts, l.hurry)
		if enough(ctx) {
			break
		}
	}
	l.drain(ctx)
	l.verify(ctx, live)
	l.did("kills", "restarts", "expire pastes: rows", "clean pastes: objects")
}
