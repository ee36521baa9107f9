// Package wake wakes the routines of all instances that have work, so that they
// need not wait for their next tick: when rows were condemned, one notice wakes
// "clean" where it runs, on a reclaim-only instance too.
//
// Notices travel by Redis's publish and subscribe. A lost one costs only time,
// because ticks continue; without Redis an instance still wakes its own
// routines. A routine is woken at most once per gap, however many notices come.
package wake

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/redisconn"
)

// maxDelay bounds the delay of a notice; later work is left to the ticks.
const maxDelay = time.Hour

// Options of a Bus.
type Options struct {
	// Conn carries notices between instances; nil keeps them in this one.
	Conn *redisconn.Conn
	// Channel is shared by the instances of a store, such as Channel(store id).
	Channel string
	// Self names this instance, so that it ignores its own notices.
	Self string
	// Routines are those that run here: notices for others are ignored.
	Routines []string
	// Wake is called, from one goroutine, when a routine has work; it must not
	// block. reclaim.Loop.Wake is one.
	Wake func(routine string)
	// Gap is the least time between two wake-ups of a routine, and between two
	// messages sent (default 1 s).
	Gap time.Duration
	// Monotonic measures delays (default lethe.Monotonic).
	Monotonic lethe.Clock
	Events    Events
}

// Events report notices. Nil funcs are skipped.
type Events struct {
	Heard  func(routine string) // one came from another instance; tests wait for it
	Failed func(err error)      // one could not be sent
}

// Channel returns the channel of a store's instances.
func Channel(store lethe.ID) string { return redisconn.KeyPrefix + "wake:" + string(store) }

// Bus sends and receives notices. Notify and Run may be called from any
// goroutine, Run once.
type Bus struct {
	Options

	changed chan struct{}
	mu      sync.Mutex
	mine    timers // to deliver here
	theirs  timers // to send
}

// New returns a bus; it does nothing before Run.
func New(o Options) *Bus {
	o.Gap = cmp.Or(o.Gap, time.Second)
	if o.Monotonic == nil {
		o.Monotonic = lethe.Monotonic{}
	}
	return &Bus{Options: o, changed: make(chan struct{}, 1), mine: newTimers(o.Gap), theirs: newTimers(o.Gap)}
}

// notice is the message: routines, with the milliseconds until they have work.
// It has delays rather than instants, since the clocks of instances differ.
type notice struct {
	From  string             `json:"from"`
	Wakes map[string][]int64 `json:"wakes"`
}

// Notify reports that the routine has work in some time (0: now), here and
// elsewhere. It never blocks and never fails.
func (b *Bus) Notify(routine string, in time.Duration) {
	if in > maxDelay {
		return
	}
	in = max(in, 0)
	b.mu.Lock()
	if now := b.Monotonic.Now(); b.Conn != nil {
		b.theirs.add(routine, now, in)
	}
	b.mu.Unlock()
	b.deliver(routine, in)
}

// deliver adds a wake-up for this instance, if the routine runs here.
func (b *Bus) deliver(routine string, in time.Duration) {
	if !slices.Contains(b.Routines, routine) {
		return
	}
	b.mu.Lock()
	b.mine.add(routine, b.Monotonic.Now(), in)
	b.mu.Unlock()
	b.poke()
}

// poke makes Run look again.
func (b *Bus) poke() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// Run delivers, sends and receives until ctx ends.
func (b *Bus) Run(ctx context.Context) {
	if b.Conn == nil {
		b.drive(ctx)
		return
	}
	var wg sync.WaitGroup
	wg.Go(func() { b.listen(ctx) })
	wg.Go(func() { b.send(ctx) })
	b.drive(ctx)
	wg.Wait()
}

// drive wakes the routines of this instance in time.
func (b *Bus) drive(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		b.mu.Lock()
		now := b.Monotonic.Now()
		due := b.mine.take(now)
		wait := b.mine.next().Sub(now)
		b.mu.Unlock()
		for _, routine := range due {
			b.Wake(routine)
		}
		timer.Reset(max(wait, 0))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-b.changed:
		}
	}
}

// send publishes, once per gap, what was notified meanwhile.
func (b *Bus) send(ctx context.Context) {
	tick := time.NewTicker(b.Gap)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		b.mu.Lock()
		wakes := b.theirs.drain(b.Monotonic.Now())
		b.mu.Unlock()
		if len(wakes) == 0 {
			continue
		}
		if err := b.publish(ctx, wakes); err != nil && ctx.Err() == nil && b.Events.Failed != nil {
			b.Events.Failed(err)
		}
	}
}

func (b *Bus) publish(ctx context.Context, wakes map[string][]int64) error {
	text, err := json.Marshal(notice{From: b.Self, Wakes: wakes})
	if err != nil {
		return err
	}
	return b.Conn.Do(ctx, func(ctx context.Context, r redis.UniversalClient) error {
		return r.Publish(ctx, b.Channel, text).Err()
	})
}

// listen receives the notices of other instances, and reconnects by itself.
func (b *Bus) listen(ctx context.Context) {
	sub := b.Conn.Subscribe(ctx, b.Channel)
	defer sub.Close()
	messages := sub.Channel()
	for {
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			b.hear(m.Payload)
		}
	}
}

// hear processes a message; an invalid one is ignored.
func (b *Bus) hear(text string) {
	var n notice
	if json.Unmarshal([]byte(text), &n) != nil || n.From == b.Self {
		return
	}
	for routine, delays := range n.Wakes {
		if !slices.Contains(b.Routines, routine) {
			continue
		}
		for _, ms := range delays[:min(len(delays), maxTimers)] {
			if ms >= 0 && ms <= maxDelay.Milliseconds() {
				b.deliver(routine, time.Duration(ms)*time.Millisecond)
			}
		}
		if b.Events.Heard != nil {
			b.Events.Heard(routine)
		}
	}
}
