package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// probeTime is how long a backend may take to answer a probe.
const probeTime = 2 * time.Second

// probes are calls to backends that have not returned. A folder of a dead file server may
// never answer: it gets one call at a time.
type probes struct {
	mu  sync.Mutex
	out map[string]*probe
}

// probe is one of them. Its result is valid once done is closed.
type probe struct {
	done chan struct{}
	free *int64 // of the disk; nil: unknown
	err  error
}

// probeBackends asks every backend whether it answers, in parallel, and returns the answers
// after probeTime at the latest.
func (s *Service) probeBackends(ctx context.Context) map[string]probe {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	running := map[string]*probe{}
	for id := range s.o.Backends {
		running[id] = s.startProbe(ctx, id)
	}
	answers := make(map[string]probe, len(running))
	for _, id := range slices.Sorted(maps.Keys(running)) {
		answers[id] = running[id].answer(ctx)
	}
	return answers
}

// answer returns the result of a probe that has ended, or ends before ctx.
func (p *probe) answer(ctx context.Context) probe {
	select {
	case <-p.done:
		return *p
	case <-ctx.Done():
	}
	select {
	case <-p.done: // while another one was awaited
		return *p
	default:
		return probe{err: fmt.Errorf("no answer within %s", probeTime)}
	}
}

// startProbe begins a probe, or returns the one that is under way.
func (s *Service) startProbe(ctx context.Context, id string) *probe {
	s.probes.mu.Lock()
	defer s.probes.mu.Unlock()
	if p := s.probes.out[id]; p != nil {
		return p
	}
	p := &probe{done: make(chan struct{})}
	if s.probes.out == nil {
		s.probes.out = map[string]*probe{}
	}
	s.probes.out[id] = p
	go func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
		defer cancel()
		p.free, p.err = s.ask(ctx, id)
		s.probes.mu.Lock()
		delete(s.probes.out, id)
		s.probes.mu.Unlock()
		close(p.done)
	}()
	return p
}

// ask makes the calls of a probe. No blob has the name that is asked for: a backend that works
// says so, and the mount guard checks that it is the right one.
func (s *Service) ask(ctx context.Context, id string) (free *int64, err error) {
	b, key := s.o.Backends[id], lethe.BlobKey(s.o.StoreID, lethe.RandomID(s.o.Clock.Now()))
	if _, err := b.Stat(ctx, key); !errors.Is(err, blob.ErrNotExist) {
		return nil, because(err, key)
	}
	sp, ok := b.(blob.Spacer)
	if !ok {
		return nil, nil
	}
	n, err := sp.Free(ctx)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, nil
	case err != nil:
		return nil, because(err, key)
	}
	return &n, nil
}

// probeError is why a backend did not answer, in the words of what failed, without those of
// the layers above.
type probeError struct {
	error
	text string
}

// Error returns the reason.
func (e *probeError) Error() string { return e.text }

// Unwrap returns the whole error.
func (e *probeError) Unwrap() error { return e.error }

func because(err error, key string) error {
	out := &probeError{err, ""}
	var dial *net.OpError
	switch {
	case err == nil:
		return errors.New("it has a blob that was never written")
	case errors.As(err, &dial):
		out.text = dial.Error()
		return out
	case errors.Is(err, context.DeadlineExceeded):
		out.text = fmt.Sprintf("no answer within %s", probeTime)
		return out
	}
	out.text = err.Error()
	for _, layer := range []string{key + ": ", blob.ErrMisplaced.Error() + ": "} {
		if _, after, found := strings.Cut(out.text, layer); found {
			out.text = after
		}
	}
	return out
}
