package routine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/notification"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// receiver is a target that keeps what it accepts. fate decides what becomes of a request.
type receiver struct {
	w        *deliverWorld
	accepted map[int64]int
	fate     func(e ledger.Event) (accepts bool, err error)
}

func (*receiver) Targets() []string { return []string{"app"} }

func (r *receiver) Send(_ context.Context, e ledger.Event) error {
	accepts, err := r.fate(e)
	if accepts {
		r.w.arrived(e)
	}
	return err
}

// deliverWorld is a bucket whose events are told.
type deliverWorld struct {
	*world
	receiver *receiver
	told     map[int64]ledger.Event // all events, by number
}

func newDeliverWorld(t *testing.T) *deliverWorld {
	w := &deliverWorld{world: newWorld(t), told: map[int64]ledger.Event{}}
	w.receiver = &receiver{w: w, accepted: map[int64]int{}, fate: func(ledger.Event) (bool, error) { return true, nil }}
	w.Must(w.Ledger.SetNotifications(w.Ctx, ledger.NotificationChange{Bucket: "b", Rules: notification.Rules{
		{ID: "all", Target: "app", Events: []string{"s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:LifecycleExpiration:*"}},
	}}))
	return w
}

func (w *deliverWorld) deliverer(l routine.EventLedger) *routine.Deliver {
	return &routine.Deliver{Ledger: l, Sender: w.receiver, Limit: 5, Clock: w.Clock, Delivery: routine.Delivery{
		Lease: time.Minute, BackoffMin: time.Second, BackoffMax: 8 * time.Second, GiveUp: time.Hour, MaxAge: 24 * time.Hour, Most: 1000, Parallel: 1,
	}}
}

// note notes the events that the ledger has.
func (w *deliverWorld) note() {
	w.Helper()
	list, err := w.Ledger.Events(w.Ctx, ledger.EventQuery{Target: "app"})
	w.Must(err)
	for _, e := range list {
		w.told[e.No] = e
	}
}

// arrived: every earlier event of the key was accepted before.
func (w *deliverWorld) arrived(e ledger.Event) {
	for no, o := range w.told {
		if o.Key == e.Key && no < e.No && w.receiver.accepted[no] == 0 {
			w.Errorf("event %d of %s arrived before event %d", e.No, e.Key, no)
		}
	}
	w.receiver.accepted[e.No]++
}

func (w *deliverWorld) target() ledger.EventTarget {
	w.Helper()
	list, err := w.Ledger.EventTargets(w.Ctx)
	w.Must(err)
	return list[0]
}

// killed is a process that dies now and then: after a claim, or between sending and settling.
type killed struct {
	routine.EventLedger
	dice *rand.Rand
}

var errKilled = errors.New("the process was killed")

func (k killed) ClaimEvents(ctx context.Context, c ledger.EventClaim) (ledger.ClaimedEvents, error) {
	out, err := k.EventLedger.ClaimEvents(ctx, c)
	if k.dice.IntN(8) == 0 {
		return ledger.ClaimedEvents{}, errKilled
	}
	return out, err
}

func (k killed) SettleEvents(ctx context.Context, s ledger.EventSettlement) (ledger.EventsSettled, error) {
	if k.dice.IntN(4) == 0 {
		return ledger.EventsSettled{}, errKilled
	}
	return k.EventLedger.SettleEvents(ctx, s)
}

// Every event arrives at least once and in the order of its key, whatever fails: requests,
// answers, processes, and two of those at once.
func TestEventsArriveInOrder(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w, dice := newDeliverWorld(t), rand.New(rand.NewPCG(seed, 1))
			d := w.deliverer(killed{w.Ledger, dice})
			var depth int
			pass := func() {
				step := d.Pass("worker")
				for range 1 + dice.IntN(4) {
					if more, err := step(w.Ctx, func(string, int64) {}); err != nil || !more {
						return
					}
				}
			}
			w.receiver.fate = func(ledger.Event) (bool, error) {
				if depth++; depth < 3 && dice.IntN(4) == 0 {
					pass() // another process
				}
				depth--
				w.Clock.Advance(time.Duration(dice.IntN(3)) * 10 * time.Second)
				switch dice.IntN(6) {
				case 0:
					return false, fmt.Errorf("%w: refused", routine.ErrUnreached)
				case 1:
					return false, errors.New("it answered 500")
				case 2:
					return true, fmt.Errorf("%w: the answer was lost", routine.ErrUnreached)
				}
				return true, nil
			}
			for range 30 {
				key := fmt.Sprint("k", dice.IntN(3))
				if dice.IntN(3) == 0 {
					w.Remove(key)
				} else {
					w.Put(key, fmt.Sprint(dice.Uint64()))
				}
				w.note()
				pass()
			}
			w.receiver.fate = func(ledger.Event) (bool, error) { return true, nil }
			sound := w.deliverer(w.Ledger)
			for range 100 {
				w.Clock.Advance(time.Minute)
				w.Pass(sound)
			}
			for no, e := range w.told {
				if w.receiver.accepted[no] == 0 {
					t.Errorf("event %d of %s did not arrive", no, e.Key)
				}
			}
			if to := w.target(); to.Waiting != 0 {
				t.Errorf("%+v", to)
			}
		})
	}
}

// An event that its target refuses holds up its own key alone, and is given up in the end.
func TestRefusedEventIsGivenUp(t *testing.T) {
	w := newDeliverWorld(t)
	w.receiver.fate = func(e ledger.Event) (bool, error) {
		if e.Key == "bad" && e.Size == 1 {
			return false, errors.New("it answered 400")
		}
		return true, nil
	}
	w.Put("bad", "x")
	w.Put("bad", "longer")
	w.Put("good", "x")
	w.Pass(w.deliverer(w.Ledger))
	if to := w.target(); to.Waiting != 2 || to.Delivered != 1 {
		t.Fatalf("%+v", to)
	}
	w.Clock.Advance(2 * time.Hour)
	w.Put("good", "y")
	for range 3 {
		w.Clock.Advance(10 * time.Second)
		w.Pass(w.deliverer(w.Ledger))
	}
	if to := w.target(); to.Waiting != 0 || to.Dead != 1 || to.Delivered != 3 {
		t.Fatalf("%+v", to)
	}
}

// An event that is never answered is given up, so that its key goes on: sooner if the target
// takes others, as it is then the event's fault.
func TestUnansweredEventIsGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		others bool
		err    error
		within time.Duration // at least so long it is tried
	}{
		"others arrive":             {true, routine.ErrUnreached, time.Hour},
		"others arrive, it is busy": {true, routine.ErrBusy, 24 * time.Hour},
		"nothing else is there":     {false, routine.ErrUnreached, 24 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newDeliverWorld(t)
			w.receiver.fate = func(e ledger.Event) (bool, error) {
				if e.Key == "bad" && e.Size == 1 {
					return false, fmt.Errorf("%w: it timed out", c.err)
				}
				return true, nil
			}
			w.Put("bad", "x")
			w.Put("bad", "longer")
			begin, d := w.Clock.Now(), w.deliverer(w.Ledger)
			d.Delivery.BackoffMax = time.Minute
			for i := 0; w.target().Dead == 0 && i < 5000; i++ {
				w.Clock.Advance(20 * time.Second)
				if c.others {
					w.Put("good", fmt.Sprint(i))
				}
				w.Pass(d)
			}
			if took := w.Clock.Now().Sub(begin); took < c.within || took > c.within+10*time.Minute {
				t.Errorf("given up after %s", took)
			}
			w.Clock.Advance(time.Minute)
			w.Pass(d)
			if to := w.target(); to.Waiting != 0 || to.Dead != 1 {
				t.Errorf("%+v", to)
			}
		})
	}
}

// A target that is away costs few requests and a bounded number of rows.
func TestTargetAway(t *testing.T) {
	w := newDeliverWorld(t)
	requests := 0
	w.receiver.fate = func(ledger.Event) (bool, error) {
		requests++
		return false, fmt.Errorf("%w: no answer", routine.ErrUnreached)
	}
	d := w.deliverer(w.Ledger)
	d.Delivery.Most = 20
	for i := range 50 {
		w.Put(fmt.Sprint("k", i), "body")
		w.Clock.Advance(time.Second)
		w.Pass(d)
	}
	if to := w.target(); to.Waiting != 20 || to.Lost != 30 || to.Dead != 0 || requests > 12 {
		t.Fatalf("%+v after %d requests", to, requests)
	}
	w.receiver.fate = func(ledger.Event) (bool, error) { return true, nil }
	w.Clock.Advance(time.Hour)
	w.Pass(d)
	w.Clock.Advance(time.Minute)
	w.Pass(d)
	if to := w.target(); to.Waiting != 0 || to.Delivered != 20 {
		t.Fatalf("%+v", to)
	}
}

// The bound holds for a target that takes less than comes, though a pass has always more to send.
func TestSlowTargetIsBounded(t *testing.T) {
	w := newDeliverWorld(t)
	d, puts := w.deliverer(w.Ledger), 0
	d.Delivery.Most, d.Limit = 20, 100
	w.receiver.fate = func(ledger.Event) (bool, error) {
		for range 3 {
			puts++
			w.Put(fmt.Sprint("k", puts), "body")
		}
		w.Clock.Advance(2 * time.Second)
		return true, nil
	}
	w.Put("k", "body")
	step := d.Pass("worker")
	for range 200 {
		if more, err := step(w.Ctx, func(string, int64) {}); err != nil || !more {
			t.Fatal(more, err)
		}
		if to := w.target(); to.Waiting > 60 {
			t.Fatalf("%+v", to)
		}
		if puts > 300 {
			break
		}
	}
	if to := w.target(); to.Lost == 0 {
		t.Errorf("%+v", to)
	}
}

var _ reclaim.Routine = (*routine.Deliver)(nil)

// Events that the target refuses wait by themselves, however many there are.
func TestManyRefusedEventsHoldNothingUp(t *testing.T) {
	w := newDeliverWorld(t)
	w.receiver.fate = func(e ledger.Event) (bool, error) {
		if e.Key != "good" {
			return false, errors.New("it answered 400")
		}
		return true, nil
	}
	for i := range 500 {
		w.Put(fmt.Sprint("bad", i), "x")
	}
	w.Put("good", "x")
	d := w.deliverer(w.Ledger)
	d.Limit, d.Delivery.BackoffMax = 200, 5*time.Minute
	for i := 0; w.target().Delivered == 0; i++ {
		if i == 100 {
			t.Fatalf("nothing has arrived: %+v", w.target())
		}
		w.Pass(d)
		w.Clock.Advance(2 * time.Second)
	}
}

// A target that has too much rests, also if it took a part, and what it has no room for is not
// given up for that.
func TestBusyTarget(t *testing.T) {
	w := newDeliverWorld(t)
	room, requests := 0, 0
	w.receiver.fate = func(ledger.Event) (bool, error) {
		if requests++; room == 0 {
			return false, fmt.Errorf("%w: it answered 429", routine.ErrBusy)
		}
		room--
		return true, nil
	}
	for i := range 40 {
		w.Put(fmt.Sprint("k", i), "x")
	}
	w.Clock.Advance(2 * time.Hour) // beyond GiveUp
	d := w.deliverer(w.Ledger)
	for i := 0; w.target().Waiting > 0; i++ {
		if i == 2000 {
			t.Fatalf("it never ends: %+v", w.target())
		}
		room, requests = min(1, i%3), 0
		if w.Pass(d); requests > 2 {
			t.Fatalf("%d requests in one pass", requests)
		}
		w.Clock.Advance(2 * time.Second)
	}
	if to := w.target(); to.Dead != 0 || to.Delivered != 40 {
		t.Errorf("%+v", to)
	}
}
