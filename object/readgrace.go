package object

import (
	"context"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
)

// graceExtender keeps the blobs of a content from being deleted while a reader may still
// open some of them. An open blob stays readable by the backend's contract. Those
// opened later stay because the reader extends the read grace before half of it has
// passed (docs/protocol.md, rule 18).
type graceExtender struct {
	s       *Store
	ctx     context.Context
	content lethe.ID

	mu   sync.Mutex
	last lethe.Time // last attempt to extend, by the monotonic clock

	stop chan struct{}
	done chan struct{}
}

func (s *Store) startGraceExtender(ctx context.Context, content lethe.ID) *graceExtender {
	l := &graceExtender{s: s, ctx: ctx, content: content, last: s.opt.Monotonic.Now()}
	if s.opt.Background {
		l.stop, l.done = make(chan struct{}), make(chan struct{})
		go l.run()
	}
	return l
}

func (l *graceExtender) run() {
	defer close(l.done)
	ticker := time.NewTicker(max(l.s.opt.ReadGrace/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.extendIfDue()
		case <-l.stop:
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// extendIfDue extends the grace if it is time.
func (l *graceExtender) extendIfDue() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.s.opt.Monotonic.Now()
	if now.Sub(l.last) < l.s.opt.ReadGrace/2 {
		return
	}
	l.last = now
	ctx, cancel := context.WithTimeout(l.ctx, l.s.opt.ReadGrace/4)
	defer cancel()
	err := l.s.ledger.Intents.ExtendGrace(ctx, l.content)
	l.s.events.extended(l.content, err)
	if err != nil {
		// Try again before the other half has passed.
		l.last = now.Add(-l.s.opt.ReadGrace * 3 / 8)
	}
}

func (l *graceExtender) end() {
	if l != nil && l.stop != nil {
		close(l.stop)
		<-l.done
		l.stop = nil
	}
}
