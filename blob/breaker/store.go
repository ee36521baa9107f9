package breaker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Store is a blob.Store with a circuit breaker, closed at first. It is safe for
// concurrent use.
type Store struct {
	inner blob.Store
	b     *breaker
}

var (
	_ blob.Store      = (*Store)(nil)
	_ blob.Unfinished = (*Store)(nil)
	_ blob.Spacer     = (*Store)(nil)
	_ blob.Placed     = (*Store)(nil)
	_ blob.Downer     = (*Store)(nil)
)

// New puts a breaker before a store.
func New(inner blob.Store, o Options) *Store {
	return &Store{inner, &breaker{o: o.withDefaults()}}
}

// State returns the state of the breaker, for status and metrics.
func (s *Store) State() State {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	return s.b.state
}

// Down implements blob.Downer: the breaker is open, or the store behind it is down.
func (s *Store) Down() string {
	if st := s.State(); st.Open {
		return "it did not work: " + st.LastErr
	}
	if d, ok := s.inner.(blob.Downer); ok {
		return d.Down()
	}
	return ""
}

// Writable returns why the backend should get no writes now: blob.ErrDown while the
// breaker is open and pauses, blob.ErrFull a while after the backend reported that.
// Once the pause is over it may be tried.
func (s *Store) Writable() error { return s.b.writable() }

// absent is a key under which no store ever has bytes.
const absent = "breaker/question"

// enter begins a call, or refuses it.
func (s *Store) enter(ctx context.Context) error {
	v, err := s.b.enter()
	if v != ask {
		return err
	}
	askCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.b.o.Ask)
	defer cancel()
	_, err = s.inner.Stat(askCtx, absent)
	if errors.Is(err, blob.ErrNotExist) {
		err = nil
	}
	s.b.asked(err)
	if err != nil {
		return fmt.Errorf("%w: %w: the probe failed: %w", blob.ErrNotDone, blob.ErrDown, hidden{err})
	}
	return nil
}

// hidden keeps the text of an error without its kinds: the result of the probe must
// not be taken for that of the refused call.
type hidden struct{ err error }

// Error implements error.
func (h hidden) Error() string { return h.err.Error() }

// leave records how a call ended and passes its error on.
func (s *Store) leave(ctx context.Context, err error) error {
	s.b.tell(judge(ctx, err), err)
	if errors.Is(err, blob.ErrFull) {
		s.b.full()
	}
	return err
}

// judge returns what the end of a call means for the backend's health.
func judge(ctx context.Context, err error) result {
	switch {
	case err == nil:
		return well
	case errors.Is(err, blob.ErrUnfit):
		return neutral // it answers, and can be read
	case errors.Is(err, blob.ErrDown):
		return outage
	case errors.Is(err, blob.ErrNotExist), errors.Is(err, blob.ErrExist), errors.Is(err, blob.ErrFull):
		return well
	case ctx.Err() != nil, errors.Is(err, blob.ErrInvalidKey), errors.Is(err, errors.ErrUnsupported):
		return neutral
	case timeout(err):
		return outage
	case errors.Is(err, blob.ErrNotDone):
		return neutral
	}
	return failure
}

// timeout reports whether the call took too long by the backend's own limit.
func timeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// Put implements blob.Store.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	body := &source{r: r}
	err := s.inner.Put(ctx, key, body, size)
	if body.broken {
		return err // the client's fault, whatever the backend made of it
	}
	return s.leave(ctx, err)
}

// source records that the body itself failed.
type source struct {
	r      io.Reader
	broken bool
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.broken = s.broken || err != nil && err != io.EOF
	return n, err
}

// Get implements blob.Store. The end of its body is recorded, too.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	body, err := s.inner.Get(ctx, key, offset, length)
	if s.leave(ctx, err) != nil {
		return nil, err
	}
	return &opened{body, ctx, s}, nil
}

type opened struct {
	io.ReadCloser
	ctx context.Context
	s   *Store
}

// Read implements io.Reader.
func (o *opened) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		o.s.leave(o.ctx, err)
	}
	return n, err
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := s.enter(ctx); err != nil {
		return blob.Info{}, err
	}
	info, err := s.inner.Stat(ctx, key)
	return info, s.leave(ctx, err)
}

// Delete implements blob.Store.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	results, err := s.inner.Delete(ctx, keys)
	said := err
	for _, r := range results {
		if said == nil && r.Err != nil && judge(ctx, r.Err) == outage {
			said = r.Err
		}
	}
	s.leave(ctx, said)
	return results, err
}

// List implements blob.Store.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	stopped := false
	err := s.inner.List(ctx, prefix, after, func(i blob.Info) error {
		err := fn(i)
		stopped = stopped || err != nil
		return err
	})
	if stopped {
		return err
	}
	return s.leave(ctx, err)
}

// SweepUnfinished implements blob.Unfinished.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	u, ok := s.inner.(blob.Unfinished)
	if !ok {
		return 0, 0, errors.ErrUnsupported
	}
	if err := s.enter(ctx); err != nil {
		return 0, 0, err
	}
	n, bytes, err := u.SweepUnfinished(ctx, before)
	return n, bytes, s.leave(ctx, err)
}

// Free implements blob.Spacer.
func (s *Store) Free(ctx context.Context) (int64, error) {
	sp, ok := s.inner.(blob.Spacer)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	n, err := sp.Free(ctx)
	return n, s.leave(ctx, err)
}

// InPlace implements blob.Placed; it is called even if the breaker is open.
func (s *Store) InPlace() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.InPlace()
	}
	return errors.ErrUnsupported
}

// Reopen implements blob.Placed.
func (s *Store) Reopen() error {
	if p, ok := s.inner.(blob.Placed); ok {
		return p.Reopen()
	}
	return errors.ErrUnsupported
}
