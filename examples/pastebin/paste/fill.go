package paste

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Filling says which pastes Fill creates.
type Filling struct {
	Pastes int
	// Shared is the part of the pastes, 0 to 1, that share their content: every
	// SharedBy pastes have the same.
	Shared float64
	TTL    time.Duration // as Create has it
	Size   int           // bytes of each, at least; default 200
	// Workers create pastes at the same time (default 16).
	Workers int
	// Salt makes the contents differ from those of other fillings.
	Salt string
	// Progress is told of each paste how many there are, from several goroutines at
	// once.
	Progress func(done int)
}

// SharedBy is how many pastes of a Filling have one content together.
const SharedBy = 10

func (f *Filling) check() error {
	if f.Pastes < 0 || f.Shared < 0 || f.Shared > 1 || f.TTL < 0 || f.Size < 0 || f.Workers < 0 {
		return errors.New("fill: numbers cannot be negative, and the shared part is between 0 and 1")
	}
	if f.Size == 0 {
		f.Size = 200
	}
	if f.Workers == 0 {
		f.Workers = 16
	}
	return nil
}

// body of the i-th paste. Those that share are spread evenly over all, and those
// that have a content in common are near each other.
func (f *Filling) body(i int) []byte {
	line := fmt.Appendf(nil, "%s %d\n", f.Salt, i)
	if n := int(float64(i) * f.Shared); int(float64(i+1)*f.Shared) > n {
		line = fmt.Appendf(nil, "%s shared %d\n", f.Salt, n/SharedBy)
	}
	return bytes.Repeat(line, 1+(f.Size-1)/len(line))
}

// Fill creates pastes as Create does, many at a time, for demonstrations and
// measurements. It stops at the first error; what was created stays.
func Fill(ctx context.Context, s *Store, f Filling) error {
	if err := f.check(); err != nil {
		return err
	}
	g, working := errgroup.WithContext(ctx)
	g.SetLimit(f.Workers)
	var done atomic.Int64
	for i := 0; i < f.Pastes && working.Err() == nil; i++ {
		g.Go(func() error {
			_, err := s.Create(working, f.body(i), f.TTL)
			if n := done.Add(1); err == nil && f.Progress != nil {
				f.Progress(int(n))
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}
