package routine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
)

// ReceiptLedger keeps receipts of deletions.
type ReceiptLedger interface {
	// UnsealedReceipts reads receipts that no seal covers, up to limit and to the
	// end of their batch, with the end of the chain.
	UnsealedReceipts(ctx context.Context, limit int) (ledger.Unsealed, error)
	// SealReceipts appends a segment to the chain, and drops the batches that it
	// was cut from: ErrFenced if another was sealed meanwhile.
	SealReceipts(ctx context.Context, s receipt.Segment) error
	// DropReceipts drops up to limit of the oldest segments of which every receipt
	// is older than keep. The last of their seals stays as the anchor.
	DropReceipts(ctx context.Context, keep time.Duration, limit int) (segments int, err error)
	ReceiptBacklog(ctx context.Context, s ledger.Sealing) (ledger.Backlog, error)
	ReceiptReader
}

// ReceiptReader reads receipts and their chain.
type ReceiptReader interface {
	// Receipts returns the receipts kept under the names, in the order of deletion.
	Receipts(ctx context.Context, names ...receipt.Name) ([]receipt.Receipt, error)
	// Seals pages through the chain, from the anchor; ReceiptPages reads a segment.
	Seals(ctx context.Context, after int64, limit int) ([]receipt.Seal, error)
	ReceiptPages(ctx context.Context, seq int64) ([]receipt.Page, error)
	// UnsealedPage pages through the batches that no seal covers, by their ids.
	UnsealedPage(ctx context.Context, after int64, limit int) ([]receipt.Batch, error)
}

// Receipts seals receipts of deletion, link by link of one chain, and drops the
// expired ones. It runs once at a time: the chain has one end.
type Receipts struct {
	Ledger ReceiptLedger
	// Age reports whether the ledger's clock is in doubt; nil: it never is.
	Age   AgeLedger
	Store lethe.ID
	// Keep is how long receipts are kept after the deletion.
	Keep   time.Duration
	Safety reclaim.Safety
	Events *reclaim.Events
}

const (
	// segmentSize is how many receipts a segment has at most, plus the rest of the
	// last transaction's. Cutting it takes some 20 MB of memory, and writing it 1
	// MB.
	segmentSize = 20_000
	// segmentWorth is how many are sealed without waiting for more.
	segmentWorth = 10_000
	// dropStep is how many segments are dropped in a step.
	dropStep = 16
)

// Name returns "receipts".
func (*Receipts) Name() string { return "receipts" }

// Plan counts the receipts to be sealed, and those that wait for more.
func (r *Receipts) Plan(ctx context.Context) (ledger.Backlog, error) {
	return r.Ledger.ReceiptBacklog(ctx, ledger.Sealing{Worth: segmentWorth, After: r.Safety.SealAfter})
}

// Pass seals what there is, then drops what has expired.
func (r *Receipts) Pass(string) reclaim.Step { return inSequence(r.seal, unlessBehind(r.Age, r.drop)) }

// seal seals one segment, if there is enough for one or it has waited long enough.
func (r *Receipts) seal(ctx context.Context, add reclaim.Add) (bool, error) {
	u, err := r.Ledger.UnsealedReceipts(ctx, segmentSize)
	if err != nil {
		return false, fmt.Errorf("reclaim: read receipts: %w", err)
	}
	if u.Count == 0 || u.Count < segmentWorth && u.Now.Sub(u.Oldest) < r.Safety.SealAfter {
		return false, nil
	}
	s, err := receipt.Cut(r.Store, u.Last, u.Batches, u.Now)
	if err != nil {
		return false, fmt.Errorf("reclaim: cut segment %d: %w", u.Last.Seq+1, err)
	}
	err = r.Ledger.SealReceipts(ctx, s)
	if errors.Is(err, lethe.ErrFenced) {
		return false, nil // another instance took over and seals
	}
	if err != nil {
		return false, fmt.Errorf("reclaim: seal segment %d: %w", s.Seq, err)
	}
	add(reclaim.Items, s.Count)
	add("receipts", s.Count)
	add("seals", 1)
	r.Events.EmitSealed(s.Seal)
	return u.More, nil
}

func (r *Receipts) drop(ctx context.Context, add reclaim.Add) (bool, error) {
	n, err := r.Ledger.DropReceipts(ctx, r.Keep, dropStep)
	if err != nil {
		return false, fmt.Errorf("reclaim: drop old receipts: %w", err)
	}
	add("dropped", int64(n))
	return n >= dropStep, nil
}

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

// moved reports whether old segments were dropped since the walk began. Then
// segments that the walk has compared may be gone, and it begins anew.
func (w *ChainWalk) moved(ctx context.Context) (bool, error) {
	first, err := w.Ledger.Seals(ctx, 0, 1)
	if err != nil {
		return false, fmt.Errorf("read the anchor of the receipts: %w", err)
	}
	return len(first) > 0 && (first[0].Seq != w.anchor.Seq || first[0].Dropped != w.anchor.Dropped), nil
}

// Checked returns what the walk has checked so far.
func (w *ChainWalk) Checked() receipt.Checker { return w.checker }
