package routine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// EventLedger hands out events and records what became of them.
type EventLedger interface {
	// ClaimEvents claims events of a target that are due. None has an earlier one of its
	// key that waits and is not claimed with it.
	ClaimEvents(ctx context.Context, c ledger.EventClaim) (ledger.ClaimedEvents, error)
	// SettleEvents removes what was delivered and keeps the rest. An event whose claim was
	// taken over is left alone.
	SettleEvents(ctx context.Context, s ledger.EventSettlement) (ledger.EventsSettled, error)
	// TrimEvents drops up to a batch of what a target has beyond its bound, but nothing that is
	// being sent, and counts it.
	TrimEvents(ctx context.Context, t ledger.EventTrim) (lost int64, err error)
	EventTargets(ctx context.Context) ([]ledger.EventTarget, error)
}

// ErrUnreached is an error of a Sender if the target gave no answer, or said that it is not
// there for now: others of its events would fare alike.
var ErrUnreached = errors.New("the target was not reached")

// ErrBusy is an ErrUnreached of a target that takes no more for now, whatever the event.
var ErrBusy = fmt.Errorf("%w: it is busy", ErrUnreached)

// Sender sends an event to a target that it knows. It returns an error unless the target
// confirmed the event.
type Sender interface {
	Targets() []string
	Send(ctx context.Context, e ledger.Event) error
}

// Delivery is the bounds of delivery.
type Delivery struct {
	// Lease is how long a claim lasts. A batch is sent for at most half of it, and for at most
	// turn. A request takes at most a quarter, so that sent events are settled within the claim.
	Lease time.Duration
	// BackoffMin and BackoffMax bound how long a target rests after it was not reached. A failed
	// event waits twice as long, so that another one is tried first.
	BackoffMin, BackoffMax time.Duration
	// GiveUp is the age at which an event becomes a dead letter if the target refuses it, or
	// does not answer it but takes others. MaxAge is the age for every other failed event.
	GiveUp, MaxAge time.Duration
	// Most is how many events of a target are kept.
	Most int64
	// Parallel is how many requests to a target run at once.
	Parallel int
}

// Deliver sends events to their targets, at least once each and in order for a key. Instances
// share the work by claims.
type Deliver struct {
	Ledger   EventLedger
	Sender   Sender
	Delivery Delivery
	Limit    int         // events per claim
	Clock    lethe.Clock // measures how long a batch takes
	Events   *reclaim.Events
}

// Name returns "deliver".
func (*Deliver) Name() string { return "deliver" }

// Plan counts the events that wait.
func (d *Deliver) Plan(ctx context.Context) (b ledger.Backlog, err error) {
	list, err := d.Ledger.EventTargets(ctx)
	for _, t := range list {
		b.Count += t.Waiting
		if t.Oldest != 0 && (b.Oldest == 0 || t.Oldest < b.Oldest) {
			b.Oldest = t.Oldest
		}
	}
	return b, err
}

// turn is how long a batch is sent, so that the other targets are not held up by a slow one,
// and after how long a pass begins again.
const turn = 10 * time.Second

// Pass first drops what targets have beyond their bound, also those that are not in the
// configuration. Then it visits the targets in turn, one batch a step, until none has
// anything due. A long pass begins again, as more may come than a slow target takes.
func (d *Deliver) Pass(worker string) reclaim.Step {
	return RestartInterval{Time: turn, Clock: d.Clock}.of(func() reclaim.Step { return d.pass(worker) })
}

func (d *Deliver) pass(worker string) reclaim.Step {
	todo, next := d.Sender.Targets(), 0
	return inSequence(d.trim(), func(ctx context.Context, add reclaim.Add) (bool, error) {
		if len(todo) == 0 {
			return false, nil
		}
		next %= len(todo)
		more, err := d.batch(ctx, todo[next], worker, add)
		if err != nil {
			return false, err
		}
		if more {
			next++
		} else {
			todo = append(todo[:next:next], todo[next+1:]...)
		}
		return len(todo) > 0 && ctx.Err() == nil, nil
	})
}

// trimStep is how many events one transaction drops.
const trimStep = 1000

func (d *Deliver) trim() reclaim.Step {
	var todo []ledger.EventTarget
	first := true
	return func(ctx context.Context, add reclaim.Add) (more bool, err error) {
		if first {
			if todo, err = d.Ledger.EventTargets(ctx); err != nil {
				return false, fmt.Errorf("reclaim: targets of events: %w", err)
			}
			first = false
		}
		for len(todo) > 0 && todo[0].Waiting+todo[0].Dead <= d.Delivery.Most {
			todo = todo[1:]
		}
		if len(todo) == 0 {
			return false, nil
		}
		lost, err := d.Ledger.TrimEvents(ctx, ledger.EventTrim{Target: todo[0].Name, Most: d.Delivery.Most, Limit: trimStep})
		if err != nil {
			return false, fmt.Errorf("reclaim: drop events of %s: %w", todo[0].Name, err)
		}
		if lost < trimStep {
			todo = todo[1:]
		}
		add("lost", lost)
		return len(todo) > 0, nil
	}
}

// batch claims, sends and settles events of one target, and reports whether more may be due.
func (d *Deliver) batch(ctx context.Context, target, worker string, add reclaim.Add) (bool, error) {
	claimed, err := d.Ledger.ClaimEvents(ctx, ledger.EventClaim{Target: target, Worker: worker, Limit: d.Limit, Lease: d.Delivery.Lease})
	if err != nil {
		return false, fmt.Errorf("reclaim: claim events of %s: %w", target, err)
	}
	if len(claimed.Events) == 0 {
		return false, nil
	}
	s := d.send(ctx, claimed)
	settleCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	settled, err := d.Ledger.SettleEvents(settleCtx, ledger.EventSettlement{
		Target: target, Fence: claimed.Fence, Results: s.results, RestUntil: s.restUntil,
	})
	if err != nil {
		return false, fmt.Errorf("reclaim: settle %s of %s (to be sent again): %w", words.Plural(int64(len(s.results)), "event", "events"), target, err)
	}
	add(reclaim.Items, int64(settled.Delivered))
	add("delivered", int64(settled.Delivered))
	add("failed", int64(settled.Failed))
	add("dead", int64(settled.Dead))
	add("fenced", int64(settled.Fenced))
	d.Events.EmitDelivered(target, settled, s.failure)
	return settled.Delivered > 0, nil
}

// sending is a claimed batch that is sent.
type sending struct {
	d       *Deliver
	claimed ledger.ClaimedEvents
	until   lethe.Time

	mu        sync.Mutex
	results   []ledger.EventResult
	restUntil lethe.Time
	failure   error // one of them
}

// send sends the events, those of a key one after the other.
func (d *Deliver) send(ctx context.Context, claimed ledger.ClaimedEvents) *sending {
	s := &sending{d: d, claimed: claimed, until: d.Clock.Now().Add(min(turn, d.Delivery.Lease/2))}
	lists := byKey(claimed.Events)
	keys := make(chan []ledger.Event, len(lists))
	for _, list := range lists {
		keys <- list
	}
	close(keys)
	work := func() {
		for list := range keys {
			s.inOrder(ctx, list)
		}
	}
	var others sync.WaitGroup
	for range d.Delivery.Parallel - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return s
}

// byKey groups events by bucket and key, each group in order, the groups by their first.
func byKey(events []ledger.Event) (out [][]ledger.Event) {
	at := map[[2]string]int{}
	for _, e := range events {
		k := [2]string{e.Bucket, e.Key}
		i, known := at[k]
		if !known {
			i = len(out)
			at[k], out = i, append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	return out
}

// inOrder sends events of one key until one of them fails. The rest waits behind it.
func (s *sending) inOrder(ctx context.Context, list []ledger.Event) {
	for i, e := range list {
		if ctx.Err() != nil || s.over() {
			s.unsent(list[i:])
			return
		}
		err := s.d.Sender.Send(ctx, e)
		if err != nil && ctx.Err() != nil {
			s.unsent(list[i:])
			return
		}
		if !s.sent(e, err) {
			s.unsent(list[i+1:])
			return
		}
	}
}

// over reports whether nothing more of the batch is sent: the target was not reached, or its
// time is over.
func (s *sending) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.restUntil != 0 || s.d.Clock.Now() >= s.until
}

func (s *sending) unsent(list []ledger.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range list {
		s.results = append(s.results, ledger.EventResult{No: e.No, Outcome: ledger.EventUnsent})
	}
}

// sent notes the result of one event, and reports whether the events after it may be sent: it was
// delivered. Behind an event that is given up they wait until the ledger has recorded that. Before
// that the claim may be taken over, and the event may still arrive.
func (s *sending) sent(e ledger.Event, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := ledger.EventResult{No: e.No, Outcome: ledger.EventDelivered}
	now, b := s.claimed.Now, s.d.Delivery
	switch {
	case err == nil:
	case s.givenUp(e, err):
		r.Outcome = ledger.EventDead
	default:
		r.Outcome = ledger.EventFailed
	}
	if errors.Is(err, ErrUnreached) {
		s.restUntil = now.Add(b.wait(s.claimed.Failures))
	}
	if err != nil {
		r.Error, s.failure = err.Error(), err
	}
	if r.Outcome == ledger.EventFailed {
		r.RetryAt = now.Add(2 * b.wait(max(e.Attempts, s.claimed.Failures)))
	}
	s.results = append(s.results, r)
	return r.Outcome == ledger.EventDelivered
}

// fewTries is how often an event that is not answered is tried at least, before it is held to
// be the cause.
const fewTries = 5

// givenUp reports whether an event that failed becomes a dead letter. One that is not answered
// waits longer if the target takes nothing else either: then it is away.
func (s *sending) givenUp(e ledger.Event, err error) bool {
	b, age := s.d.Delivery, s.claimed.Now.Sub(e.At)
	works := s.claimed.Failures == 0 && e.Attempts+1 >= fewTries && !errors.Is(err, ErrBusy)
	return age >= b.MaxAge || age >= b.GiveUp && (works || !errors.Is(err, ErrUnreached))
}

// wait is the backoff after so many failures before this one.
func (b Delivery) wait(failures int64) time.Duration {
	return lethe.Backoff(b.BackoffMin, b.BackoffMax, int(failures))
}
