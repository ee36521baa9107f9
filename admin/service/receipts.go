package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// unsealedPage bounds the transactions whose receipts are on a page of unsealed
// ones.
const unsealedPage = 50

// Receipts reads a page. Receipts that are sealed between two pages are on
// both: an export misses nothing that existed when it began.
func (s *Service) Receipts(ctx context.Context, req api.ReceiptRequest) (api.ReceiptPage, error) {
	return ReadReceipts(ctx, s.o.Ledger, req)
}

// ReadReceipts is Receipts for any chain.
func ReadReceipts(ctx context.Context, from routine.ReceiptReader, req api.ReceiptRequest) (api.ReceiptPage, error) {
	out := api.ReceiptPage{Receipts: []receipt.Receipt{}}
	seals, err := from.Seals(ctx, req.After, 1)
	if err != nil {
		return out, err
	}
	if len(seals) == 0 {
		return out, addUnsealed(ctx, from, req, &out)
	}
	out.Seal, out.Next = &seals[0], seals[0].Seq
	if seals[0].Dropped || lethe.Time(seals[0].Until).Time().Before(req.Since) {
		return out, nil
	}
	pages, err := from.ReceiptPages(ctx, seals[0].Seq)
	for _, p := range pages {
		list, broken := receipt.Decode(p.Body)
		err = errors.Join(err, broken)
		addReceipts(&out, req, list)
	}
	return out, err
}

// addUnsealed adds a page of unsealed receipts.
func addUnsealed(ctx context.Context, from routine.ReceiptReader, req api.ReceiptRequest, p *api.ReceiptPage) error {
	batches, err := from.UnsealedPage(ctx, req.Batch, unsealedPage)
	for _, b := range batches {
		addReceipts(p, req, b.Receipts)
	}
	if len(batches) == unsealedPage {
		p.Next, p.NextBatch = req.After, batches[len(batches)-1].ID
	}
	return err
}

// addReceipts adds those that the request selects.
func addReceipts(p *api.ReceiptPage, req api.ReceiptRequest, list []receipt.Receipt) {
	for _, r := range list {
		if req.Bucket != "" && r.Bucket != req.Bucket || lethe.Time(r.At).Time().Before(req.Since) {
			continue
		}
		p.Receipts = append(p.Receipts, r)
	}
}

// VerifyReceipts recomputes the chain of receipts from its anchor to its head.
func (s *Service) VerifyReceipts(ctx context.Context, req api.ChainRequest) (api.Chain, error) {
	if (req.Seq == 0) != (req.Hash == "") {
		return api.Chain{}, fmt.Errorf("%w: a head has a number and a hash, such as 42:9f86d081 and so on to 64 digits", api.ErrBadRequest)
	}
	store, err := s.o.Ledger.Identity(ctx)
	if err != nil {
		return api.Chain{}, err
	}
	return VerifyChain(ctx, s.o.Ledger, store.ID, req)
}

// VerifyChain is VerifyReceipts for any chain, of a store's id.
func VerifyChain(ctx context.Context, chain routine.ReceiptLedger, store lethe.ID, req api.ChainRequest) (out api.Chain, err error) {
	w := routine.ChainWalk{Ledger: chain, Store: store}
	if req.Seq > 0 {
		w.Noted = map[receipt.Head]string{{Seq: req.Seq, Hash: req.Hash}: "the head that was given"}
	}
	for more := true; more && err == nil; {
		out.Head, more, err = w.Next(ctx)
	}
	var broken *receipt.Broken
	if errors.As(err, &broken) {
		out.Broken, out.At, err = broken.Error(), broken.Seq, nil
	}
	c := w.Checked()
	if lost := c.Unheld(); err == nil && out.Broken == "" && len(lost) > 0 {
		return api.Chain{}, fmt.Errorf("%w: seal %d was dropped by its age, or somebody says so: the chain begins after it, with what went after %s; "+
			"give a head that was noted later", api.ErrBadRequest, lost[0].Seq, toTime(lethe.Time(c.Until)).Format(time.RFC3339))
	}
	out.Segments, out.Receipts, out.DroppedUntil = c.Segments, c.Receipts, toTime(lethe.Time(c.Until))
	if err == nil {
		var b ledger.Backlog
		b, err = chain.ReceiptBacklog(ctx, ledger.Sealing{})
		out.Unsealed = b.Count
	}
	return out, err
}
