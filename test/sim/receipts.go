package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// receiptsKept is how long receipts are kept: short, so that they are dropped while
// others come.
const receiptsKept = 3 * time.Hour

// sealing says that receipts are sealed in this world: by each process, as if each
// believed that the other was dead.
func (w *World) sealing() bool { return hash2(w.cfg.Seed, 39)%8 == 0 }

func (w *World) sealer() *routine.Receipts {
	l := &seam{w: w, in: w.ledger}
	return &routine.Receipts{Ledger: l, Age: l, Store: w.store, Keep: receiptsKept, Safety: safety}
}

// sealer seals receipts, and drops old ones.
func sealer(a *actor) {
	rng := rand.New(rand.NewPCG(a.w.cfg.Seed, uint64(7000+10*a.proc.index+a.proc.life)))
	for {
		a.pause(time.Duration(rng.IntN(600)) * time.Second)
		step := a.w.sealer().Pass(a.name)
		var counts reclaim.Counts
		var err error
		for more := true; more && err == nil; {
			a.began = a.w.turn
			more, err = step(context.Background(), counts.Add)
		}
		a.w.note("%s: %s %v", a.name, class(err), counts.Map())
		a.w.say(err)
	}
}

// chained: what was sealed stays sealed, in one chain that goes on from the end that
// it had, and no receipt goes before its time.
func (o *oracle) chained(before View, step Step) error {
	if step != "seal" && step != "drop-receipts" {
		return nil
	}
	left := map[lethe.ID]bool{}
	for _, r := range o.view.Receipts {
		left[r.Version+r.Blob] = true
	}
	for _, r := range before.Receipts {
		if !left[r.Version+r.Blob] && lethe.Time(r.At) > o.w.now.Add(-receiptsKept) {
			return broken("the receipt of %s is gone before its time", r.Version+r.Blob)
		}
	}
	if len(o.view.Receipts) > len(before.Receipts) {
		return broken("there are %d receipts, there were %d", len(o.view.Receipts), len(before.Receipts))
	}
	ctx := context.Background()
	seals, err := o.w.ledger.Seals(ctx, 0, 0)
	if err != nil {
		return err
	}
	c := receipt.Checker{Store: o.w.store, Noted: map[receipt.Head]string{o.head: "the oracle"}}
	for _, s := range seals {
		pages, err := o.w.ledger.ReceiptPages(ctx, s.Seq)
		if err == nil {
			err = c.Next(s, pages)
		}
		if err != nil {
			return err
		}
	}
	o.head, err = c.End()
	return err
}

// sealedAll: at the quiet end all that is old enough is sealed, and a receipt that is
// past its time is dropped.
func (w *World) sealedAll() error {
	if !w.sealing() || w.err != nil {
		return nil
	}
	w.advance(w.now.Add(safety.SealAfter + time.Second))
	w.drain(w.sealer())
	b, err := w.ledger.ReceiptBacklog(context.Background(), ledger.Sealing{})
	if err == nil && b.Count > 0 {
		err = broken("%d receipts are not sealed after the time for which one may wait", b.Count)
	}
	w.advance(w.now.Add(receiptsKept))
	w.drain(w.sealer())
	if n := len(w.oracle.view.Receipts); err == nil && n > 0 {
		err = broken("%d receipts are there after their time", n)
	}
	return err
}

// The methods that seal and read receipts of deletion.

func (s *seam) UnsealedReceipts(ctx context.Context, limit int) (ledger.Unsealed, error) {
	return read(s, "unsealed", "", func() (ledger.Unsealed, error) { return s.in.UnsealedReceipts(ctx, limit) })
}

func (s *seam) SealReceipts(ctx context.Context, seg receipt.Segment) error {
	return do(s, "seal", fmt.Sprint(seg.Seq), scope{}, func() error { return s.in.SealReceipts(s.lasting(ctx), seg) })
}

func (s *seam) DropReceipts(ctx context.Context, keep time.Duration, limit int) (int, error) {
	return write(s, "drop-receipts", "", scope{}, func() (int, error) { return s.in.DropReceipts(s.lasting(ctx), keep, limit) })
}

func (s *seam) ReceiptBacklog(ctx context.Context, when ledger.Sealing) (ledger.Backlog, error) {
	return s.in.ReceiptBacklog(ctx, when)
}

func (s *seam) Receipts(ctx context.Context, names ...receipt.Name) ([]receipt.Receipt, error) {
	return s.in.Receipts(ctx, names...)
}

func (s *seam) Seals(ctx context.Context, after int64, limit int) ([]receipt.Seal, error) {
	return s.in.Seals(ctx, after, limit)
}

func (s *seam) ReceiptPages(ctx context.Context, seq int64) ([]receipt.Page, error) {
	return s.in.ReceiptPages(ctx, seq)
}

func (s *seam) UnsealedPage(ctx context.Context, after int64, limit int) ([]receipt.Batch, error) {
	return s.in.UnsealedPage(ctx, after, limit)
}
