package cluster_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/instance"
)

var (
	objects = flag.Int("cluster.objects", 0, "how many objects have to expire; 0: none, the test is left out")
	seed    = flag.Uint64("cluster.seed", 0, "seed of the order of faults and of the clients' choices (0: any)")
	logs    = flag.String("cluster.logs", "", "a folder for the logs of the instances")
	overlay = flag.String("cluster.overlay", "", "a file for go build -overlay, to run a lethe with planted flaws")
	calm    = flag.Bool("cluster.calm", false, "break nothing")
	soaks   = flag.Duration("cluster.soak", 0, "how long rounds of work and checks follow each other, with copies that rot; 0: one round, without")
)

const (
	workers   = 24 + patients // clients, each with one request at a time
	drainTime = 5 * time.Minute
	// expiring is how long the objects live that expire: long enough for some to
	// outlive every fault, short enough for most to end while faults go on.
	expiring = 20 * time.Second
)

// binary is lethe.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(instance.Main(m, instance.Build{Overlay: *overlay, Skip: *objects == 0}, &binary))
}

// now is the time by the clock that the instances have, too.
func now() lethe.Time { return lethe.SystemClock{}.Now() }

func TestCluster(t *testing.T) {
	if *objects == 0 {
		t.Skip(`takes minutes: "make cluster" runs it`)
	}
	if *seed == 0 {
		*seed = uint64(now())
	}
	t.Logf("seed %d", *seed)
	begun := now()
	w := newWorld(t)
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	phase := func(name string, run func(context.Context) error) {
		from := now()
		if err := run(ctx); err != nil {
			t.Fatalf("%s: %v\n%s", name, err, w.tails())
		}
		t.Logf("%s: %s", name, now().Sub(from).Round(time.Second/10))
	}
	phase("start", w.start)
	for w.round = 1; ; w.round++ {
		w.begun = now()
		phase("work and faults", func(ctx context.Context) error { return w.work(ctx, stop) })
		t.Log(w.counts.String())
		phase("shared keys", w.checkContest)
		phase("rules", w.checkRules)
		phase("rot", w.healed)
		phase("drain", w.drain)
		phase("objects", w.checkObjects)
		phase("ledger", w.checkLedger)
		phase("backend", w.checkBackend)
		phase("lethe check", w.check)
		if now().Sub(begun) >= *soaks {
			break
		}
		t.Logf("round %d ended after %s", w.round, now().Sub(begun).Round(time.Second))
	}
	if !*calm && w.counts.slow.Load() == 0 {
		t.Error("no instance ever gave up a request to the S3 server")
	}
	phase("stop", w.stop)
	phase("runs", func(ctx context.Context) error { return w.ask(ctx, whenStopped) })
	t.Logf("all of it: %s", now().Sub(begun).Round(time.Second/10))
}

// work has clients at work until enough objects were put that expire, and all
// kinds of faults have come.
func (w *world) work(ctx context.Context, stop context.CancelCauseFunc) error {
	var wg sync.WaitGroup
	enough, cancel := context.WithCancel(ctx)
	defer cancel()
	for i, c := range w.clients {
		run := c.run
		if i == workers {
			run = func(ctx context.Context) error { return w.seed(ctx, c) }
		}
		wg.Go(func() {
			if err := run(enough); err != nil {
				stop(err)
			}
		})
	}
	w.compete(enough, &wg)
	if *soaks > 0 {
		wg.Go(func() { w.rule(enough) })
		wg.Go(func() { w.rot(enough) })
	}
	err := w.breakThings(ctx, w.chance)
	if err == nil {
		err = w.until(ctx, time.Hour, func() error {
			if !w.enough() {
				return errors.New("not enough objects were put")
			}
			return nil
		})
	}
	cancel()
	wg.Wait()
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return err
}

// until waits until something holds, and answers what is still wrong in the end.
func (w *world) until(ctx context.Context, atMost time.Duration, holds func() error) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(atMost)
	defer limit.Stop()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-limit.C:
			return fmt.Errorf("after %s: %w", atMost, err)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}
