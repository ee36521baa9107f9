package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"

	"github.com/lethe-storage/lethe"
)

// Listing asks for pages of 1,000 keys out of buckets of different sizes.
type Listing struct {
	Binary  string
	Objects []int // in the bucket, each measured by itself
	Pages   int   // asked for, each from a random key on
	Dir     string
}

// Run measures; the answer is by number of objects, in order.
func (l Listing) Run(ctx context.Context) (out []Latencies, err error) {
	for _, n := range l.Objects {
		took, err := l.one(ctx, n)
		if err != nil {
			return out, err
		}
		out = append(out, took)
	}
	return out, nil
}

func (l Listing) one(ctx context.Context, n int) (took Latencies, err error) {
	dir, err := os.MkdirTemp(l.Dir, "lethe-bench-")
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d := Dataset{Living: n, Size: 1024, RowsOnly: true}
	if err := d.Fill(ctx, dir, lethe.SystemClock{}.Now()); err != nil {
		return took, err
	}
	if err := os.MkdirAll(blobPath(dir), 0o700); err != nil {
		return took, err
	}
	srv, err := Lethe(l.Binary, true).start(ctx, dir, 1)
	if err != nil {
		return took, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	random := rand.New(rand.NewPCG(1, 2))
	load := Load{Clients: 1, Objects: l.Pages}
	return load.each(ctx, func(ctx context.Context, _ int64) error {
		after := fmt.Sprintf(keyPattern, random.IntN(max(n-1000, 1)))
		_, err := srv.Do(ctx, http.MethodGet, "/bench?list-type=2&max-keys=1000&start-after="+after, nil)
		return err
	})
}

// Table reports the runs.
func (l Listing) Table(runs []Latencies) *Table {
	t := &Table{Title: fmt.Sprintf("Listing 1,000 keys from a random key on, %d pages, one client", l.Pages)}
	for i, n := range l.Objects {
		t.Add(fmt.Sprintf("out of %d: p50, p99 in ms", n),
			fmt.Sprintf("%s, %s", short(inMilliseconds(runs[i].At(0.5))), short(inMilliseconds(runs[i].At(0.99)))))
	}
	return t
}
