package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Interference measures what clients feel of reclaiming. Objects come due in waves.
// Before each wave clients put and get objects of 4 KiB at rest, then for as long
// while the server reclaims the wave. So what a wave is compared with lies moments
// before it, and what else the machine does weighs on both. One more wave, the last,
// is reclaimed without clients.
type Interference struct {
	Binary  string
	Objects int // of one wave: more than can be reclaimed beside the load
	Waves   int
	Every   time.Duration // from wave to wave: time for rest, load and what is left
	Size    int
	Clients int
	Time    time.Duration // of load, at rest and in a wave
	Yields  []float64     // of reclaim.yield, compared
	Rate    float64       // requests per second; 0: as many as the clients can
	Dir     string
	Servers *Servers // nil: SQLite and files
}

// Felt is what one wave measured.
type Felt struct {
	RestPut, RestGet Latencies // nothing is due
	BusyPut, BusyGet Latencies // while reclaiming
	Free             float64   // objects reclaimed per second without clients
	Held             float64   // and with them
}

// Run measures; the answer is by yield, in order, wave by wave.
func (f Interference) Run(ctx context.Context) (out [][]Felt, err error) {
	for _, y := range f.Yields {
		felt, err := f.one(ctx, y)
		if err != nil {
			return out, err
		}
		out = append(out, felt)
	}
	return out, nil
}

// one fills a store whose objects come due in waves, and measures with it.
func (f Interference) one(ctx context.Context, yield float64) (felt []Felt, err error) {
	dir, err := os.MkdirTemp(f.Dir, "lethe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	at, err := f.ground(ctx, dir)
	if at.end != nil {
		defer func() { err = errors.Join(err, at.end()) }()
	}
	if err != nil {
		return nil, err
	}
	const start = 20 * time.Second
	first := lethe.SystemClock{}.Now().Add(start + f.Time)
	for n := range f.Waves + 1 {
		if err := at.schedule(n*f.Objects, (n+1)*f.Objects, first.Add(time.Duration(n)*f.Every)); err != nil {
			return nil, err
		}
	}
	r := felting{Interference: f, dir: dir, env: at.env}
	srv, err := r.serve(ctx, yield)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if _, err := srv.Do(ctx, http.MethodPut, "/load", nil); err != nil {
		return nil, err
	}
	for n := range f.Waves {
		w, err := r.wave(ctx, srv, n, first.Add(time.Duration(n)*f.Every))
		if err != nil {
			return felt, err
		}
		felt = append(felt, w)
	}
	free, err := r.free(ctx, srv, first.Add(time.Duration(f.Waves)*f.Every))
	for i := range felt {
		felt[i].Free = free
	}
	return felt, err
}

// felting is one run.
type felting struct {
	Interference
	dir string
	env []string // says where the store lies
	// loads counts what clients were measured with so far.
	loads uint64
}

// serve starts the server. Bytes go at once when their objects have expired.
func (r *felting) serve(ctx context.Context, yield float64) (*server, error) {
	return Lethe(r.Binary, true, append(r.env,
		"LETHE_RECLAIM_GRACE_READ_GRACE=1us",
		"LETHE_RECLAIM_YIELD="+strconv.FormatFloat(yield, 'g', -1, 64),
		"LETHE_RECLAIM_EXPIRE_SCHEDULE=every 100ms", "LETHE_RECLAIM_CLEAN_SCHEDULE=every 100ms",
	)...).start(ctx, r.dir, r.Clients)
}

// load puts and gets for a while, the one half of the clients beside the other.
func (r *felting) load(ctx context.Context, srv *server, prefix string) (put, get Latencies, err error) {
	const some = 256
	load := Load{Clients: r.Clients / 2, Size: 4096, Bucket: "load", Prefix: prefix, Objects: some}
	if _, err := load.Put(ctx, srv.Target); err != nil {
		return put, get, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	load.Objects, load.Rate = 0, r.Rate/2
	read := make(chan error, 1)
	go func() {
		var err error
		get, err = load.Get(ctx, srv.Target, some)
		read <- err
	}()
	// Contents that were put before would cost no bytes.
	r.loads++
	written := load
	written.Prefix, written.Seed = prefix+"-new", r.loads
	put, err = written.Put(ctx, srv.Target)
	return put, get, errors.Join(err, <-read)
}

// wave measures at rest until objects are due, then beside their reclaiming, and then
// what is left of it.
func (r *felting) wave(ctx context.Context, srv *server, n int, due lethe.Time) (felt Felt, err error) {
	if err := until(ctx, due.Add(-r.Time)); err != nil {
		return felt, fmt.Errorf("bench: wave %d: %w", n, err)
	}
	if felt.RestPut, felt.RestGet, err = r.load(ctx, srv, fmt.Sprint("rest", n)); err != nil {
		return felt, err
	}
	before, at, err := reclaimed(ctx, srv)
	if err != nil {
		return felt, err
	}
	if felt.BusyPut, felt.BusyGet, err = r.load(ctx, srv, fmt.Sprint("busy", n)); err != nil {
		return felt, err
	}
	after, later, err := reclaimed(ctx, srv)
	if err != nil {
		return felt, err
	}
	felt.Held = (after - before) / later.Sub(at).Seconds()
	all := float64(2 * r.Objects * (n + 1))
	if after >= all {
		return felt, fmt.Errorf("bench: the %d objects of a wave were gone before the load ended: take more", r.Objects)
	}
	return felt, gone(ctx, srv, all)
}

// until waits for a time that must not have passed.
func until(ctx context.Context, at lethe.Time) error {
	left := at.Sub(lethe.SystemClock{}.Now())
	if left < 0 {
		return fmt.Errorf("what is left of the one before took %v too long: give waves more time, or fewer objects", -left)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(left):
		return nil
	}
}

// free is the rate of the last wave, without clients.
func (r *felting) free(ctx context.Context, srv *server, due lethe.Time) (float64, error) {
	if err := until(ctx, due); err != nil {
		return 0, fmt.Errorf("bench: the last wave: %w", err)
	}
	before, at, err := reclaimed(ctx, srv)
	if err != nil {
		return 0, err
	}
	if err := gone(ctx, srv, float64(2*r.Objects*(r.Waves+1))); err != nil {
		return 0, err
	}
	after, later, err := reclaimed(ctx, srv)
	return (after - before) / later.Sub(at).Seconds(), err
}

// gone waits until so much was reclaimed.
func gone(ctx context.Context, srv *server, all float64) error {
	for {
		now, _, err := reclaimed(ctx, srv)
		if err != nil || now >= all {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// reclaimed counts the objects removed and the blobs deleted so far, by the
// server's metrics: together twice the objects, when all are gone.
func reclaimed(ctx context.Context, srv *server) (n float64, at lethe.Time, err error) {
	err = srv.scrape(ctx, func(name string, value float64) {
		if strings.HasPrefix(name, "lethe_objects_reclaimed_total{") ||
			strings.HasPrefix(name, "lethe_blob_transitions_total{") && strings.Contains(name, `from="condemned"`) && strings.Contains(name, `to="none"`) {
			n += value
		}
	})
	return n, lethe.Monotonic{}.Now(), err
}

// Table reports the runs.
func (f Interference) Table(runs [][]Felt) *Table {
	pace := ""
	if f.Rate > 0 {
		pace = fmt.Sprintf(" and %g requests/s", f.Rate)
	}
	t := &Table{Title: fmt.Sprintf("%d clients%s beside the reclaiming of %d objects, %v at rest and in each of %d waves, median (smallest..largest)",
		f.Clients, pace, f.Objects*f.Waves, f.Time, f.Waves)}
	for i, y := range f.Yields {
		own := runs[i]
		name := fmt.Sprintf("reclaim.yield %g: ", y)
		for _, m := range []struct {
			name       string
			rest, busy func(Felt) Latencies
		}{
			{"put", func(r Felt) Latencies { return r.RestPut }, func(r Felt) Latencies { return r.BusyPut }},
			{"get", func(r Felt) Latencies { return r.RestGet }, func(r Felt) Latencies { return r.BusyGet }},
		} {
			rest, busy := milliseconds(own, m.rest, 0.99), milliseconds(own, m.busy, 0.99)
			t.Add(name+m.name+" p99 at rest, ms", rest)
			t.Add(name+m.name+" p99 while reclaiming, ms", busy)
			t.Add(name+m.name+" p99, times that at rest", busy.Ratios(rest))
		}
		free := series(own, func(r Felt) float64 { return r.Free / 2 })
		held := series(own, func(r Felt) float64 { return r.Held / 2 })
		t.Add(name+"reclaimed without clients, objects/s", free)
		t.Add(name+"reclaimed beside clients, objects/s", held)
		t.Add(name+"share of the free rate", held.Ratios(free))
	}
	return t
}
