package adoption

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

var killCount = flag.Int64("adoption.kills", 0, "how many workers each test that kills kills, if it is more than it kills anyway")

// asWorker is the variable that makes a test process a worker: its job.
const asWorker = "ADOPTION_WORKER"

func TestMain(m *testing.M) {
	flag.Parse()
	if text := os.Getenv(asWorker); text != "" {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = j.reclaim(context.Background())
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// job is a description, and its environment.
type job struct {
	Text string
	Env  map[string]string
}

// open opens an adoption by the description, changed for a test under load.
func (j job) open(ctx context.Context, o Options) (*Adoption, error) {
	d, err := adopt.Parse([]byte(j.Text), func(name string) (string, bool) { v, ok := j.Env[name]; return v, ok })
	if err != nil {
		return nil, err
	}
	for name, c := range d.Collections {
		underLoad(&c)
		d.Collections[name] = c
	}
	a, err := Open(ctx, d, o)
	if err == nil {
		a.Loop.BeatEvery, a.Loop.Stale = silent/5, silent
	}
	return a, err
}

// reclaim is a process that reclaims until it is killed, and writes what it
// does.
func (j job) reclaim(ctx context.Context) error {
	o := Options{Log: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	a, err := j.open(ctx, o)
	for ; err != nil; a, err = j.open(ctx, o) { // a stopped database is started again
		_ = lethe.Sleep(ctx, 10*time.Millisecond)
	}
	for {
		counts, err := a.Loop.Once(ctx, nil)
		for routine, c := range counts {
			for what, n := range c {
				fmt.Printf("%s: %s=%d\n", routine, what, n)
			}
		}
		if err != nil {
			fmt.Println(err)
		}
		_ = lethe.Sleep(ctx, 10*time.Millisecond)
	}
}

// killed runs processes one after the other until ctx ends. Each is killed
// after a moment; some pause before, until others have taken over, and continue
// for a while.
func (r *rig) killed(ctx context.Context) {
	text, err := json.Marshal(r.job)
	if err != nil {
		r.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		cmd := exec.Command(os.Args[0], fmt.Sprint("-adoption.rows=", *loadRows))
		cmd.Env = append(os.Environ(), asWorker+"="+string(text))
		out, err := cmd.StdoutPipe()
		if err != nil {
			r.t.Error(err)
			return
		}
		cmd.Stderr = cmd.Stdout
		if err := servers.Start(cmd); err != nil {
			r.t.Error(err)
			return
		}
		ending := make(chan struct{})
		go r.end(ctx, cmd.Process, ending)
		last := r.heard(out)
		select {
		case <-ending:
		default: // nothing here has ended it
			r.t.Errorf("a worker ended by itself; the last that it wrote:\n%s", strings.Join(last, "\n"))
			<-ending
		}
		_ = cmd.Wait() // it was killed
		r.count("kills", 1)
	}
}

// end kills a process after a moment, and closes a channel right before.
func (r *rig) end(ctx context.Context, p *os.Process, ending chan<- struct{}) {
	_ = lethe.Sleep(ctx, r.pause(150*time.Millisecond+rand.N(time.Second)))
	if rand.IntN(3) == 0 && p.Signal(syscall.SIGSTOP) == nil {
		_ = lethe.Sleep(ctx, silent+rand.N(silent))
		_ = p.Signal(syscall.SIGCONT)
		_ = lethe.Sleep(ctx, rand.N(time.Second))
		r.count("stalls", 1)
	}
	close(ending)
	_ = p.Kill()
}

// heard processes the lines that a worker writes until it ends, and returns the
// last ones.
func (r *rig) heard(out io.Reader) (last []string) {
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return append(last, line)
		}
		r.told(strings.TrimSuffix(line, "\n"))
		last = append(last[max(0, len(last)-lastLines+1):], strings.TrimSuffix(line, "\n"))
	}
}

// lastLines is how many lines of a worker that ended by itself are reported:
// enough for a panic.
const lastLines = 200

// told processes a line of a worker.
func (r *rig) told(line string) {
	r.alarms.look(line)
	if parts := counted.FindStringSubmatch(line); parts != nil {
		n, _ := strconv.ParseInt(parts[2], 10, 64) // digits
		r.count(parts[1], n)
	}
}

// counted matches a line with a count: of a routine, and what it counts.
var counted = regexp.MustCompile(`^([a-z ]+: [a-z ]+)=(\d+)$`)

// restarts kills the database, and starts it again after a moment.
func (r *rig) restarts(ctx context.Context) {
	for r.database != nil && lethe.Sleep(ctx, r.pause(500*time.Millisecond+rand.N(2*time.Second))) == nil {
		r.database.Kill()
		_ = lethe.Sleep(ctx, rand.N(faultTime))
		r.database.Restart()
		r.count("restarts", 1)
	}
}

// kills returns the least counts of a test that kills.
func (r *rig) kills() map[string]int64 {
	want := map[string]int64{"kills": max(6, *killCount), "stalls": 1}
	if r.database != nil {
		want["restarts"] = 1
	}
	return want
}

// Processes that reclaim are killed at any moment, and so is the database, while the
// application writes. In the end everything is exact.
func TestKilledAtAnyMoment(t *testing.T) {
	if *killCount == 0 {
		t.Skip("make crash runs it")
	}
	for _, e := range []engine{postgres, mariadb, sqlite} {
		t.Run(e.name, func(t *testing.T) {
			l := newLoad(t, e)
			ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
			defer cancel()
			live := l.fill(ctx)
			want := l.kills()
			want["expire pastes: rows"], want["clean pastes: objects"] = 1, 1
			l.until(ctx, want, l.write, l.killed, l.killed, l.restarts, l.hurry)
			l.drain(ctx)
			l.verify(ctx, live)
		})
	}
}
