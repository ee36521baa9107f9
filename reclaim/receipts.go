package reclaim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
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
	ReceiptHead(ctx context.Context) (receipt.Head, error)
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
	Safety Safety
	Events *Events
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
func (r *Receipts) Pass(string) Step { return inSequence(r.seal, unlessBehind(r.Age, r.drop)) }

// seal seals one segment, if there is enough for one or it has waited long enough.
func (r *Receipts) seal(ctx context.Context, c *Counts) (bool, error) {
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
	c.Add(Items, s.Count)
	c.Add("receipts", s.Count)
	c.Add("seals", 1)
	r.Events.sealed(s.Seal)
	return u.More, nil
}

func (r *Receipts) drop(ctx context.Context, c *Counts) (bool, error) {
	n, err := r.Ledger.DropReceipts(ctx, r.Keep, dropStep)
	if err != nil {
		return false, fmt.Errorf("reclaim: drop old receipts: %w", err)
	}
	c.Add("dropped", int64(n))
	return n >= dropStep, nil
}
