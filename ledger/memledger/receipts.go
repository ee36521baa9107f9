package memledger

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

// receipts are the receipts of deletions.
type receipts struct {
	by      lethe.Caller // of the transaction
	op      lethe.ID     // recorded by the transaction
	taken   []receipt.Receipt
	batches []batch
	seals   []receipt.Seal
	sealed  map[int64]segment
	lastID  int64
	all     []receipt.Receipt // sealed ones first; nil: to be rebuilt
}

// batch is the receipts of one transaction, at one time.
type batch struct {
	receipt.Batch
	at lethe.Time
}

// segment is the receipts under one seal, stored and decoded.
type segment struct {
	pages []receipt.Page
	list  []receipt.Receipt
}

// leave ends a transaction and stores its receipts and events.
func (db *DB) leave() {
	db.storeEvents()
	if list := db.receipts.taken; len(list) > 0 {
		db.receipts.lastID++
		db.receipts.all = nil
		db.receipts.batches = append(db.receipts.batches, batch{receipt.Batch{ID: db.receipts.lastID, Receipts: list}, db.now})
	}
	db.receipts.taken, db.receipts.by, db.receipts.op = nil, lethe.Caller{}, ""
	db.mu.Unlock()
}

// lost notes a receipt of a version that is gone.
func (db *DB) lost(bucket string, o ledger.Object, r receipt.Receipt) {
	if db.opts.NoReceipts {
		return
	}
	r.Kind, r.At, r.Size, r.Content = receipt.Object, receipt.Instant(db.now), o.Size, o.ContentID
	r.Bucket, r.BucketID, r.Key, r.Version, r.ETag = bucket, o.BucketID, o.Key, o.ID, o.ETag
	r.Op, r.By = db.receipts.op, db.receipts.by
	db.receipts.taken = append(db.receipts.taken, r)
}

// lostByAge notes a receipt of an expired object.
func (db *DB) lostByAge(o *object) {
	r := receipt.Receipt{Reason: o.reason(db.now), Due: receipt.Instant(o.DueAt())}
	if rule := o.endedBy(db.now); rule != nil {
		r.Rule, r.RuleNumber = rule.ID, o.RuleNumber
	}
	db.lost(o.bucket.called(), o.Object, r)
}

// called returns the bucket's name, present or former.
func (b *bucket) called() string {
	if b.Name == "" {
		return b.was
	}
	return b.Name
}

// lostBytes notes a receipt of a removed blob.
func (db *DB) lostBytes(b *blob, how string) {
	if db.opts.NoReceipts {
		return
	}
	db.receipts.taken = append(db.receipts.taken, receipt.Receipt{
		Kind: receipt.Bytes, At: receipt.Instant(db.now), Reason: b.Reason, Size: b.Size, Content: b.ContentID,
		Blob: b.ID, Backend: b.Blob.Backend, How: how, By: db.receipts.by,
	})
}

// lostInline notes a receipt of the bytes of an inline content.
func (db *DB) lostInline(c *content, reason lethe.Reason) {
	if db.opts.NoReceipts {
		return
	}
	db.receipts.taken = append(db.receipts.taken, receipt.Receipt{
		Kind: receipt.Bytes, At: receipt.Instant(db.now), Reason: reason, Size: c.Size, Content: c.ID, How: receipt.Inline, By: db.receipts.by,
	})
}

// binned returns the receipt of how an entry came into the trash.
func (e *entry) binned(as lethe.ID) *receipt.Trash {
	return &receipt.Trash{At: receipt.Instant(e.DeletedAt), Reason: e.Reason, Op: e.Op, By: e.By, EndedBy: e.EndedBy, As: as}
}

// UnsealedReceipts returns receipts that are not sealed: whole batches, until there are
// limit receipts or more.
func (db *DB) UnsealedReceipts(ctx context.Context, limit int) (ledger.Unsealed, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Unsealed{}, err
	}
	defer db.leave()
	out := ledger.Unsealed{Now: db.now}
	for i, b := range db.receipts.batches {
		if i == 0 {
			out.Oldest, out.Last = b.at, db.lastSeal()
		}
		out.Batches, out.Count = append(out.Batches, b.Batch), out.Count+len(b.Receipts)
		if out.Count >= limit && limit > 0 {
			out.More = true
			break
		}
	}
	return out, nil
}

// UnsealedPage returns up to limit batches of unsealed receipts with ids above after.
func (db *DB) UnsealedPage(ctx context.Context, after int64, limit int) (out []receipt.Batch, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	for _, b := range db.receipts.batches {
		if b.ID > after && (limit <= 0 || len(out) < limit) {
			out = append(out, b.Batch)
		}
	}
	return out, nil
}

func (db *DB) lastSeal() receipt.Seal {
	if n := len(db.receipts.seals); n > 0 {
		return db.receipts.seals[n-1]
	}
	return receipt.Seal{}
}

// SealReceipts appends a segment to the chain: ErrFenced.
func (db *DB) SealReceipts(ctx context.Context, s receipt.Segment) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.leave()
	if last := db.lastSeal(); last.Seq != s.Seq-1 || last.Hash != s.Prev {
		return fmt.Errorf("memledger: the chain ends with seal %d: %w", last.Seq, lethe.ErrFenced)
	}
	rest := slices.DeleteFunc(slices.Clone(db.receipts.batches), func(b batch) bool { return slices.Contains(s.Batches, b.ID) })
	if len(rest)+len(s.Batches) != len(db.receipts.batches) {
		return fmt.Errorf("memledger: batches of segment %d were sealed before: %w", s.Seq, lethe.ErrFenced)
	}
	in := segment{pages: s.Pages}
	for _, p := range s.Pages {
		list, err := receipt.Decode(p.Body)
		if err != nil {
			return fmt.Errorf("memledger: seal segment %d: %w", s.Seq, err)
		}
		in.list = append(in.list, list...)
	}
	if db.receipts.sealed == nil {
		db.receipts.sealed = map[int64]segment{}
	}
	db.receipts.batches, db.receipts.seals = rest, append(db.receipts.seals, s.Seal)
	db.receipts.sealed[s.Seq], db.receipts.all = in, nil
	return nil
}

// DropReceipts removes up to limit of the oldest segments that are older than keep.
func (db *DB) DropReceipts(ctx context.Context, keep time.Duration, limit int) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.leave()
	n, last := 0, -1
	for i, s := range db.receipts.seals {
		if s.Dropped {
			continue
		}
		if n == limit && limit > 0 || lethe.Time(s.Until) > db.now.Add(-keep) {
			break
		}
		n, last = n+1, i
		delete(db.receipts.sealed, s.Seq)
	}
	if last >= 0 {
		db.receipts.seals = slices.Clone(db.receipts.seals[last:])
		db.receipts.seals[0].Dropped, db.receipts.all = true, nil
	}
	return n, nil
}

// Receipts returns the receipts under some names.
func (db *DB) Receipts(ctx context.Context, names ...receipt.Name) ([]receipt.Receipt, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	var out []receipt.Receipt
	for _, r := range db.allReceipts() {
		if slices.Contains(names, r.Name()) {
			out = append(out, r)
		}
	}
	receipt.Sort(out)
	return out, nil
}

// allReceipts returns all receipts, sealed ones first, for reading only.
func (db *DB) allReceipts() []receipt.Receipt {
	if db.receipts.all != nil {
		return db.receipts.all
	}
	var out []receipt.Receipt
	for _, s := range db.receipts.seals {
		out = append(out, db.receipts.sealed[s.Seq].list...)
	}
	for _, b := range db.receipts.batches {
		out = append(out, b.Receipts...)
	}
	db.receipts.all = out
	return out
}

// Seals pages through the seals of the chain.
func (db *DB) Seals(ctx context.Context, after int64, limit int) ([]receipt.Seal, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	var out []receipt.Seal
	for _, s := range db.receipts.seals {
		if s.Seq > after && (limit <= 0 || len(out) < limit) {
			out = append(out, s)
		}
	}
	return out, nil
}

// ReceiptPages returns the pages of a segment; none if it was dropped.
func (db *DB) ReceiptPages(ctx context.Context, seq int64) ([]receipt.Page, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.leave()
	return slices.Clone(db.receipts.sealed[seq].pages), nil
}

// ReceiptBacklog counts the receipts that are not sealed.
func (db *DB) ReceiptBacklog(ctx context.Context, s ledger.Sealing) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.leave()
	var n int64
	var since lethe.Time
	for i, x := range db.receipts.batches {
		if i == 0 {
			since = x.at
		}
		n += int64(len(x.Receipts))
	}
	return s.Backlog(n, since, db.now), nil
}

// EachReceipt returns all receipts, sealed ones first, for checkers; the slice must not be
// changed.
func (db *DB) EachReceipt() []receipt.Receipt {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.allReceipts()
}
