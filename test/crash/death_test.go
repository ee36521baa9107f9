package crash_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// pointed has a process die at a point, after another one that its scenario
// needs.
func (k *killer) pointed(ctx context.Context, f *folder, point string) error {
	sc := scenarios[stepOf(point)]
	if sc.earlier != "" {
		first := scenarios[stepOf(sc.earlier)]
		if sc.prepare != nil {
			first.turn = sc.prepare
		}
		first.alone, first.sets = true, slices.Concat(first.sets, sc.before)
		if err := k.drive(ctx, f, death{sc.earlier, 1, "e", first}); err != nil {
			return fmt.Errorf("earlier: %w", err)
		}
	}
	if sc.inline {
		sc.sets = slices.Concat(sc.sets, f.inLedger())
	}
	return k.drive(ctx, f, death{point, 1 + f.random.IntN(sc.most), "d", sc})
}

// death is one to be brought about.
type death struct {
	point  string
	times  int    // that the point is passed
	prefix string // of the keys that the client works on
	scenario
}

// drive starts a process with a failpoint and works on it until it dies there.
func (k *killer) drive(ctx context.Context, f *folder, d death) (err error) {
	armed := fmt.Sprintf("%s:%d", d.point, d.times)
	s, err := f.start(ctx, armed, d.sets...)
	if err != nil {
		return err
	}
	defer s.Kill()
	if d.away {
		if err := os.Rename(f.blobs(), f.blobs()+".away"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Rename(f.blobs()+".away", f.blobs())) }()
	}
	var wg sync.WaitGroup
	errs := make([]error, 2)
	if s.s3 != nil {
		wg.Go(func() { errs[0] = f.client(s, d.prefix).work(ctx, d.turn) })
		if !d.alone && !d.starts && f.random.IntN(2) == 0 {
			load := f.client(s, "b")
			wg.Go(func() { errs[1] = load.work(ctx, mixedTurn) })
		}
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("at %s: %w\nits log:\n%s", armed, err, s.Tail())
	}
	where, err := s.diedAt()
	if err != nil {
		return err
	}
	if where != armed {
		return fmt.Errorf("the process died at %q, not at %s", where, armed)
	}
	f.deaths++
	k.died(d.point)
	return nil
}

// work takes turns until the server dies. A call that gets no answer from a
// server that goes on living is a failure.
func (c *client) work(ctx context.Context, turn func(context.Context, *client) error) error {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for range turnsMost {
		err := turn(ctx, c)
		if c.Dead() {
			return nil
		}
		if err != nil && !errors.Is(err, errLost) {
			return err
		}
		if err != nil {
			select {
			case <-c.Died():
				return nil
			case <-limit.C:
				return fmt.Errorf("the server lives and answers nothing: %w", err)
			}
		}
	}
	return fmt.Errorf("the server lives after %d turns", turnsMost)
}

// loaded kills a process with several clients and a busy engine at any moment.
func (k *killer) loaded(ctx context.Context, f *folder) error {
	s, err := f.start(ctx, "", slices.Concat(often, f.inLedger())...)
	if err != nil {
		return err
	}
	defer s.Kill()
	var wg sync.WaitGroup
	errs := make([]error, 3)
	for i := range errs {
		c := f.client(s, fmt.Sprint("l", i))
		wg.Go(func() { errs[i] = c.work(ctx, mixedTurn) })
	}
	wait(ctx, 5*time.Millisecond+time.Duration(f.random.Int64N(int64(300*time.Millisecond))))
	s.Kill()
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\nits log:\n%s", err, s.Tail())
	}
	f.deaths++
	k.died(underLoad)
	return nil
}

// started kills a process at any moment of its first instants.
func (k *killer) started(ctx context.Context, f *folder) error {
	// The end of its context kills the process.
	dying, cancel := context.WithTimeout(ctx, time.Duration(f.random.Int64N(int64(f.took*3/2))))
	defer cancel()
	s, err := f.start(dying, "")
	if errors.Is(err, context.DeadlineExceeded) {
		return nil // before there was a process
	}
	if err != nil {
		return err
	}
	if _, err := s.diedAt(); err != nil {
		return err
	}
	f.deaths++
	k.died(atStart)
	return nil
}

// wait waits for a time drawn by chance, the moment at which to kill.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
