package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim/pairing"
)

// The methods that the guard needs.

func (s *seam) Identity(ctx context.Context) (ledger.Store, error) { return s.in.Identity(ctx) }

func (s *seam) LedgerTime(ctx context.Context) (lethe.Time, error) { return s.in.LedgerTime(ctx) }

// ClockBehind is asked by whoever removes for age.
func (s *seam) ClockBehind() time.Duration { return s.in.ClockBehind() }

func (s *seam) ClockAhead() time.Duration { return s.in.ClockAhead() }

func (s *seam) SetEpoch(ctx context.Context, backend string, intended, epoch int64) error {
	return do(s, "set-epoch", fmt.Sprint(backend, intended, epoch), scope{backend: backend}, func() error {
		err := s.in.SetEpoch(s.lasting(ctx), backend, intended, epoch)
		if err == nil {
			s.w.doubts.move(backend, s.w)
		}
		return err
	})
}

func (s *seam) IntendEpoch(ctx context.Context, seen ledger.Backend, epoch int64) error {
	return do(s, "intend-epoch", fmt.Sprint(seen.ID, epoch), scope{backend: seen.ID}, func() error {
		err := s.in.IntendEpoch(s.lasting(ctx), seen, epoch)
		if err == nil {
			s.w.doubts.move(seen.ID, s.w)
		}
		return err
	})
}

func (s *seam) AcceptEpoch(ctx context.Context, backend string, epoch int64) error {
	person := s.w.doubts.accepted[backend]
	return do(s, "accept-epoch", fmt.Sprint(backend, epoch), scope{backend: backend}, func() error {
		err := s.in.AcceptEpoch(s.lasting(ctx), backend, epoch)
		if err == nil {
			s.w.fail(s.w.oracle.suspends(backend, "", person))
		}
		return err
	})
}

func (s *seam) HoldBackend(ctx context.Context, backend, reason string) error {
	person := s.w.doubts.accepted[backend]
	return do(s, "hold-backend", backend+" "+reason, scope{backend: backend}, func() error {
		err := s.in.HoldBackend(s.lasting(ctx), backend, reason)
		if err == nil {
			s.w.fail(s.w.oracle.suspends(backend, reason, person))
		}
		return err
	})
}

func (s *seam) ChangeHold(ctx context.Context, seen ledger.Backend, to ledger.BackendHold) error {
	person := s.w.doubts.accepted[seen.ID]
	return do(s, "hold-backend", seen.ID+" "+to.Reason, scope{backend: seen.ID}, func() error {
		err := s.in.ChangeHold(s.lasting(ctx), seen, to)
		if err == nil {
			s.w.fail(s.w.oracle.suspends(seen.ID, to.Reason, person))
		}
		return err
	})
}

func (s *seam) DoubtClock(ctx context.Context, backend, why string) (string, error) {
	return write(s, "doubt-clock", backend, scope{backend: backend}, func() (string, error) {
		before, err := s.in.DoubtClock(s.lasting(ctx), backend, why)
		if err == nil {
			s.w.doubts.unlike[backend] = why != ""
			s.w.fail(s.w.oracle.compared(backend, why))
		}
		return before, err
	})
}

// suspends notes that deletes on a backend are held, or let go: held for a cause only,
// and let go by a person, or because an epoch that was missing is there again.
func (o *oracle) suspends(backend, reason string, person bool) error {
	d := &o.w.doubts
	was := d.held[backend]
	d.held[backend] = reason
	d.move(backend, o.w)
	_, touched := d.touched[backend]
	asked := o.w.turn
	if a := o.w.cur; a != nil {
		asked = a.asked
	}
	switch {
	case reason == "":
		delete(d.strange, backend)
	case touched && d.touched[backend] < asked && o.w.strange(backend) && !known(d.strange, backend):
		d.strange[backend] = o.w.turn
	}
	switch {
	case reason != "" && !touched:
		return broken("deletes on %s are held, and nothing was wrong: %s", backend, reason)
	case reason != "" || person:
	case !strings.HasPrefix(was, "the backend carries no epoch"):
		return broken("deletes on %s go on without a person, held as %s", backend, was)
	case d.touched[backend] < asked && o.w.misfit(backend) != "":
		return broken("deletes on %s go on: %s", backend, o.w.misfit(backend))
	}
	return nil
}

// slack is what may lie between the two clocks when they were looked at: what the
// guard may not notice, beside what it bears.
const slack = 5 * time.Second

// compared holds what was noted of two clocks against how they stand.
func (o *oracle) compared(backend, why string) error {
	a, d := o.w.cur, &o.w.doubts
	asked, passed := o.w.turn, time.Duration(0)
	if a != nil {
		asked, passed = a.asked, o.w.now.Sub(a.askedAt)
	}
	off := max(d.skew[backend], -d.skew[backend])
	switch {
	case max(d.skewed[backend], d.touched[backend]) >= asked && a != nil:
	case why == "" && off > pairing.ClockSkew+passed+slack:
		return broken("the clock of %s is off by %s, and nobody doubts it", backend, d.skew[backend])
	case why != "" && off <= pairing.ClockSkew:
		return broken("the clock of %s is off by %s, and is doubted: %s", backend, d.skew[backend], why)
	}
	return nil
}

// handedOut: nothing is handed out for deletion on a backend that is held, nor by a
// process that has not seen it to fit, nor what may land late while its clock is in
// doubt.
func (s *seam) handedOut(backend string, blobs []ledger.Blob) error {
	if !s.w.paired() || len(blobs) == 0 {
		return nil
	}
	d := &s.w.doubts
	late := slices.ContainsFunc(blobs, func(b ledger.Blob) bool { return b.LateUntil != 0 })
	switch a := s.w.cur; {
	case d.held[backend] != "":
		return broken("blobs on %s were handed out, and deletes there are held: %s", backend, d.held[backend])
	case a != nil && !a.proc.node.pairing.seen[backend]:
		return broken("blobs on %s were handed out to %s, and nobody in its process has seen that it fits", backend, a.name)
	case late && d.unlike[backend]:
		return broken("what may land late on %s was handed out, and its clock is in doubt", backend)
	}
	return nil
}

// mayOrphan: no orphan is condemned in doubt.
func (s *seam) mayOrphan(backend string, blobs []ledger.Blob) error {
	d := &s.w.doubts
	if len(blobs) > 0 && (d.held[backend] != "" || d.unlike[backend] || d.behind > time.Minute) {
		return broken("orphans on %s were condemned in doubt (held %q, clock in doubt %v, the ledger's behind %s)", backend, d.held[backend], d.unlike[backend], d.behind)
	}
	return nil
}

// byAge are the steps that remove for age.
var byAge = []Step{"expire", "purge", "claim-intents", "abort-stale", "abort-ruled", "drop-receipts"}

// aged: nothing is removed for its age by whoever began when the machine's clock had
// run back already, or had been set forward.
func (w *World) aged(a *actor, step Step) error {
	d := &w.doubts
	if a == nil || d.behind <= time.Minute && d.ahead == 0 || d.since >= a.began || !slices.Contains(byAge, step) {
		return nil
	}
	return broken("%s by %s, and the machine's clock lies %s behind the ledger's, or %s before it", step, a.name, d.behind, d.ahead)
}
