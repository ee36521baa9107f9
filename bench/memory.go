package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/lethe-storage/lethe"
)

// Large sends one large object in and out of a server.
type Large struct {
	Program Program
	Size    int64
	Dir     string
}

// Passed is what a large object took.
type Passed struct {
	In, Out time.Duration
	Peak    int64 // most memory of the server at once, bytes
}

// Run measures in a single put and a single get.
func (l Large) Run(ctx context.Context) (p Passed, err error) {
	dir, err := os.MkdirTemp(l.Dir, "lethe-bench-")
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	srv, err := l.Program.start(ctx, dir)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if _, err := srv.Do(ctx, http.MethodPut, "/bench", nil); err != nil {
		return p, err
	}
	clock := lethe.Monotonic{}
	at := clock.Now()
	if err := srv.Target.stream(ctx, "/bench/large", l.Size); err != nil {
		return p, err
	}
	p.In, at = clock.Now().Sub(at), clock.Now()
	n, err := srv.Do(ctx, http.MethodGet, "/bench/large", nil)
	if err == nil && n != l.Size {
		err = fmt.Errorf("bench: got %d bytes of %d", n, l.Size)
	}
	p.Out, p.Peak = clock.Now().Sub(at), srv.peak()
	return p, err
}

// stream uploads size bytes that are made on the way.
func (t *Target) stream(ctx context.Context, path string, size int64) error {
	_, err := t.send(ctx, request{method: http.MethodPut, path: path, stream: io.LimitReader(&patternReader{}, size), size: size})
	return err
}

// patternReader is an endless body.
type patternReader struct{ at byte }

func (z *patternReader) Read(p []byte) (int, error) {
	for i := 0; i < len(p); i += 512 {
		z.at = z.at*5 + 3
		p[i] = z.at
	}
	return len(p), nil
}

// Table reports the pass.
func (l Large) Table(p Passed) *Table {
	t := &Table{Title: fmt.Sprintf("One object of %d MiB in and out", l.Size>>20)}
	mib := float64(l.Size) / (1 << 20)
	t.Add("in, MiB/s", short(mib/p.In.Seconds()))
	t.Add("out, MiB/s", short(mib/p.Out.Seconds()))
	t.Add("peak memory of the server, MiB", short(float64(p.Peak)/(1<<20)))
	return t
}
