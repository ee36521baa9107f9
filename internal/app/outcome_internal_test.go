package app

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe"
)

// TestRefusalsAreNoErrors checks that refusals because of the ledger's state
// are not errors of the store, in spans and metrics.
func TestRefusalsAreNoErrors(t *testing.T) {
	for _, err := range []error{
		nil, lethe.ErrContentKnown, lethe.ErrContentGone, lethe.ErrReaped, lethe.ErrFenced,
		lethe.ErrNoSuchKey, lethe.ErrPreconditionFailed, lethe.ErrQuotaExceeded,
	} {
		if err != nil {
			err = fmt.Errorf("ledger: begin: %w", err)
		}
		if kind := outcomeOf(err); !expected[kind] {
			t.Errorf("%v is %q, an error", err, kind)
		}
	}
	for _, err := range []error{errors.New("whatever"), lethe.ErrCorrupt, lethe.ErrUnknownOutcome, lethe.ErrUnavailable} {
		if kind := outcomeOf(err); expected[kind] {
			t.Errorf("%v is %q, and expected", err, kind)
		}
	}
}
