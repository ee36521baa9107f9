package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
)

// IdleGets compares gets from buckets whose objects live from their last read with gets
// from one whose objects do not. The contents lie in the ledger.
type IdleGets struct {
	Binary  string
	Objects int      // in each bucket
	Gets    int      // of each bucket in a run
	Runs    int      // of each bucket, interleaved, after one that is not counted
	Idle    []string // idle times; "none" comes first by itself
	Dir     string
}

// IdleRun is one run of one bucket.
type IdleRun struct {
	Latencies
	CPU float64 // us of the server for each get
	Counted
}

// Run measures; the answer is by bucket, that without an idle time first, run by run.
// The order of the buckets turns around with each run.
func (g IdleGets) Run(ctx context.Context) (out [][]IdleRun, err error) {
	dir, err := os.MkdirTemp(g.Dir, "lethe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	srv, err := Lethe(g.Binary, true).Inline(idleSize).start(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	for i := range g.buckets() {
		if err := g.fill(ctx, srv, dir, i); err != nil {
			return nil, err
		}
	}
	out = make([][]IdleRun, len(g.buckets()))
	for run := range g.Runs + 1 {
		order := make([]int, len(out))
		for i := range order {
			order[i] = i
		}
		if run%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			one, err := g.gets(ctx, srv, i)
			if err != nil {
				return nil, err
			}
			if run > 0 {
				out[i] = append(out[i], one)
			}
		}
	}
	return out, nil
}

const (
	idleSize    = 4096
	idleClients = 16
)

func (g IdleGets) buckets() []string { return append([]string{"none"}, g.Idle...) }

func (g IdleGets) load(i, n int) Load {
	return Load{Clients: idleClients, Objects: n, Size: idleSize, Bucket: fmt.Sprint("idle", i)}
}

// fill makes a bucket with its idle time, and its objects.
func (g IdleGets) fill(ctx context.Context, srv *server, dir string, i int) error {
	l := g.load(i, g.Objects)
	if _, err := srv.Do(ctx, http.MethodPut, "/"+l.Bucket, nil); err != nil {
		return err
	}
	set := exec.CommandContext(ctx, g.Binary, "buckets", "set", l.Bucket, "--default-idle", g.buckets()[i], "--yes", "--data-dir", dir)
	if said, err := set.CombinedOutput(); err != nil {
		return fmt.Errorf("bench: set the idle time: %w: %s", err, said)
	}
	_, err := l.Put(ctx, srv.Target)
	return err
}

func (g IdleGets) gets(ctx context.Context, srv *server, i int) (r IdleRun, err error) {
	spent, counted, err := srv.working(ctx, g.Gets, func() (err error) {
		r.Latencies, err = g.load(i, g.Gets).Get(ctx, srv.Target, g.Objects)
		return err
	})
	r.CPU, r.Counted = float64(spent)/1e3, counted
	return r, err
}

// Table reports the runs.
func (g IdleGets) Table(runs [][]IdleRun) *Table {
	t := &Table{Title: fmt.Sprintf("%d gets of %d bytes out of %d objects in the ledger, %d clients, median of %d runs (smallest..largest)",
		g.Gets, idleSize, g.Objects, idleClients, g.Runs)}
	rate := func(r IdleRun) float64 { return r.Rate() }
	cpu := func(r IdleRun) float64 { return r.CPU }
	for i, idle := range g.buckets() {
		t.Add("idle time "+idle+": gets/s", series(runs[i], rate).String())
		t.Add("CPU us", series(runs[i], cpu).String())
		t.Add("transactions and looks per get", series(runs[i], func(r IdleRun) float64 { return float64(r.Ledger) / float64(g.Gets) }).String())
		if i > 0 {
			t.Add("times that without: CPU", series(runs[i], cpu).Ratios(series(runs[0], cpu)).String())
			t.Add("times that without: gets/s", series(runs[i], rate).Ratios(series(runs[0], rate)).String())
		}
	}
	return t
}
