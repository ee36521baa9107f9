package bench_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

var (
	besideTime   = flag.Duration("adopt.beside", 0, "how long each phase of TestAdoptBeside lasts")
	besideRate   = flag.Int("adopt.requests", 60, "requests a second of the application in TestAdoptBeside")
	besideRounds = flag.Int("adopt.rounds", 3, "rounds of TestAdoptBeside")
)

// clients is how many requests of the application are under way at most.
const clients = 16

// slow is how long the slowest hundredth of some requests took, at least.
func slow(took []time.Duration) time.Duration {
	slices.Sort(took)
	return took[len(took)*99/100]
}

// serve lets the application store and read pastes at a fixed rate until ctx ends, and
// returns how long each took since it was to begin.
func serve(ctx context.Context, t *testing.T, store *paste.Store) (took []time.Duration) {
	t.Helper()
	var mu sync.Mutex
	var codes []string
	one := func(due lethe.Time) {
		mu.Lock()
		code := ""
		if len(codes) > 0 && rand.IntN(2) == 0 {
			code = codes[rand.IntN(len(codes))]
		}
		mu.Unlock()
		var err error
		if code != "" {
			_, _, err = store.Read(context.WithoutCancel(ctx), code)
		} else {
			var p paste.Paste
			p, err = store.Create(context.WithoutCancel(ctx), fmt.Appendf(nil, "body %d", rand.Int64()), time.Hour)
			code = p.Code
		}
		if err != nil {
			t.Error(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		codes = append(codes, code)
		took = append(took, lethe.SystemClock{}.Now().Sub(due))
	}
	due := make(chan lethe.Time, *besideRate*60)
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for at := range due {
				one(at)
			}
		})
	}
	tick := time.NewTicker(time.Second / time.Duration(*besideRate))
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case at := <-tick.C:
			due <- lethe.FromTime(at)
		case <-ctx.Done():
		}
	}
	close(due)
	wg.Wait()
	return took
}

// phaseOf ends after the time of a phase. It tells nobody when: a limit of rates would
// refuse to wait until then.
func phaseOf(t *testing.T) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(t.Context())
	end := time.AfterFunc(*besideTime, cancel)
	return ctx, func() {
		end.Stop()
		cancel()
	}
}

// beside lets the application work for the time of a phase, beside a job if there is one.
func (p *pastes) beside(store *paste.Store, job func(context.Context) (int64, error)) (p99 time.Duration, rate float64) {
	p.t.Helper()
	ctx, cancel := phaseOf(p.t)
	defer cancel()
	var took []time.Duration
	var wg sync.WaitGroup
	wg.Go(func() { took = serve(ctx, p.t, store) })
	if job != nil {
		rate = p.run(func(context.Context) (int64, error) {
			n, err := job(ctx)
			if ctx.Err() == nil {
				p.t.Errorf("all was reclaimed before the phase was over, %v: give -adopt.rows more", err)
			}
			return n, nil
		}).rate()
	}
	wg.Wait()
	return slow(took), rate
}

// TestAdoptBeside measures what requests of an application take while lethe adopt
// reclaims in its tables: go test ./bench -run TestAdoptBeside -v -adopt.beside=10s -adopt.rows=1000000
func TestAdoptBeside(t *testing.T) {
	if *besideTime == 0 {
		t.Skip("it measures, for -adopt.beside")
	}
	p := newPastes(t, *adoptRows)
	gateway := servers.VersityGW(t)
	store, err := paste.Open(t.Context(), paste.Config{
		Database: p.url, Redis: "redis://" + p.redis.Options().Addr, Log: slog.New(slog.DiscardHandler),
		S3: paste.S3{Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: gateway.Bucket(t), Access: gateway.Access, Secret: gateway.Secret},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	phase := func(job func(context.Context) (int64, error)) (p99 time.Duration, rate float64) {
		return p.beside(store, job)
	}
	alone := func() float64 {
		ctx, cancel := phaseOf(t)
		defer cancel()
		return p.run(func(context.Context) (int64, error) {
			n, err := p.adopted(1, 0)(ctx)
			if ctx.Err() == nil {
				return n, err
			}
			return n, nil // it was cut off
		}).rate()
	}
	_, _ = phase(nil) // warm
	free := alone()
	t.Logf("alone: %.0f rows/s", free)
	share := int(free * 0.4)
	var full, part []float64
	for range *besideRounds {
		rest, _ := phase(nil)
		busy, rate := phase(p.adopted(1, 0))
		again, _ := phase(nil)
		quiet, slower := phase(p.adopted(1, share))
		full, part = append(full, float64(busy)/float64(rest)), append(part, float64(quiet)/float64(again))
		t.Logf("p99 at rest %v, beside reclaiming %v (%.2f times) at %.2f of the free rate; at rest %v, with a rate %v (%.2f times) at %.2f",
			rest, busy, float64(busy)/float64(rest), rate/free, again, quiet, float64(quiet)/float64(again), slower/free)
	}
	slices.Sort(full)
	slices.Sort(part)
	t.Logf("in the median: p99 %.2f times that at rest at full speed, %.2f times with rate_per_second: %d", full[len(full)/2], part[len(part)/2], share)
}
