package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// Interference measures what clients feel of reclaiming, with each of some values of
// reclaim.yield: a store and a server for each, which take turns wave by wave, so that
// what else the machine does weighs on all of them. The objects of a wave come due at
// once. Right before, clients put and get objects of 4 KiB at rest, then for as long
// while the server reclaims the wave. One more wave of each, the last, is reclaimed
// without clients.
type Interference struct {
	Binary  string
	Objects int           // of one wave: more than can be reclaimed beside the load
	Waves   int           // of each yield
	Every   time.Duration // from wave to wave: time for rest, load and what is left
	Start   time.Duration // until the first wave: time to give objects their due times, and to start servers
	Size    int
	Clients int
	Time    time.Duration // of load, at rest and in a wave
	Yields  []float64     // of reclaim.yield, compared
	Rate    float64       // requests per second; 0: as many as the clients can
	Dir     string
	Servers *Servers // nil: SQLite and files
	Inline  bool     // the bytes lie in the ledger, those of the clients too
}

// Felt is what one wave measured.
type Felt struct {
	RestPut, RestGet Latencies // nothing is due
	BusyPut, BusyGet Latencies // while reclaiming
	Free             float64   // objects reclaimed per second without clients
	Held             float64   // and with them
}

// Run measures; the answer is by yield, in order, wave by wave. With an error it is what
// was measured before.
func (f Interference) Run(ctx context.Context) (out [][]Felt, err error) {
	sides, end, err := f.sides(ctx)
	defer func() { err = errors.Join(err, end()) }()
	if err != nil {
		return nil, err
	}
	out = make([][]Felt, len(sides))
	first := lethe.SystemClock{}.Now().Add(f.Start + f.Time)
	for i, s := range sides {
		for n := range f.Waves + 1 {
			if err := s.schedule(n*f.Objects, (n+1)*f.Objects, f.due(first, n, i)); err != nil {
				return nil, err
			}
		}
	}
	for _, s := range sides {
		if err := s.serve(ctx); err != nil {
			return nil, err
		}
	}
	for n := range f.Waves {
		for _, i := range f.order(n) {
			w, err := sides[i].wave(ctx, n, f.due(first, n, i))
			if err != nil {
				return out, fmt.Errorf("bench: wave %d of reclaim.yield %g: %w", n+1, f.Yields[i], err)
			}
			out[i] = append(out[i], w)
		}
	}
	for _, i := range f.order(f.Waves) {
		free, err := sides[i].free(ctx, f.due(first, f.Waves, i))
		if err != nil {
			return out, fmt.Errorf("bench: the last wave of reclaim.yield %g: %w", f.Yields[i], err)
		}
		for n := range out[i] {
			out[i][n].Free = free
		}
	}
	return out, nil
}

// order is the order of the sides in a round. Every other round goes backwards: what a
// wave leaves behind for the next one to feel is not always felt by the same side.
func (f Interference) order(round int) []int {
	list := make([]int, len(f.Yields))
	for i := range list {
		list[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(list)
	}
	return list
}

// due is when the objects of a side's wave come due.
func (f Interference) due(first lethe.Time, round, side int) lethe.Time {
	return first.Add(time.Duration(round*len(f.Yields)+slices.Index(f.order(round), side)) * f.Every)
}

// sides fills a store for each yield. What end ends is to be ended also after an error.
func (f Interference) sides(ctx context.Context) (sides []*side, end func() error, err error) {
	dir, err := os.MkdirTemp(f.Dir, "lethe-bench-")
	if err != nil {
		return nil, func() error { return nil }, err
	}
	end = func() error {
		var errs []error
		for _, s := range sides {
			errs = append(errs, s.stop())
		}
		return errors.Join(append(errs, os.RemoveAll(dir))...)
	}
	filled := Dataset{Living: f.Objects * (f.Waves + 1), Size: f.Size, Inline: f.Inline}
	for i, yield := range f.Yields {
		s := &side{Interference: f, yield: yield, dir: filepath.Join(dir, strconv.Itoa(i))}
		sides = append(sides, s)
		if err := os.Mkdir(s.dir, 0o700); err != nil {
			return sides, end, err
		}
		if s.ground, err = filled.ground(ctx, s.dir, fmt.Sprint("ground", i), f.Servers); err != nil {
			return sides, end, err
		}
	}
	return sides, end, nil
}

// side is one of what is compared: a store and its server.
type side struct {
	Interference
	ground
	yield float64
	dir   string
	srv   *server
	// loads counts what clients were measured with so far.
	loads uint64
}

// atOnce has a server reclaim what is due without waiting.
var atOnce = []string{
	"LETHE_RECLAIM_GRACE_READ_GRACE=1us", "LETHE_RECLAIM_EXPIRE_SCHEDULE=every 100ms", "LETHE_RECLAIM_CLEAN_SCHEDULE=every 100ms",
}

// clientSize is how many bytes the objects of the clients have.
const clientSize = 4096

// serve starts the server. Bytes go at once when their objects have expired.
func (r *side) serve(ctx context.Context) (err error) {
	env := append(slices.Clone(atOnce), "LETHE_RECLAIM_YIELD="+strconv.FormatFloat(r.yield, 'g', -1, 64))
	p := Lethe(r.Binary, true, append(env, r.env...)...)
	if r.Inline {
		p = p.Inline(max(r.Size, clientSize))
	}
	r.srv, err = p.start(ctx, r.dir)
	if err != nil {
		return err
	}
	_, err = r.srv.Do(ctx, http.MethodPut, "/load", nil)
	return err
}

// stop ends the server, and those that it needed.
func (r *side) stop() error {
	var errs []error
	if r.srv != nil {
		errs = append(errs, r.srv.stop())
	}
	if r.end != nil {
		errs = append(errs, r.end())
	}
	return errors.Join(errs...)
}

// some is how many objects are got in a load, round and round.
const some = 256

// half is what one half of the clients does.
func (r *side) half(prefix string) Load {
	return Load{Clients: r.Clients / 2, Size: clientSize, Bucket: "load", Prefix: prefix, Rate: r.Rate / 2}
}

// prepare puts the objects that a load is to get.
func (r *side) prepare(ctx context.Context, prefix string) error {
	l := r.half(prefix)
	l.Objects = some
	_, err := l.Put(ctx, r.srv.Target)
	return err
}

// load puts and gets for a while, the one half of the clients beside the other.
func (r *side) load(ctx context.Context, prefix string) (put, get Latencies, err error) {
	ctx, cancel := context.WithTimeout(ctx, r.Time)
	defer cancel()
	read := make(chan error, 1)
	go func() {
		var err error
		get, err = r.half(prefix).Get(ctx, r.srv.Target, some)
		read <- err
	}()
	// Contents that were put before would cost no bytes.
	r.loads++
	written := r.half(prefix + "-new")
	written.Seed = r.loads
	put, err = written.Put(ctx, r.srv.Target)
	return put, get, errors.Join(err, <-read)
}

// wave measures at rest until objects are due, then beside their reclaiming, and then
// waits for what is left of it.
func (r *side) wave(ctx context.Context, n int, due lethe.Time) (felt Felt, err error) {
	rest, busy := fmt.Sprint("rest", n), fmt.Sprint("busy", n)
	if err := errors.Join(r.prepare(ctx, rest), r.prepare(ctx, busy)); err != nil {
		return felt, err
	}
	if err := until(ctx, due.Add(-r.Time)); err != nil {
		return felt, err
	}
	if felt.RestPut, felt.RestGet, err = r.load(ctx, rest); err != nil {
		return felt, err
	}
	if err := gone(ctx, r.srv, float64(r.each()*r.Objects*n+1)); err != nil { // it has begun
		return felt, err
	}
	before, at, err := reclaimed(ctx, r.srv)
	if err != nil {
		return felt, err
	}
	if felt.BusyPut, felt.BusyGet, err = r.load(ctx, busy); err != nil {
		return felt, err
	}
	after, later, err := reclaimed(ctx, r.srv)
	if err != nil {
		return felt, err
	}
	felt.Held = (after - before) / later.Sub(at).Seconds()
	all := float64(r.each() * r.Objects * (n + 1))
	if after >= all {
		return felt, fmt.Errorf("its %d objects were gone before the load ended: take more", r.Objects)
	}
	return felt, gone(ctx, r.srv, all)
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
func (r *side) free(ctx context.Context, due lethe.Time) (float64, error) {
	if err := until(ctx, due); err != nil {
		return 0, err
	}
	before, at, err := reclaimed(ctx, r.srv)
	if err != nil {
		return 0, err
	}
	if err := gone(ctx, r.srv, float64(r.each()*r.Objects*(r.Waves+1))); err != nil {
		return 0, err
	}
	after, later, err := reclaimed(ctx, r.srv)
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

// each is how much reclaimed counts of an object that is gone.
func (f Interference) each() int {
	if f.Inline {
		return 1
	}
	return 2
}

// reclaimed counts the objects removed and the blobs deleted so far, by the
// server's metrics: an object in the ledger has no blob.
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
	t := &Table{Title: fmt.Sprintf("%d clients%s beside the reclaiming of %d objects, %v at rest and in each of %d waves by turns, median (smallest..largest)",
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
		free := series(own, func(r Felt) float64 { return r.Free / float64(f.each()) })
		held := series(own, func(r Felt) float64 { return r.Held / float64(f.each()) })
		t.Add(name+"reclaimed without clients, objects/s", free)
		t.Add(name+"reclaimed beside clients, objects/s", held)
		t.Add(name+"share of the free rate", held.Ratios(free))
	}
	return t
}
