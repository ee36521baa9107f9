package crash_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/instance"
	"github.com/lethe-storage/lethe/test/failpoint"
)

var (
	killCount = flag.Int("crash.kills", 16, "how often to kill; 0: every point once, and moments of chance")
	killSeed  = flag.Uint64("crash.seed", 0, "seed of the order and of the clients' choices (0: any)")
	killFlaws = flag.String("crash.overlay", "", "a file for go build -overlay, to kill a lethe with planted flaws")
	killPoint = flag.String("crash.point", "", "only points that hold this")
)

const (
	workers    = 2  // folders at work at once
	finishEach = 12 // deaths of a folder between two ends of all work
	folderLife = 60 // deaths of a folder
	turnsMost  = 400
)

// Deaths at moments that nobody chose.
const (
	underLoad = "any moment under load"
	atStart   = "any moment of a start"
)

// binary is lethe with failpoints.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(instance.Main(m, instance.Build{Tags: "failpoints", Overlay: *killFlaws, Skip: testing.Short()}, &binary))
}

// TestKills kills servers at every point, and at moments that nobody chose.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and kills processes")
	}
	seed := *killSeed
	if seed == 0 {
		seed = uint64(now())
	}
	begun := now()
	k := &killer{reached: map[string]int{}, random: rand.New(rand.NewPCG(seed, 0))}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	jobs := make(chan job)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			err := k.work(ctx, jobs)
			if err != nil && ctx.Err() == nil { // the first of them: it ends the others
				t.Errorf("seed %d: %v", seed, err)
				cancel()
			}
		})
	}
	for _, j := range k.plan(*killCount) {
		select {
		case jobs <- j:
		case <-ctx.Done():
		}
	}
	close(jobs)
	wg.Wait()
	t.Logf("seed %d: %d kills in %s\n%s", seed, k.total(), now().Sub(begun).Round(time.Second/10), k.table())
	if !t.Failed() && *killCount == 0 {
		for _, p := range k.points() {
			if k.reached[p] == 0 {
				t.Errorf("point %s was never reached", p)
			}
		}
	}
}

// TestEveryStepHasAScenario keeps the table of scenarios complete.
func TestEveryStepHasAScenario(t *testing.T) {
	for _, p := range failpoint.Points() {
		if _, ok := scenarios[stepOf(p)]; !ok {
			t.Errorf("point %s has no scenario", p)
		}
	}
}

func stepOf(point string) string {
	step, _, _ := strings.Cut(point, "/")
	return step
}

// killer counts where processes died.
type killer struct {
	mu      sync.Mutex
	reached map[string]int
	random  *rand.Rand
}

// job is one process to kill.
type job struct {
	point string
	seed  uint64
}

// points are those at which processes are to die.
func (k *killer) points() []string {
	return slices.DeleteFunc(failpoint.Points(), func(p string) bool { return !strings.Contains(p, *killPoint) })
}

// plan spreads kills over all points, every sixth at a moment of chance. No kills
// stand for one round: a number cut off by those of chance would leave points out.
func (k *killer) plan(kills int) []job {
	points := k.points()
	var out []job
	for len(out) == 0 || len(out) < kills {
		k.random.Shuffle(len(points), func(i, j int) { points[i], points[j] = points[j], points[i] })
		for i, p := range points {
			out = append(out, job{p, k.random.Uint64()})
			if i%10 == 4 && *killPoint == "" {
				out = append(out, job{underLoad, k.random.Uint64()}, job{atStart, k.random.Uint64()})
			}
		}
		if len(points) == 0 {
			out = append(out, job{*killPoint, k.random.Uint64()})
		}
	}
	if kills == 0 {
		return out
	}
	return out[:kills]
}

func (k *killer) died(point string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reached[point]++
}

func (k *killer) total() int {
	n := 0
	for _, times := range k.reached {
		n += times
	}
	return n
}

// table lists how often processes died where, a line per step.
func (k *killer) table() string {
	var b strings.Builder
	row := func(step string, a ...any) { fmt.Fprintf(&b, "%-24s %7v %7v %7v\n", append([]any{step}, a...)...) }
	row("step", "before", "during", "after")
	for _, p := range failpoint.Points() {
		step := stepOf(p)
		if strings.HasSuffix(p, "/before") {
			during := k.reached[step+"/during"] + k.reached[step+"/written"] + k.reached[step+"/checked"] + k.reached[step+"/placed"]
			row(step, k.reached[p], during, k.reached[step+"/after"])
		}
	}
	for _, p := range []string{underLoad, atStart} {
		row(p, "", k.reached[p], "")
	}
	return b.String()
}

// work kills servers on folders of its own until there are no more jobs.
func (k *killer) work(ctx context.Context, jobs <-chan job) (err error) {
	var f *folder
	defer func() {
		if f != nil && err == nil {
			err = f.end(ctx)
		}
	}()
	for j := range jobs {
		if f == nil {
			if f, err = newFolder(rand.New(rand.NewPCG(j.seed, 2))); err != nil {
				return err
			}
			if err := f.furnish(ctx); err != nil {
				return err
			}
		}
		if err := k.run(ctx, f, j); err != nil {
			return fmt.Errorf("%s, death %d of %s: %w", j.point, f.deaths, f.dir, err)
		}
		if f.deaths >= folderLife {
			if err := f.end(ctx); err != nil {
				return err
			}
			f = nil
		}
	}
	return ctx.Err()
}

// end ends the life of a folder. One in which something was wrong stays.
func (f *folder) end(ctx context.Context) error {
	if err := f.finish(ctx); err != nil {
		return fmt.Errorf("after %d deaths of %s: %w", f.deaths, f.dir, err)
	}
	return f.discard()
}

// run has a process die, and looks at what it left.
func (k *killer) run(ctx context.Context, f *folder, j job) error {
	f.random = rand.New(rand.NewPCG(j.seed, 3))
	var err error
	sc := scenarios[stepOf(j.point)]
	fresh := (sc.starts || j.point == atStart) && sc.earlier == "" && f.random.IntN(2) == 0
	switch {
	case fresh:
		return k.birth(ctx, j, f.took)
	case j.point == underLoad:
		err = k.loaded(ctx, f)
	case j.point == atStart:
		err = k.started(ctx, f)
	default:
		err = k.pointed(ctx, f, j.point)
	}
	if err != nil {
		return err
	}
	if err := f.verify(ctx); err != nil || f.deaths%finishEach != 0 {
		return err
	}
	return f.finish(ctx)
}

// birth has a process die while it makes a folder, which has to become one all
// the same. took is how long a start takes.
func (k *killer) birth(ctx context.Context, j job, took time.Duration) error {
	f, err := newFolder(rand.New(rand.NewPCG(j.seed, 4)))
	if err != nil {
		return err
	}
	f.took = took
	if j.point == atStart {
		err = k.started(ctx, f)
	} else {
		err = k.pointed(ctx, f, j.point)
	}
	if err != nil {
		return fmt.Errorf("fresh folder: %w", err)
	}
	if err := f.furnish(ctx); err != nil {
		return fmt.Errorf("fresh folder: %w", err)
	}
	if err := f.verify(ctx); err != nil {
		return fmt.Errorf("fresh folder: %w", err)
	}
	return f.end(ctx)
}
