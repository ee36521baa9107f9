package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// readers is a bounded pool of read-only connections.
type readers struct {
	f     *File
	slots chan struct{}
	mu    sync.Mutex
	idle  []*sqldb.Session
	done  bool
	// memory blocks reads while a memory database is written: its connections share pages
	// instead of having snapshots.
	memory sync.RWMutex
}

func newReaders(f *File) *readers {
	return &readers{f: f, slots: make(chan struct{}, maxReaders)}
}

// get takes a session, or waits for one.
func (r *readers) get(ctx context.Context) (*sqldb.Session, error) {
	select {
	case r.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s, err := r.take(ctx)
	if err != nil {
		<-r.slots
	}
	return s, err
}

func (r *readers) take(ctx context.Context) (*sqldb.Session, error) {
	r.mu.Lock()
	if r.done {
		r.mu.Unlock()
		return nil, sqldb.ErrClosed
	}
	if n := len(r.idle); n > 0 {
		s := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return s, nil
	}
	r.mu.Unlock()
	return r.f.session(ctx, readerPragmas)
}

// put returns a session to the pool, or closes it unless it is sound.
func (r *readers) put(s *sqldb.Session, sound bool) {
	r.mu.Lock()
	keep := sound && !r.done
	if keep {
		r.idle = append(r.idle, s)
	}
	r.mu.Unlock()
	if !keep {
		s.Close()
	}
	<-r.slots
}

func (r *readers) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	var errs []error
	for _, s := range r.idle {
		errs = append(errs, s.Close())
	}
	r.idle = nil
	return errors.Join(errs...)
}

// take takes a session for a read; give returns it.
func (f *File) take(ctx context.Context) (*sqldb.Session, error) {
	s, err := f.r.get(ctx)
	if err == nil && f.path == Memory {
		f.r.memory.RLock()
	}
	return s, err
}

func (f *File) give(s *sqldb.Session, sound bool) {
	if f.path == Memory {
		f.r.memory.RUnlock()
	}
	f.r.put(s, sound)
}

// View implements database.
func (f *File) View(ctx context.Context, _ Kind, fn func(*Tx) error) error {
	s, err := f.take(ctx)
	if err != nil {
		return err
	}
	sound := false
	defer func() { f.give(s, sound) }()
	if err := s.Run("BEGIN"); err != nil {
		return err
	}
	defer func() { sound = s.Run("ROLLBACK") == nil }()
	return fn(&Tx{ctx: ctx, Now: f.clock.now(), e: f.e, s: s})
}

// PointRead implements database. It does not watch ctx, which would take longer than the read.
func (f *File) PointRead(ctx context.Context, fn func(*Tx) error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	s, err := f.take(ctx)
	if err != nil {
		return err
	}
	sound := false
	defer func() { f.give(s, sound) }()
	t := &Tx{ctx: context.Background(), Now: f.clock.now(), e: f.e, s: s}
	err = fn(t)
	sound = t.aborted == nil
	return err
}
