package sim

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// limited says that deletions are limited in this world, by what its processes were
// started with.
func (w *World) limited() bool { return !w.cfg.Plans && hash2(w.cfg.Seed, 41)%8 == 0 }

// configure draws the limits that processes are started with from now on.
func (w *World) configure(rng *rand.Rand) {
	w.limits = ledger.Limits{
		Rules: drawLimit(rng, 4, true), TTL: drawLimit(rng, 4, true), Purge: drawLimit(rng, 6, false), Deletes: drawLimit(rng, 12, true),
	}
	w.note("limits %+v", w.limits)
}

// drawLimit draws none, or one that a simulated world can reach.
func drawLimit(rng *rand.Rand, most int64, whole bool) (l ledger.Limit) {
	switch n := rng.IntN(6); {
	case n == 0:
	case n == 1:
		l.PerHour = 1 + rng.Int64N(most)
	case n == 2 && whole:
		l.Share, l.Floor = 25*(1+rng.IntN(3)), rng.Int64N(2)
	case n == 3:
		l.Ask, l.PerHour = 1+rng.Int64N(most), 1+rng.Int64N(most)
	default:
		l.Ask = 1 + rng.Int64N(most)
	}
	return l
}

// keeper ends, as a process starts, what stops for limits that are gone; the one of
// the first process is also the person who allows, and changes the configuration.
func keeper(a *actor) {
	w, l := a.w, a.proc.node.ledger
	rng := rand.New(rand.NewPCG(w.cfg.Seed, uint64(8000+100*a.proc.index+a.proc.life)))
	ended, err := l.EndTrips(context.Background(), a.proc.node.limits)
	w.note("%s: %s, %d stops ended", a.name, class(err), len(ended))
	for a.proc.index == 0 {
		a.pause(time.Duration(rng.IntN(8*60)) * time.Second)
		if rng.IntN(16) == 0 {
			w.restarted(rng)
			continue
		}
		g, found := w.chosen(rng)
		if !found {
			continue
		}
		allowed := ledger.Allowance{Kind: g.Kind, Subject: g.Subject}
		switch rng.IntN(4) {
		case 0:
			allowed.N, allowed.Until = -1, w.now.Add(time.Hour)
		case 1, 2:
			allowed.N, allowed.Until = 1+rng.Int64N(3), w.now.Add(time.Duration(1+rng.IntN(180))*time.Minute)
		}
		err := l.AllowBeyondLimit(context.Background(), allowed)
		w.note("%s: %s, %s of %s: %d until %s", a.name, class(err), allowed.Kind, allowed.Subject, allowed.N, allowed.Until.Sub(w.begin))
	}
}

// chosen is a stop, or now and then whatever is counted.
func (w *World) chosen(rng *rand.Rand) (g ledger.LimitState, found bool) {
	limits, err := w.ledger.LimitStates(context.Background())
	if err != nil {
		w.fail(err)
	}
	var stops []ledger.LimitState
	for _, g := range limits {
		if g.Kind != ledger.LimitClock && (g.Tripped(w.now) || rng.IntN(4) == 0) {
			stops = append(stops, g)
		}
	}
	if len(stops) == 0 {
		return g, false
	}
	return pick(rng, stops), true
}

// restarted changes the limits, and has one process or both start with them; the
// other keeps those it has until it crashes.
func (w *World) restarted(rng *rand.Rand) {
	w.configure(rng)
	other := w.procs[rng.IntN(len(w.procs))]
	other.die()
	if rng.IntN(2) == 0 {
		return
	}
	for _, p := range w.procs {
		p.die()
	}
}

// unlimited has all that is due come due under the limits. Then nothing of it may
// stay: because the limits go, because a person allows it, or by itself where limits
// are by the hour only.
func (w *World) unlimited(n *node) *node {
	if !w.limited() || w.err != nil {
		return n
	}
	w.advance(w.now.Add(safety.MultipartStale + time.Hour))
	for _, r := range n.routines {
		w.drain(r)
	}
	switch w.ending() {
	case permitted:
		return n
	case hourly:
		l := ledger.Limit{PerHour: 5}
		w.limits = ledger.Limits{Rules: l, TTL: l, Purge: l, Deletes: l}
	default:
		w.limits = ledger.Limits{}
	}
	n = w.newNode()
	_, err := n.ledger.EndTrips(context.Background(), w.limits)
	w.fail(err)
	return n
}

// How stops end in the quiet end.
const (
	switchedOff = iota
	permitted
	hourly
	endings
)

func (w *World) ending() int { return int(hash2(w.cfg.Seed, 42) % endings) }

// rounds is how many steps the quiet end has.
func (w *World) rounds() int {
	if w.limited() && w.ending() == hourly {
		return 4 * rounds
	}
	return rounds
}

// permit is the person who allows everything, each time.
func (w *World) permit(n *node) {
	if !w.limited() || w.ending() != permitted {
		return
	}
	limits, err := w.ledger.LimitStates(context.Background())
	w.fail(err)
	for _, g := range limits {
		if g.Kind != ledger.LimitClock {
			w.fail(n.ledger.AllowBeyondLimit(context.Background(), ledger.Allowance{Kind: g.Kind, Subject: g.Subject, N: -1, Until: w.now.Add(time.Hour)}))
		}
	}
}

// limitsNow are those of the process that acts.
func (w *World) limitsNow() ledger.Limits {
	if a := w.cur; a != nil {
		return a.proc.node.limits
	}
	return w.limits
}

func limitOf(l ledger.Limits, k ledger.LimitKind) ledger.Limit {
	return map[ledger.LimitKind]ledger.Limit{
		ledger.LimitRules: l.Rules, ledger.LimitTTL: l.TTL, ledger.LimitPurge: l.Purge, ledger.LimitDeletes: l.Deletes,
	}[k]
}

const hourMicros = int64(time.Hour / time.Microsecond)

func hourOf(at lethe.Time) int64 { return int64(at) / hourMicros }
