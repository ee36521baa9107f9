package reclaim

import (
	"context"
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/receipt"
)

// ChainWalk recomputes the chain of receipts, segment by segment, from its anchor to
// its end.
type ChainWalk struct {
	Ledger ReceiptReader
	Store  lethe.ID
	// Noted are heads that were recorded elsewhere, with the name of that place.
	Noted map[receipt.Head]string

	checker receipt.Checker
	anchor  receipt.Seal // the first one read; zero: none yet
	after   int64
}

// Next checks the next segment. It returns *receipt.Broken if the chain does not
// hold there, and the head and false at the end.
func (w *ChainWalk) Next(ctx context.Context) (head receipt.Head, more bool, err error) {
	if w.anchor.Seq == 0 {
		w.checker = receipt.Checker{Store: w.Store, Noted: w.Noted}
	}
	head, more, err = w.step(ctx)
	var broken *receipt.Broken
	if !errors.As(err, &broken) {
		return head, more, err
	}
	moved, merr := w.moved(ctx)
	if merr != nil {
		return head, false, merr
	}
	if !moved {
		return head, false, err
	}
	w.anchor, w.after = receipt.Seal{}, 0
	return head, true, nil
}

func (w *ChainWalk) step(ctx context.Context) (head receipt.Head, more bool, err error) {
	seals, err := w.Ledger.Seals(ctx, w.after, 1)
	if err != nil {
		return head, false, fmt.Errorf("read the chain of receipts: %w", err)
	}
	if len(seals) == 0 {
		head, err = w.checker.End()
		return head, false, err
	}
	s := seals[0]
	if w.anchor.Seq == 0 {
		w.anchor = s
	}
	pages, err := w.Ledger.ReceiptPages(ctx, s.Seq)
	if err != nil {
		return head, false, fmt.Errorf("read segment %d of the receipts: %w", s.Seq, err)
	}
	w.after = s.Seq
	return head, true, w.checker.Next(s, pages)
}

// moved reports whether old segments were dropped since the walk began. What the
// walk has compared may be gone then, and it begins anew.
func (w *ChainWalk) moved(ctx context.Context) (bool, error) {
	first, err := w.Ledger.Seals(ctx, 0, 1)
	if err != nil {
		return false, fmt.Errorf("read the anchor of the receipts: %w", err)
	}
	return len(first) > 0 && (first[0].Seq != w.anchor.Seq || first[0].Dropped != w.anchor.Dropped), nil
}

// Checked returns what the walk has checked so far.
func (w *ChainWalk) Checked() receipt.Checker { return w.checker }
