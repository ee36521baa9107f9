package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// A COMMIT that was sent over a connection which broke then may still be carried out:
// its caller was told that nobody knows, and goes on. Simulated is the transaction made
// later, as a whole, with the code and by the process that it came from. It holds its
// locks meanwhile: who needs one waits until it has landed, or gives up waiting. Rows that
// a batch picks, and keys, are no such locks here: others get in between, more often than
// they could, and the transition has to see to it by what it demands of its rows.

// commitWindow is how long a COMMIT may be on its way.
const commitWindow = time.Hour

// lock is what a transaction holds until it is over.
type lock struct {
	what   string
	shared bool
}

// holds is what a step locks.
func (sc scope) holds(step Step) (locks []lock) {
	if sc.recorded != "" {
		locks = append(locks, lock{what: "operation " + string(sc.recorded)})
	}
	if sc.bucket != "" {
		locks = append(locks, lock{what: "bucket " + sc.bucket, shared: true})
	}
	if sc.alone != "" {
		locks = append(locks, lock{what: "bucket " + sc.alone})
	}
	if sc.backend != "" {
		locks = append(locks, lock{what: "backend " + sc.backend})
	}
	for _, id := range append(slices.Clone(sc.rows), sc.blobs...) {
		locks = append(locks, lock{what: "row " + string(id)})
	}
	switch step {
	case "precheck", "allow", "end-trips", "expire", "evict", "purge", "claim":
		locks = append(locks, lock{what: "limits"})
	case "seal", "drop-receipts":
		locks = append(locks, lock{what: "chain"})
	}
	return locks
}

// lateCommit has the transaction land later, under what its actor is now.
func (w *World) lateCommit(a *actor, step Step, sc scope, run func() error) error {
	ghost, proc := *a, *a.proc
	ghost.proc = &proc
	w.later(string(step)+" by "+a.name, commitWindow, func() {
		cur := w.cur
		w.cur, w.landing = &ghost, true
		err := run()
		w.landing = false
		w.fail(w.oracle.wrote(step, sc, err))
		if err == nil {
			w.acted(step, Late)
		}
		w.cur = cur
	})
	l := w.late[len(w.late)-1]
	l.commit, l.locks, l.stuck = step, sc.holds(step), w.rng.IntN(2) == 0
	return fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
}

// await waits for the transactions that are on their way and hold a lock that is
// needed: they land, or it takes too long.
func (w *World) await(a *actor, step Step, needs []lock) error {
	for _, l := range slices.Clone(w.late) {
		switch {
		case !l.holdsAny(needs):
		case l.stuck:
			if a != nil && a.op != nil {
				a.op.faulted, a.op.reading.harmed = true, true
			}
			w.note("%s waits in vain for: %s", step, l.what)
			return fmt.Errorf("sim: %s: waited for a lock: %w", step, lethe.ErrUnavailable)
		default:
			w.landNow(l)
		}
	}
	return nil
}

func (l *landing) holdsAny(needs []lock) bool {
	return slices.ContainsFunc(l.locks, func(x lock) bool {
		return slices.ContainsFunc(needs, func(y lock) bool { return x.what == y.what && (!x.shared || !y.shared) })
	})
}

// landNow lets a late effect happen now.
func (w *World) landNow(l *landing) {
	w.late = slices.DeleteFunc(w.late, func(x *landing) bool { return x == l })
	w.note("lands late: %s", l.what)
	l.apply()
}

// landCommits lets the transactions of a step land that are on their way, or, if it
// is empty, all.
func (w *World) landCommits(of Step) {
	for _, l := range slices.Clone(w.late) {
		if l.commit != "" && (of == "" || of == l.commit) {
			w.landNow(l)
		}
	}
}

// lasting is the context of a transaction: once that is on its way, its caller's
// patience is nothing to it.
func (s *seam) lasting(ctx context.Context) context.Context { return patient{ctx, s.w} }

type patient struct {
	context.Context
	w *World
}

func (p patient) Done() <-chan struct{} {
	if p.w.landing {
		return nil
	}
	return p.Context.Done()
}

func (p patient) Err() error {
	if p.w.landing {
		return nil
	}
	return p.Context.Err()
}
