package bench_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
	besideShare  = flag.Float64("adopt.share", 0.31, "the rate of TestAdoptBeside, as a part of the free rate")
	besideBurn   = flag.Float64("adopt.burn", 0, "TestAdoptBeside burns this part of a core as well, in phases without reclaiming")
	besideLog    = flag.Int("adopt.segments", 120, "files of its log that the server of TestAdoptBeside has made before; with 0 commits wait for each")
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

// load is what runs beside the application, in a process of its own.
type load struct {
	Database, Redis string
	Rate            int     // rows/s; 0: no limit
	Burn            float64 // instead of reclaiming: this part of a core
}

// loadVariable has the load of TestAdoptBesideLoad.
const loadVariable = "LETHE_BENCH_LOAD"

// TestAdoptBesideLoad is the process of a load, which ends with its input.
func TestAdoptBesideLoad(t *testing.T) {
	var l load
	if err := json.Unmarshal([]byte(os.Getenv(loadVariable)), &l); err != nil {
		t.Skip("TestAdoptBeside starts it")
	}
	job := burn(l.Burn)
	if l.Burn == 0 {
		p := &pastes{t: t, url: l.Database, bucket: &bucket{}}
		p.connect(l.Redis)
		job = p.adopted(1, l.Rate)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	fmt.Println("ready 0")
	n, err := job(ctx)
	if ctx.Err() == nil {
		t.Fatalf("all was reclaimed before the phase was over, %v: give -adopt.rows more", err)
	}
	fmt.Println("rows", n)
}

// burn keeps a part of a core busy, in pieces as long as those of a rate.
func burn(part float64) func(context.Context) (int64, error) {
	const period = 25 * time.Millisecond
	var clock lethe.Monotonic
	return func(ctx context.Context) (int64, error) {
		for ctx.Err() == nil {
			began := clock.Now()
			for clock.Now().Sub(began) < time.Duration(part*float64(period)) {
			}
			_ = lethe.Sleep(ctx, period-clock.Now().Sub(began))
		}
		return 0, nil
	}
}

// start starts the load's process. The returned function ends it, and returns how many
// rows it removed in a second.
func (l load) start(t *testing.T) (end func() float64) {
	t.Helper()
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestAdoptBesideLoad$")
	cmd.Env, cmd.Stderr = append(os.Environ(), loadVariable+"="+string(text)), os.Stderr
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := cmp.Or(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	said := func(word string) (n int64) {
		for lines.Scan() {
			if rest, ok := strings.CutPrefix(lines.Text(), word+" "); ok {
				n, _ = strconv.ParseInt(rest, 10, 64)
				return n
			}
		}
		t.Fatalf("the load did not say %q", word)
		return 0
	}
	_ = said("ready")
	began := lethe.Monotonic{}.Now()
	return func() float64 {
		took := lethe.Monotonic{}.Now().Sub(began)
		_ = in.Close()
		n := said("rows")
		_ = cmd.Wait() // what went wrong it has said
		return float64(n) / took.Seconds()
	}
}

// besides is the phases of one kind: with a load, or at rest.
type besides struct {
	name  string
	load  *load
	took  []time.Duration // of the requests of all phases
	rates []float64       // rows/s of each phase
}

// phase lets the application work for the time of a phase, beside the load.
func (b *besides) phase(t *testing.T, store *paste.Store) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), *besideTime)
	defer cancel()
	if b.load == nil {
		b.took = append(b.took, serve(ctx, t, store)...)
		return
	}
	end := b.load.start(t)
	took := serve(ctx, t, store)
	b.took, b.rates = append(b.took, took...), append(b.rates, end())
	t.Logf("%s: p99 %v, %.0f rows/s", b.name, slow(took), b.rates[len(b.rates)-1])
}

// report logs the slowest hundredth of all requests, as a ratio to that at rest.
func (b *besides) report(t *testing.T, rest time.Duration, free float64) {
	t.Helper()
	share := 0.0
	for _, r := range b.rates {
		share += r / float64(len(b.rates)) / free
	}
	p99 := slow(b.took)
	t.Logf("%s: p99 of %d requests %v, %.2f times that at rest, at %.2f of the free rate", b.name, len(b.took), p99, float64(p99)/float64(rest), share)
}

// TestAdoptBeside measures what requests of an application take while lethe adopt
// reclaims in its tables: go test ./bench -run 'TestAdoptBeside$' -v -adopt.beside=10s -adopt.rows=1000000
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
	with := func(rate int, burn float64) *load { return &load{p.url, p.redis.Options().Addr, rate, burn} }
	end := with(0, 0).start(t)
	if err := lethe.Sleep(t.Context(), *besideTime); err != nil {
		t.Fatal(err)
	}
	free := end()
	t.Logf("alone: %.0f rows/s", free)
	(&besides{}).phase(t, store) // warm
	rate := int(free * *besideShare)
	kinds := []*besides{{name: "at rest"}, {name: "full speed", load: with(0, 0)}, {name: fmt.Sprint("rate_per_second: ", rate), load: with(rate, 0)}}
	if *besideBurn > 0 {
		kinds = append(kinds, &besides{name: fmt.Sprintf("%.2f of a core burned instead", *besideBurn), load: with(0, *besideBurn)})
	}
	for range *besideRounds {
		for _, k := range kinds {
			k.phase(t, store)
		}
	}
	for _, k := range kinds {
		k.report(t, slow(kinds[0].took), free)
	}
}
