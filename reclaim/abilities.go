package reclaim

import (
	"context"
	"errors"
	"time"
)

// clocked is a ledger that can tell that the machine's clock ran back behind it.
type clocked interface {
	// ClockBehind is by how much, 0 if by no more than a minute.
	ClockBehind() time.Duration
}

// steady is a ledger that can tell that its clock was set forward.
type steady interface {
	// ClockAhead is by how much, 0 if by no more than clocks are corrected by.
	ClockAhead() time.Duration
}

// shrinking is a ledger with a file that can be made smaller.
type shrinking interface {
	// Vacuum gives up to so many unused pages back to the disk. A ledger without a
	// file of its own answers errors.ErrUnsupported.
	Vacuum(ctx context.Context, pages int) (freed int, err error)
}

// Abilities are those of a ledger that only some ledgers have, for what wraps a
// ledger to embed beside it: an interface that is embedded hides them.
type Abilities struct{ ledger any }

// AbilitiesOf are those of a ledger, which may itself be one that is wrapped.
func AbilitiesOf(ledger any) Abilities { return Abilities{ledger} }

// ClockBehind is by how much the clock lies behind the ledger, 0 for one that does
// not know.
func (a Abilities) ClockBehind() time.Duration {
	if c, ok := a.ledger.(clocked); ok {
		return c.ClockBehind()
	}
	return 0
}

// ClockAhead is by how much the ledger's clock was set forward, 0 for one that does
// not know.
func (a Abilities) ClockAhead() time.Duration {
	if c, ok := a.ledger.(steady); ok {
		return c.ClockAhead()
	}
	return 0
}

// Vacuum gives up to so many unused pages back to the disk, or errors.ErrUnsupported.
func (a Abilities) Vacuum(ctx context.Context, pages int) (freed int, err error) {
	if s, ok := a.ledger.(shrinking); ok {
		return s.Vacuum(ctx, pages)
	}
	return 0, errors.ErrUnsupported
}
