package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Serving holds servers against each other: puts and gets by clients side by side.
type Serving struct {
	Programs []Program // the first is compared with each of the others
	Clients  int
	Size     int
	Piece    int // bytes of each get, from all over the object; 0: all of it
	Objects  int
	Gets     int // of them, round and round; 0: each once
	Warm     int // objects put before anything is measured: folders are made then
	Runs     int // of each, interleaved
	Dir      string
}

// Served is what one server did in one run.
type Served struct {
	Put, Get Latencies
	Peak     int64 // most memory of the server at once, bytes
	// Processor time of the server for each request.
	PutCPU, GetCPU time.Duration
	// What it did for all of them.
	PutCounts, GetCounts Counted
}

// Run measures; the answer is by program, in order, run by run. Each run has a
// fresh server on an empty folder. The folders are removed when all is measured:
// for minutes after many files were removed, some file systems make new ones ten
// times more slowly.
func (s Serving) Run(ctx context.Context) (out [][]Served, err error) {
	dir, err := os.MkdirTemp(s.Dir, "lethe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	out = make([][]Served, len(s.Programs))
	for run := range s.Runs {
		for i, p := range s.Programs {
			got, err := s.one(ctx, p, filepath.Join(dir, fmt.Sprintf("%d-%d", run, i)))
			if err != nil {
				return out, fmt.Errorf("%s: %w", p.Name, err)
			}
			out[i] = append(out[i], got)
		}
	}
	return out, nil
}

func (s Serving) one(ctx context.Context, p Program, dir string) (got Served, err error) {
	srv, err := p.start(ctx, dir)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if _, err := srv.Do(ctx, http.MethodPut, "/bench", nil); err != nil {
		return got, err
	}
	if s.Warm > 0 {
		warm := Load{Clients: s.Clients, Objects: s.Warm, Size: s.Size, Bucket: "bench", Prefix: "warm", Seed: 1}
		if _, err := warm.Put(ctx, srv.Target); err != nil {
			return got, err
		}
	}
	load := Load{Clients: s.Clients, Objects: s.Objects, Size: s.Size, Piece: s.Piece, Bucket: "bench"}
	got.PutCPU, got.PutCounts, err = srv.working(ctx, s.Objects, func() error {
		got.Put, err = load.Put(ctx, srv.Target)
		return err
	})
	if err != nil {
		return got, err
	}
	load.Objects = max(s.Gets, s.Objects)
	got.GetCPU, got.GetCounts, err = srv.working(ctx, load.Objects, func() error {
		got.Get, err = load.Get(ctx, srv.Target, s.Objects)
		return err
	})
	got.Peak = srv.peak()
	return got, err
}

// working is the processor time that the server took for each of n requests, and what
// it did for all of them.
func (s *server) working(ctx context.Context, n int, fn func() error) (cpu time.Duration, c Counted, err error) {
	before, err := s.counted(ctx)
	if err != nil {
		return 0, c, err
	}
	if cpu, err = s.spent(n, fn); err != nil {
		return 0, c, err
	}
	after, err := s.counted(ctx)
	return cpu, after.minus(before), err
}

// served is one of what is measured of a Served.
type served struct {
	name   string
	of     func(Served) Latencies
	cpu    func(Served) time.Duration
	counts func(Served) Counted
}

var servedOf = []served{
	{
		"put", func(r Served) Latencies { return r.Put }, func(r Served) time.Duration { return r.PutCPU },
		func(r Served) Counted { return r.PutCounts },
	},
	{
		"get", func(r Served) Latencies { return r.Get }, func(r Served) time.Duration { return r.GetCPU },
		func(r Served) Counted { return r.GetCounts },
	},
}

// count adds what a program's requests cost in what does not depend on the machine.
func (m served) count(t *Table, p Program, runs []Served) {
	each := func(what func(Counted) int64) Series {
		return series(runs, func(r Served) float64 {
			return 1000 * float64(what(m.counts(r))) / float64(max(len(m.of(r).All), 1))
		})
	}
	t.Add(m.name+", "+p.Name+": calls that read or write, per 1,000", each(func(c Counted) int64 { return c.Calls }))
	t.Add(m.name+", "+p.Name+": KiB written, per 1,000", each(func(c Counted) int64 { return c.Written >> 10 }))
	if p.Metrics != "" {
		t.Add(m.name+", "+p.Name+": transactions and looks of the ledger, per 1,000", each(func(c Counted) int64 { return c.Ledger }))
	}
}

// Table reports the runs.
func (s Serving) Table(runs [][]Served) *Table {
	t := &Table{Title: fmt.Sprintf("Serving objects of %d bytes to %d clients, %d objects, median of %d runs (smallest..largest)", s.Size, s.Clients, s.Objects, s.Runs)}
	if s.Piece > 0 {
		t.Title += fmt.Sprintf("; gets of %d bytes by range", s.Piece)
	}
	for _, m := range servedOf {
		own := series(runs[0], func(r Served) float64 { return m.of(r).Rate() })
		for i, p := range s.Programs {
			rate := series(runs[i], func(r Served) float64 { return m.of(r).Rate() })
			t.Add(fmt.Sprintf("%s, %s: objects/s", m.name, p.Name), rate)
			t.Add(fmt.Sprintf("%s, %s: p50, p99 in ms", m.name, p.Name), fmt.Sprintf("%s, %s",
				milliseconds(runs[i], m.of, 0.5), milliseconds(runs[i], m.of, 0.99)))
			t.Add(fmt.Sprintf("%s, %s: server's CPU, us", m.name, p.Name), series(runs[i], func(r Served) float64 { return float64(m.cpu(r)) / 1e3 }))
			m.count(t, p, runs[i])
			if i > 0 {
				t.Add(fmt.Sprintf("%s, %s by %s", m.name, s.Programs[0].Name, p.Name), own.Ratios(rate))
			}
		}
	}
	for i, p := range s.Programs {
		t.Add("peak memory, "+p.Name+", MiB", series(runs[i], func(r Served) float64 { return float64(r.Peak) / (1 << 20) }))
	}
	return t
}

func milliseconds[T any](runs []T, of func(T) Latencies, share float64) Series {
	return series(runs, func(r T) float64 { return inMilliseconds(of(r).At(share)) })
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
