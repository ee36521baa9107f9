package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"

	"github.com/lethe-storage/lethe"
)

// Listing asks for pages of 1,000 keys out of buckets of different sizes.
type Listing struct {
	Binary  string
	Objects []int // in the bucket, each measured by itself
	Pages   int   // asked for in each run, each from a random key on
	Runs    int   // of each, interleaved
	Dir     string
}

// Run measures; the answer is by number of objects, in order, run by run. All
// servers stand while one is asked.
func (l Listing) Run(ctx context.Context) (out [][]Latencies, err error) {
	dir, err := os.MkdirTemp(l.Dir, "lethe-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	servers := make([]*server, len(l.Objects))
	for i, n := range l.Objects {
		if servers[i], err = l.start(ctx, filepath.Join(dir, fmt.Sprint(i)), n); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, servers[i].stop()) }()
	}
	out = make([][]Latencies, len(l.Objects))
	for run := range l.Runs {
		for i, n := range l.Objects {
			took, err := l.pages(ctx, servers[i], n, uint64(run))
			if err != nil {
				return out, err
			}
			out[i] = append(out[i], took)
		}
	}
	return out, nil
}

// start serves a bucket of n objects.
func (l Listing) start(ctx context.Context, dir string, n int) (*server, error) {
	if err := os.MkdirAll(blobPath(dir), 0o700); err != nil {
		return nil, err
	}
	d := Dataset{Living: n, Size: 1024, RowsOnly: true}
	if err := d.Fill(ctx, dir, lethe.SystemClock{}.Now()); err != nil {
		return nil, err
	}
	return Lethe(l.Binary, true).start(ctx, dir)
}

func (l Listing) pages(ctx context.Context, srv *server, n int, seed uint64) (Latencies, error) {
	random := rand.New(rand.NewPCG(1, seed))
	load := Load{Clients: 1, Objects: l.Pages}
	return load.each(ctx, func(ctx context.Context, _ int64) error {
		after := fmt.Sprintf(keyPattern, random.IntN(max(n-1000, 1)))
		_, err := srv.Do(ctx, http.MethodGet, "/bench?list-type=2&max-keys=1000&start-after="+after, nil)
		return err
	})
}

// Table reports the runs.
func (l Listing) Table(runs [][]Latencies) *Table {
	t := &Table{Title: fmt.Sprintf("Listing 1,000 keys from a random key on, %d pages, one client, median of %d runs (smallest..largest)", l.Pages, l.Runs)}
	own := func(l Latencies) Latencies { return l }
	for i, n := range l.Objects {
		p50 := milliseconds(runs[i], own, 0.5)
		t.Add(fmt.Sprintf("out of %d: p50, p99 in ms", n), fmt.Sprintf("%s, %s", p50, milliseconds(runs[i], own, 0.99)))
		if i > 0 {
			t.Add(fmt.Sprintf("p50 out of %d, times that of %d", n, l.Objects[0]), p50.Ratios(milliseconds(runs[0], own, 0.5)))
		}
	}
	return t
}
