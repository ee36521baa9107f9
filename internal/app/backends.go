package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/intercept"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
)

// openBackends opens the backends of the configuration, and registers them in the
// ledger.
func (s *Store) openBackends(ctx context.Context) error {
	list, err := s.Ledger.Backends(ctx)
	if err != nil {
		return err
	}
	known := make(map[string]bool, len(list))
	for _, b := range list {
		known[b.ID] = true
	}
	s.Backends, s.raw = make(map[string]blob.Store), make(map[string]blob.Store)
	s.breakers, s.mountGuards = make(map[string]*intercept.Breaker), make(map[string]*intercept.MountGuard)
	s.buckets = make(map[string]*s3blob.Store)
	for _, b := range s.Config.Backends {
		open := s.openDir
		if b.Kind == "s3" {
			open = s.openS3
		}
		if err := open(ctx, b, known[b.Name]); err != nil {
			return err
		}
		if _, err := s.Ledger.AddBackend(ctx, ledger.Backend{ID: b.Name, Quota: int64(b.Quota)}); err != nil {
			return err
		}
	}
	for _, b := range list {
		if s.Backends[b.ID] == nil {
			s.opt.Log.Warn("the ledger has a backend that is not in the configuration: its contents cannot be read or deleted", "backend", b.ID)
		}
	}
	return nil
}

// openDir opens a folder. One that the ledger has is never created again: its disk
// may be unmounted.
func (s *Store) openDir(_ context.Context, b config.Backend, known bool) error {
	path := s.Config.InDataDir(b.Path)
	if err := checkWay(s.Config.DataDir, path); err != nil {
		return fmt.Errorf("backend %s: %w", b.Name, err)
	}
	st, err := fsblob.Open(fsblob.Options{Root: path, Create: !known, NoSync: !s.Config.Store.Flush, OnPut: s.opt.Hooks.Put})
	switch {
	case err != nil && known:
		return fmt.Errorf("backend %s: %w; its bytes are there: mount the disk, or put the folder back", b.Name, err)
	case err != nil:
		return fmt.Errorf("backend %s: %w; make the folder writable, or choose another path", b.Name, err)
	}
	s.closing(st.Close)
	s.addBackend(b.Name, st)
	return nil
}

// addBackend puts a circuit breaker before an observed backend, and a mount guard
// before that. Only the pairing bypasses them.
func (s *Store) addBackend(id string, st blob.Store) {
	raw := s.opt.Hooks.Backend(intercept.New(st, intercept.Observation{Watch: s.watch.calls(id), Clock: s.opt.Stopwatch}))
	s.watch.metrics.Backend(id)
	b := intercept.NewBreaker(intercept.BreakerOptions{Changed: func(st intercept.BreakerState) { s.watch.breaker(id, st) }})
	g := &intercept.MountGuard{Absent: func(ctx context.Context, key string) error { return s.absent(ctx, id, key) }}
	s.raw[id], s.breakers[id], s.mountGuards[id], s.Backends[id] = raw, b, g, intercept.New(raw, g, b)
}

// absent returns nil if a blob that was not found on a backend is gone for certain.
// It checks the backend's epoch (docs/protocol.md, rule 13).
func (s *Store) absent(ctx context.Context, id, key string) error {
	if _, ours := lethe.ParseBlobKey(s.Identity.ID, key); !ours || s.Pairing == nil {
		return nil
	}
	return s.within(ctx, id, s.Pairing.Absent)
}

// health returns why a backend should be given no writes now: blob.ErrMisplaced, or what
// its breaker says.
func (s *Store) health(id string) error {
	if g := s.mountGuards[id]; g != nil {
		if err := g.Writable(); err != nil {
			return err
		}
	}
	if b := s.breakers[id]; b != nil {
		return b.Writable()
	}
	return blob.ErrDown
}

// sweeps requests a sweep of unfinished uploads that were begun before the instant
// and are not in flight in this process.
func (s *Store) sweeps(before lethe.Time) {
	s.unswept = make(map[string]lethe.Time, len(s.Backends))
	for id := range s.Backends {
		s.unswept[id] = before
	}
}

// sweepUnfinished does the requested sweep. It waits where deletes are not
// admitted: the remains may be another ledger's.
func (s *Store) sweepUnfinished(ctx context.Context) {
	for id, before := range s.unswept {
		u, ok := s.Backends[id].(blob.Unfinished)
		if ok && s.within(ctx, id, s.Pairing.Admit) != nil {
			continue
		}
		delete(s.unswept, id)
		if !ok {
			continue
		}
		n, bytes, err := u.SweepUnfinished(ctx, before)
		switch {
		case errors.Is(err, errors.ErrUnsupported), ctx.Err() != nil:
		case err != nil:
			s.opt.Log.Warn("remains of unfinished uploads could not be removed", "backend", id, "error", err)
		case n > 0:
			s.watch.audit("unfinished_swept", "crash", slog.String("backend", id), slog.Int("files", n), slog.Int64("bytes", bytes))
		}
	}
}

// unfinishedBefore is the time before which uploads were begun that no process
// works on any more. In a shared ledger that is long ago.
func (s *Store) unfinishedBefore() lethe.Time {
	if s.shared() {
		return s.opt.Clock.Now().Add(-s.safety.MultipartStale)
	}
	return s.opt.Clock.Now()
}
