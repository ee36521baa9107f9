package sim

import (
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// Ledger is a whole ledger that lets itself be inspected: memledger, or SQLite.
type Ledger interface {
	ledgertest.ObjectLedger
	ledgertest.EngineLedger
	ledgertest.PlacementLedger
	reconcile.Ledger
	// Inspect fills v with every row, in a fixed order.
	Inspect(v *View) error
	Close() error
}

// View is every row of a ledger at one instant.
type View = ledger.Snapshot

// scope is what a ledger method may change of the object rows: the keys named,
// and how.
type scope struct {
	bucket string
	keys   []string
	op     lethe.ID       // rows that appear carry this id; empty: any
	due    bool           // rows that vanish must be due
	only   []ledger.Named // unless nil: and be named
	fence  int64          // the claim under which the blobs may change; 0: no matter
	blobs  []lethe.ID
	waits  []lethe.ID           // blobs that an outage kept from being deleted
	room   *ledger.EvictRequest // rows that vanish make room for it

	recorded lethe.ID   // the operation that the transaction records
	alone    string     // the bucket whose settings it changes
	backend  string     // whose settings it changes
	rows     []lethe.ID // that it locks, beside the blobs
}

// seam is the ledger as actors see it: every method is an effect.
type seam struct {
	w  *World
	in Ledger
}

// write is a method that changes the ledger.
func write[T any](s *seam, step Step, detail string, sc scope, fn func() (T, error)) (T, error) {
	var zero T
	a := s.w.cur
	fault := None
	if a != nil {
		fault = a.arrive(step, detail)
		s.w.cur = a
	}
	switch fault {
	case NotDone:
		s.w.acted(step, fault)
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnavailable)
	case Undone:
		s.w.acted(step, fault)
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	if err := s.w.await(a, step, sc.holds(step)); err != nil {
		return zero, err
	}
	s.w.fail(s.w.aged(a, step))
	s.w.fail(s.w.gated(a, step))
	if fault == Late {
		return zero, s.w.lateCommit(a, step, sc, func() error {
			_, err := inside(s.w, step, fn)
			return err
		})
	}
	out, err := inside(s.w, step, fn)
	s.w.fail(s.w.oracle.wrote(step, sc, err))
	if err == nil && (fault == CrashAfter || fault == DoneError) {
		s.w.acted(step, fault)
	}
	switch {
	case fault == CrashAfter:
		a.proc.die()
		panic(errCrash)
	case fault == DoneError && err == nil:
		return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnknownOutcome)
	}
	return out, err
}

// do is write for methods without an answer.
func do(s *seam, step Step, detail string, sc scope, fn func() error) error {
	_, err := write(s, step, detail, sc, func() (struct{}, error) { return struct{}{}, fn() })
	return err
}

// read is a method that changes nothing.
func read[T any](s *seam, step Step, detail string, fn func() (T, error)) (T, error) {
	if a := s.w.cur; a != nil {
		fault := a.arrive(step, detail)
		s.w.cur = a
		if fault == NotDone {
			s.w.acted(step, fault)
			var zero T
			return zero, fmt.Errorf("sim: %s: %w", step, lethe.ErrUnavailable)
		}
	}
	return inside(s.w, step, fn)
}

// inside runs a transaction: no backend may be called before it has ended (docs/protocol.md, rule
// 6).
func inside[T any](w *World, step Step, fn func() (T, error)) (T, error) {
	around := w.inside
	w.inside = step
	defer func() { w.inside = around }()
	return fn()
}

var (
	_ ledgertest.ObjectLedger    = (*seam)(nil)
	_ ledgertest.EngineLedger    = (*seam)(nil)
	_ ledgertest.PlacementLedger = (*seam)(nil)
)
