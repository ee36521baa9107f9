package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-storage/lethe"
)

// Comparison holds the engine against the machine's limit and against a program
// without batches.
type Comparison struct {
	Dataset
	Engine     Engine
	Runs       int    // of each, interleaved
	Dir        string // scratch space on the disk to measure
	EngineOnly bool   // leaves out what it is compared with
	// OneByOne is how many objects the program without batches removes.
	OneByOne int
	// Reclaim runs the engine on the store in a folder. Nil: Engine.Reclaim, in this
	// process, whose memory then holds what filling the store took as well.
	Reclaim func(ctx context.Context, dir string) (Work, error)
}

// Compared is what was measured, run by run.
type Compared struct {
	Work  []Work
	Limit []Limit
	One   []Work
}

// Run measures. Each run of each side has a fresh copy of the data set.
func (c Comparison) Run(ctx context.Context) (out Compared, err error) {
	for range c.Runs {
		err := errors.Join(
			c.on(ctx, c.Dataset, func(dir string) error {
				w, err := c.reclaim(ctx, dir)
				out.Work = append(out.Work, w)
				return errors.Join(err, Audit(ctx, dir, c.Living))
			}),
			c.bare(ctx, &out),
			c.oneByOne(ctx, &out))
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (c Comparison) reclaim(ctx context.Context, dir string) (Work, error) {
	if c.Reclaim != nil {
		return c.Reclaim(ctx, dir)
	}
	return c.Engine.Reclaim(ctx, dir)
}

func (c Comparison) bare(ctx context.Context, out *Compared) error {
	if c.EngineOnly {
		return nil
	}
	return c.on(ctx, c.Dataset, func(dir string) error {
		l, err := Bare(ctx, dir)
		out.Limit = append(out.Limit, l)
		return err
	})
}

func (c Comparison) oneByOne(ctx context.Context, out *Compared) error {
	if c.OneByOne == 0 {
		return nil
	}
	few := c.Dataset
	few.Objects, few.Living = c.OneByOne, max(0, c.Objects+c.Living-c.OneByOne)
	return c.on(ctx, few, func(dir string) error {
		w, err := Singly(ctx, dir, c.OneByOne)
		out.One = append(out.One, w)
		return err
	})
}

// on fills a fresh folder, lets fn work on it, and removes it.
func (c Comparison) on(ctx context.Context, d Dataset, fn func(dir string) error) (err error) {
	dir, err := os.MkdirTemp(c.Dir, "lethe-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := d.Fill(ctx, dir, lethe.SystemClock{}.Now()); err != nil {
		return err
	}
	return fn(dir)
}

// Audit recounts the store in dir: the books must be exact, it must have so many
// objects, and each file must have its row.
func Audit(ctx context.Context, dir string, objects int) (err error) {
	s, err := openStore(ctx, dir, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	files, err := countFiles(filepath.Join(blobPath(dir), string(s.id)))
	if err != nil {
		return err
	}
	return s.audit(ctx, int64(objects), files)
}

// series takes one measure of every run.
func series[T any](runs []T, measure func(T) float64) (s Series) {
	for _, r := range runs {
		s = append(s, measure(r))
	}
	return s
}

// Table reports the comparison.
func (c Compared) Table(title string) *Table {
	t := &Table{Title: title}
	rate := series(c.Work, Work.Rate)
	limit := series(c.Limit, Limit.Rate)
	one := series(c.One, Work.Rate)
	t.Add("reclaimed, objects/s", rate)
	t.Add("limit of the machine, objects/s", limit)
	t.Add("  bare SQL, objects/s", series(c.Limit, func(l Limit) float64 { return float64(l.Objects) / l.SQL.Seconds() }))
	t.Add("  bare unlink, objects/s", series(c.Limit, func(l Limit) float64 { return float64(l.Objects) / l.Unlink.Seconds() }))
	t.Add("share of the limit", rate.Ratios(limit))
	if len(one) > 0 {
		t.Add("one object at a time, objects/s", one)
		t.Add("times that", rate.Ratios(one))
	}
	t.Add("peak memory, MiB", series(c.Work, func(w Work) float64 { return float64(w.Peak) / (1 << 20) }))
	t.Add("CPU, us per object", series(c.Work, func(w Work) float64 { return float64(w.CPU/time.Microsecond) / float64(w.Objects) }))
	for _, step := range []string{"expire", "claim", "delete", "settle"} {
		t.Add("time in "+step+", us per object", series(c.Work, func(w Work) float64 { return float64(w.Steps[step]/time.Microsecond) / float64(w.Objects) }))
	}
	counted(t, c.Work, measures) // does not depend on the machine
	return t
}

// measure is something that is counted.
type measure struct {
	name string
	of   func(Work) float64
}

var measures = []measure{
	{"calls to the backend", func(w Work) float64 { return float64(w.Calls) }},
	{"flushes of the backend", func(w Work) float64 { return float64(w.Flushes) }},
	{"transactions", func(w Work) float64 { return float64(w.Commits) }},
	{"pages of the ledger visited", func(w Work) float64 { return float64(w.Visited) }},
	{"pages read", func(w Work) float64 { return float64(w.Read) / pageBytes }},
	{"pages written", func(w Work) float64 { return float64(w.Written) / pageBytes }},
}

// String is one line about a run.
func (w Work) String() string {
	return fmt.Sprintf("%d objects and %d blobs in %v: %.0f/s, peak %d MiB", w.Objects, w.Blobs, w.Time.Round(time.Millisecond), w.Rate(), w.Peak>>20)
}
