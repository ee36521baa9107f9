package sim

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// delivery is the bounds of delivery in a simulated world. One request runs at a time, as
// actors do nothing at once.
var delivery = routine.Delivery{
	Lease: time.Minute, BackoffMin: time.Second, BackoffMax: time.Minute,
	GiveUp: 20 * time.Minute, MaxAge: time.Hour, Most: 1 << 30, Parallel: 1,
}

func (w *World) deliverer(l *seam) *routine.Deliver {
	return &routine.Deliver{Ledger: l, Sender: &w.inbox, Delivery: delivery, Limit: batch, Clock: w}
}

// teller delivers events for ever.
func teller(a *actor) {
	rng := rand.New(rand.NewPCG(a.w.cfg.Seed, uint64(9500+10*a.proc.index+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(40)) * time.Second)
		a.begins(a.task + 1)
		if err := a.passes(a.proc.node.deliver); err != nil {
			a.w.note("%s: %s", a.name, class(err))
			a.w.say(err)
		}
	}
}

// inbox is the target of events, and what is known of them.
type inbox struct {
	w     *World
	away  lethe.Time             // until then it is not there
	sound bool                   // it takes what it used to refuse
	told  map[int64]ledger.Event // all that were written
	taken map[int64]bool         // that arrived, at least once
	spent map[int64]bool         // that were given up
	begun map[int64]lethe.Time   // claims, by fence
}

// Targets implements routine.Sender.
func (*inbox) Targets() []string { return []string{"app"} }

var errAway = fmt.Errorf("sim: %w", routine.ErrUnreached)

// Send implements routine.Sender. The target takes an event, refuses it, is slow or away; what
// it answers may be lost, and the sender may die.
func (b *inbox) Send(_ context.Context, e ledger.Event) error {
	w, a, fault := b.w, b.w.cur, None
	if a != nil {
		fault = a.arrive("send", e.Bucket+"/"+e.Key)
		w.cur = a
	}
	if w.inside != "" {
		w.fail(broken("an event is sent within %s", w.inside))
	}
	h := draw(w.cfg.Seed, 75, uint64(e.No))
	switch {
	case fault == NotDone || fault == Down:
		if fault == Down {
			b.away = w.now.Add(time.Duration(1+h>>8%30) * time.Minute)
		}
		w.acted("send", fault)
		return errAway
	case w.now < b.away:
		return errAway
	case fault == Undone:
		w.acted("send", fault)
		return errors.New("sim: it answered 500")
	case fault == Late:
		w.later("an event", delivery.Lease, func() { b.takes(e) })
		w.acted("send", fault)
		return errAway
	case h%12 == 0 && !b.sound:
		return errors.New("sim: it answers 400 to this one")
	case h%12 == 1 && !b.sound:
		return errAway // it never answers this one
	case h%4 == 2 && a != nil:
		a.pause(time.Duration(1+h>>8%15) * time.Second) // a quarter of the lease at most
		w.cur = a
	}
	b.takes(e)
	switch fault {
	case CrashAfter:
		w.acted("send", fault)
		a.proc.die()
		panic(errCrash)
	case DoneError:
		w.acted("send", fault)
		return errAway
	}
	return nil
}

// takes: what arrives has happened, and what happened to the key before has arrived, or was
// given up.
func (b *inbox) takes(e ledger.Event) {
	was, known := b.told[e.No]
	if !known || was.Event != e.Event {
		b.w.fail(broken("event %d of %s/%s arrived: %+v, and %+v happened", e.No, e.Bucket, e.Key, e.Event, was.Event))
	}
	for no, o := range b.told {
		if no < e.No && o.Bucket == e.Bucket && o.Key == e.Key && !b.taken[no] && !b.spent[no] {
			b.w.fail(broken("event %d of %s/%s arrived before event %d", e.No, e.Bucket, e.Key, no))
		}
	}
	b.taken[e.No] = true
}

// ClaimEvents is a method of those who deliver.
func (s *seam) ClaimEvents(ctx context.Context, c ledger.EventClaim) (ledger.ClaimedEvents, error) {
	return write(s, "claim-events", c.Target, scope{}, func() (ledger.ClaimedEvents, error) {
		out, err := s.in.ClaimEvents(s.lasting(ctx), c)
		s.w.inbox.begun[out.Fence] = out.Now
		return out, err
	})
}

// SettleEvents: nothing is removed that has not arrived, nor given up too early.
func (s *seam) SettleEvents(ctx context.Context, e ledger.EventSettlement) (ledger.EventsSettled, error) {
	return write(s, "settle-events", fmt.Sprint(len(e.Results)), scope{}, func() (ledger.EventsSettled, error) {
		b := &s.w.inbox
		for _, r := range e.Results {
			age := b.begun[e.Fence].Sub(b.told[r.No].At)
			switch {
			case r.Outcome == ledger.EventDelivered && !b.taken[r.No]:
				s.w.fail(broken("event %d is settled as delivered, and did not arrive", r.No))
			case r.Outcome == ledger.EventDead && age < delivery.GiveUp:
				s.w.fail(broken("event %d is given up at the age of %s", r.No, age))
			case r.Outcome == ledger.EventDead:
				b.spent[r.No] = true
			}
		}
		return s.in.SettleEvents(s.lasting(ctx), e)
	})
}

// tellAll delivers what waits: first to a target that goes on refusing some events, until these
// are given up and what follows them has arrived, then to a sound one.
func (w *World) tellAll(n *node) error {
	if !w.tells() || w.err != nil {
		return nil
	}
	if err := w.tellWaiting(n); err != nil {
		return err
	}
	w.inbox.sound, w.inbox.away = true, 0 // one try is all that an event beyond MaxAge has
	if _, err := (&seam{w: w, in: w.ledger}).RequeueEvents(context.Background(), ledger.EventSelection{Target: "app"}); err != nil {
		return err
	}
	return w.tellWaiting(n)
}

// tellWaiting delivers until nothing waits. A target may rest meanwhile.
func (w *World) tellWaiting(n *node) error {
	for i := 0; w.waits() > 0 && w.err == nil; i++ {
		if i > 1000 {
			return broken("%d events wait for ever", w.waits())
		}
		w.advance(w.now.Add(5 * time.Minute))
		w.drain(n.deliver)
	}
	return nil
}

// waits counts the events that wait.
func (w *World) waits() int64 {
	if !w.tells() {
		return 0
	}
	list, err := w.ledger.EventTargets(context.Background())
	w.fail(err)
	if len(list) == 0 {
		return 0
	}
	return list[0].Waiting
}

// allTold: what happened has arrived.
func (w *World) allTold() error {
	for no, e := range w.inbox.told {
		if w.err == nil && !w.inbox.taken[no] {
			return broken("event %d of %s/%s never arrived", no, e.Bucket, e.Key)
		}
	}
	return nil
}

func newInbox(w *World) inbox {
	return inbox{w: w, told: map[int64]ledger.Event{}, taken: map[int64]bool{}, spent: map[int64]bool{}, begun: map[int64]lethe.Time{}}
}
