package object

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// ahead is how many bytes an upload of unknown size reserves at a time.
const ahead = 64 << 20

// heartbeat is the heartbeat of an upload's intent: the backend reads the body through
// it. When a heartbeat is due it sends one before it hands on what it read. It
// stops the upload when the intent was reaped, or could be: when no heartbeat
// succeeded for half of the age at which the reaper takes it.
type heartbeat struct {
	s      *Store
	ctx    context.Context // of the upload
	cancel context.CancelCauseFunc
	blob   lethe.ID
	body   io.Reader
	grows  bool // the size is unknown: reserve as it goes

	mu       sync.Mutex
	sent     int64
	reserved int64
	beatAt   lethe.Time // last success, by the monotonic clock
	triedAt  lethe.Time

	stop chan struct{}
	done chan struct{}
}

// startHeartbeat begins the heartbeat of a blob that was begun just now. The caller
// ends it by close.
func (s *Store) startHeartbeat(ctx context.Context, blob lethe.ID, u *upload) *heartbeat {
	now := s.opt.Monotonic.Now()
	p := &heartbeat{s: s, blob: blob, body: u.body(), grows: u.size < 0, reserved: u.reserve(), beatAt: now, triedAt: now}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	if s.opt.Background && !u.inMemory() {
		p.stop, p.done = make(chan struct{}), make(chan struct{})
		go p.run()
	}
	return p
}

// run sends heartbeats while the body stalls.
func (p *heartbeat) run() {
	defer close(p.done)
	ticker := time.NewTicker(p.s.opt.Beat)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			p.check(0)
		case <-p.stop:
			return
		}
	}
}

func (p *heartbeat) close() {
	if p.stop != nil {
		close(p.stop)
		<-p.done
	}
	p.cancel(nil)
}

// Read implements io.Reader.
func (p *heartbeat) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, context.Cause(p.ctx)
	}
	n, err := p.body.Read(b)
	if stopped := p.check(int64(n)); stopped != nil {
		return 0, stopped
	}
	return n, err
}

// check counts n bytes, and sends a heartbeat if one is due or more room has to be
// reserved. Its error has stopped the upload.
func (p *heartbeat) check(n int64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent += n
	now := p.s.opt.Monotonic.Now()
	more := p.grows && p.sent > p.reserved
	if !more && now.Sub(p.triedAt) < p.s.opt.Beat {
		return nil
	}
	err := p.beat(now, more)
	if err == nil {
		return nil
	}
	silent := p.s.opt.Monotonic.Now().Sub(p.beatAt)
	switch {
	case errors.Is(err, lethe.ErrReaped), errors.Is(err, lethe.ErrNoRoom):
	case silent > p.s.opt.MinAge/2:
		err = fmt.Errorf("%w: no heartbeat for %s: %w", lethe.ErrReaped, silent, err)
	case more:
		// Without the reservation the bytes must not be sent.
	default:
		return nil
	}
	p.cancel(err)
	return err
}

// stands returns why the intent may have been reaped, or nil. After a long
// suspension it checks once more, right before bytes can land.
func (p *heartbeat) stands() error { return p.check(0) }

// silence is the time since the intent was last known to stand.
func (p *heartbeat) silence() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.s.opt.Monotonic.Now().Sub(p.beatAt)
}

func (p *heartbeat) beat(now lethe.Time, more bool) error {
	ctx, cancel := context.WithTimeout(p.ctx, p.s.opt.Beat)
	defer cancel()
	p.triedAt = now
	size := p.reserved
	if more {
		size = (p.sent/ahead + 1) * ahead
	}
	if err := p.s.ledger.Intents.Beat(ctx, p.blob, size); err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	p.reserved, p.beatAt = size, now
	return nil
}

// stopped returns why the heartbeat stopped the upload, nil if it did not.
func (p *heartbeat) stopped() error {
	if cause := context.Cause(p.ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
