package intercept

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// MountGuard is a hook that can be shut, open at first. It is shut while it is not
// certain that a backend's bytes lie in their place (a disk is not mounted, another
// folder lies there). Then nothing is written, and nothing that is not found is
// taken for gone: every call returns blob.ErrDown with blob.ErrMisplaced, as in an
// outage. The decision to shut it is the caller's. Bodies that were opened before
// can be read to their end.
type MountGuard struct {
	// Absent, if set, returns nil if what was not found under a key is gone for
	// certain, or why that is unknown (pairing.Pairing.Absent): lethe.ErrBackendMismatch
	// if something else is in the backend's place. It is set before the first call.
	Absent func(ctx context.Context, key string) error

	why   atomic.Pointer[string] // why it is shut; nil: open
	shuts atomic.Int64           // times that it was shut
}

var _ blob.Downer = (*MountGuard)(nil)

// Shut refuses every call from now on, and discards the results of those in flight.
// It reports whether the guard was open.
func (g *MountGuard) Shut(why string) bool {
	open := g.why.Swap(&why) == nil
	g.shuts.Add(1)
	return open
}

// Open lets calls through. It reports whether the guard was shut.
func (g *MountGuard) Open() bool { return g.why.Swap(nil) != nil }

// Misplaced returns why the guard is shut; empty if it is open.
func (g *MountGuard) Misplaced() string {
	if why := g.why.Load(); why != nil {
		return *why
	}
	return ""
}

// Writable returns why the backend should get no writes now: blob.ErrDown with
// blob.ErrMisplaced while the guard is shut.
func (g *MountGuard) Writable() error {
	if why := g.Misplaced(); why != "" {
		return misplaced(why)
	}
	return nil
}

// Down implements blob.Downer.
func (g *MountGuard) Down() string { return g.Misplaced() }

// Around implements Hook.
func (g *MountGuard) Around(c *Call) error {
	n := g.shuts.Load()
	if why := g.Misplaced(); why != "" {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, misplaced(why))
	}
	err := c.Next()
	switch {
	case c.Op == Sweep, c.Op == Free:
		return err // it proves nothing about a key
	case g.shuts.Load() != n:
		c.Results = nil
		return discard(err)
	case c.Foreign, c.Op != Get && c.Op != Stat, g.Absent == nil, !errors.Is(err, blob.ErrNotExist):
		return err
	}
	switch why := g.Absent(c.Ctx, c.Key); {
	case why == nil:
		return err
	case errors.Is(why, lethe.ErrBackendMismatch):
		return fmt.Errorf("%s is not there, which proves nothing: %w: %w: %w", c.Key, blob.ErrDown, blob.ErrMisplaced, why)
	default: // the check did not end: the ledger or the backend does not answer
		return fmt.Errorf("%s is not there, which proves nothing: %w: %w", c.Key, blob.ErrDown, why)
	}
}

// discard returns the error of a call during which the guard was shut: another
// store may have responded.
func discard(err error) error {
	if err == nil || errors.Is(err, blob.ErrNotExist) || errors.Is(err, blob.ErrExist) {
		return fmt.Errorf("%w: %w", blob.ErrUnknown, misplaced("it changed during the call"))
	}
	return err
}

func misplaced(why string) error {
	return fmt.Errorf("%w: %w: %s", blob.ErrDown, blob.ErrMisplaced, why)
}
