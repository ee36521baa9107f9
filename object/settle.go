package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// unknown reports whether the transaction may or may not have happened.
func unknown(err error) bool {
	return errors.Is(err, lethe.ErrUnknownOutcome) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// refused reports whether the transaction certainly did not happen.
func refused(err error) bool {
	return !unknown(err) && (lethe.Refused(err) || errors.Is(err, lethe.ErrUnavailable))
}

// operation is one transaction that records its outcome under op.
type operation struct {
	op   lethe.ID
	what string
	run  func(ctx context.Context) error
	// promotable: the reaper may do it in the place of the writer under the same op, by
	// promotion, so that ErrReaped leaves the outcome open.
	promotable bool
}

// done is how an operation succeeded: by its own response, or by its recorded
// outcome (lookedUp) when the response was lost.
type done struct {
	lookedUp bool
	outcome  ledger.Outcome
}

// settle runs an operation to a certain end. A lost response is looked up, never
// guessed (docs/protocol.md, rule 7); what certainly did not happen is run again.
// Once it has begun it continues without its client. If the outcome cannot be
// learnt the error wraps ErrUnknownOutcome. Every other error is certain: nothing
// was changed.
func (s *Store) settle(ctx context.Context, o operation) (done, error) {
	if err := ctx.Err(); err != nil {
		return done{}, err
	}
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	const tries = 3
	began := s.instant()
	var err error
	for range tries {
		if err = o.run(ctx); err == nil {
			return done{}, nil
		}
		reaped := o.promotable && errors.Is(err, lethe.ErrReaped)
		if !reaped && refused(err) {
			return done{}, err
		}
		s.events.unknown(o.op, o.what)
		out, found, lookup := s.lookUp(ctx, o.op)
		switch {
		case found:
			return done{lookedUp: true, outcome: out}, nil
		case lookup != nil:
			return done{}, fmt.Errorf("%w: %s: %w", lethe.ErrUnknownOutcome, o.what, errors.Join(err, lookup))
		case s.instant().since(began) >= s.opt.OpsKept:
			return done{}, fmt.Errorf("%w: %s: its record may have been pruned by now: %w", lethe.ErrUnknownOutcome, o.what, err)
		case reaped:
			return done{}, fmt.Errorf("%w: %s: the reaper may yet finish it: %w", lethe.ErrUnknownOutcome, o.what, err)
		case !unknown(err):
			return done{}, err
		}
	}
	return done{}, fmt.Errorf("%w: %s did not happen in %d tries: %s", lethe.ErrUnavailable, o.what, tries, err)
}

// instant is a point in time by both clocks: one stops while a machine is
// suspended, the other may be set back.
type instant struct{ wall, monotonic lethe.Time }

func (s *Store) instant() instant {
	return instant{s.opt.Clock.Now(), s.opt.Monotonic.Now()}
}

func (i instant) since(o instant) time.Duration {
	return max(i.wall.Sub(o.wall), i.monotonic.Sub(o.monotonic))
}

// lookUp looks up the outcome of an operation until the ledger answers, for
// Patience at most.
func (s *Store) lookUp(ctx context.Context, op lethe.ID) (ledger.Outcome, bool, error) {
	const longest = 2 * time.Second
	until := s.opt.Monotonic.Now().Add(s.opt.Patience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, longest) {
		out, found, err := s.ledger.Intents.Outcome(ctx, op)
		if err == nil {
			return out, found, nil
		}
		if s.opt.Monotonic.Now().Add(wait) > until || s.opt.Sleep(ctx, wait) != nil {
			return ledger.Outcome{}, false, err
		}
	}
}

// abandonment is an intent that its writer gives up.
type abandonment struct {
	blob        lethe.ID
	backend     string // empty: no byte was sent
	size        int64  // reserved, in bytes
	mayBeReaped bool   // its bytes were sent when the reaper may have taken it
	late        bool   // they may still land
	promotable  bool   // the reaper could finish it
	sure        bool   // the ledger has confirmed
	cause       error
}

// giveUp abandons an intent and returns the error of the write: the cause, which
// also wraps ErrUnknownOutcome if the ledger did not confirm and the reaper may
// finish the write.
func (s *Store) giveUp(ctx context.Context, a abandonment) error {
	if s.abandon(ctx, a) || !a.promotable {
		return a.cause
	}
	return fmt.Errorf("%w: the reaper may yet finish it: %w", lethe.ErrUnknownOutcome, a.cause)
}

// abandon condemns an intent's row. It reports whether the ledger has confirmed
// that no object will be made of it. Otherwise the reaper takes the row when its
// heartbeat is old.
func (s *Store) abandon(ctx context.Context, a abandonment) bool {
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	var err error
	for range 2 {
		err = s.ledger.Intents.Abandon(ctx, a.blob, a.late)
		a.sure = err == nil
		if !unknown(err) {
			break
		}
	}
	s.events.abandoned(a)
	// ErrReaped means that the ledger has recorded it; any other error, that it may
	// not have.
	if !a.sure && a.backend != "" && !errors.Is(err, lethe.ErrReaped) {
		s.events.unrecorded(Unrecorded{a.blob, a.backend, a.size, "abandon", err})
	}
	if !a.sure && a.mayBeReaped {
		s.condemnLate(ctx, ledger.LateBytes{Blob: a.blob, Backend: a.backend, Size: a.size})
	}
	return a.sure
}

// condemnLate gives a row to bytes whose intent may have been reaped: they may have
// been sent when its row was gone (docs/protocol.md, rule 19). If the ledger does
// not answer, reconcile finds them.
func (s *Store) condemnLate(ctx context.Context, b ledger.LateBytes) {
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	var err error
	for range 2 {
		if err = s.ledger.Intents.CondemnLate(ctx, b); !unknown(err) {
			break
		}
	}
	if err != nil {
		s.events.unrecorded(Unrecorded{b.Blob, b.Backend, b.Size, "late", err})
	}
}
