package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/receiptdb"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

var (
	unsealedSizes = register(`SELECT id, at, n FROM receipts ORDER BY id LIMIT ?1`)
	unsealedUntil = register(`SELECT id, body FROM receipts WHERE id <= ?1 ORDER BY id`)
	unsealedAfter = register(`SELECT id, body FROM receipts WHERE id > ?1 ORDER BY id LIMIT ?2`)
	allUnsealed   = register(`SELECT id, body FROM receipts ORDER BY id`)
	unsealedSum   = register(`SELECT coalesce(sum(n), 0), coalesce(min(at), 0) FROM receipts`)
	takeUnsealed  = register(`DELETE FROM receipts WHERE id IN (SELECT id FROM ` + sqldb.Rows(1, "id bigint") + `)`)
)

func init() {
	for _, text := range receiptdb.Statements {
		register(text)
	}
}

// chain returns the chain of receipts.
func (t *tx) chain() receiptdb.Tx { return receiptdb.Tx{Exec: t.Exec, Query: t.Query, Now: t.Now} }

// UnsealedReceipts returns receipts that are not sealed: whole batches, until there are
// limit receipts or more.
func (db *DB) UnsealedReceipts(ctx context.Context, limit int) (out ledger.Unsealed, err error) {
	err = db.walk(ctx, "unsealed receipts", func(t *tx) error {
		out = ledger.Unsealed{Now: t.Now}
		last, err := t.choose(&out, bounded(limit))
		if err != nil || out.Count == 0 {
			return err
		}
		if out.Last, err = t.chain().Last(); err != nil {
			return err
		}
		out.Batches, err = all(t, scanBatch, unsealedUntil, last)
		return err
	})
	return out, err
}

// choose decides how far a segment goes, and returns the id of its last batch.
func (t *tx) choose(out *ledger.Unsealed, limit int64) (last int64, err error) {
	type row struct {
		id int64
		at lethe.Time
		n  int
	}
	list, err := all(t, func(r *sql.Rows) (x row, err error) {
		err = r.Scan(&x.id, &x.at, &x.n)
		return x, err
	}, unsealedSizes, limit)
	for i, x := range list {
		if i == 0 {
			out.Oldest = x.at
		}
		last = x.id
		if out.Count += x.n; int64(out.Count) >= limit {
			out.More = true // possibly; the next call decides
			break
		}
	}
	return last, err
}

func scanBatch(r *sql.Rows) (b receipt.Batch, err error) {
	var body []byte
	if err = r.Scan(&b.ID, &body); err == nil {
		b.Receipts, err = receipt.Decode(body)
	}
	if errors.Is(err, lethe.ErrCorrupt) {
		err = fmt.Errorf("row %d of the table receipts: %w; nothing is sealed until it is restored or set aside, see docs/receipts.md", b.ID, err)
	}
	return b, err
}

// SealReceipts appends a segment to the chain and removes the batches that it was cut from:
// ErrFenced if another one was sealed meanwhile.
func (db *DB) SealReceipts(ctx context.Context, s receipt.Segment) error {
	return db.batch(ctx, fmt.Sprintf("seal receipts as segment %d", s.Seq), func(t *tx) error {
		type row struct {
			ID int64 `json:"id"`
		}
		taken := make([]row, len(s.Batches))
		for i, id := range s.Batches {
			taken[i].ID = id
		}
		return t.Failed(t.chain().Seal(s, func() error {
			return t.Must(int64(len(taken)), lethe.ErrFenced, takeUnsealed, sqldb.JSON(taken))
		}))
	})
}

// DropReceipts removes up to limit of the oldest segments whose receipts are all older than
// keep, and returns how many. The seal of the last one stays, as the next is chained to it.
func (db *DB) DropReceipts(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	err = db.batch(ctx, "drop old receipts", func(t *tx) error {
		n, err = t.chain().Drop(keep, bounded(limit))
		return t.Failed(err)
	})
	return n, err
}

// Receipts returns the receipts under some names, sealed or not, in the order in which
// things went. It reads a page of each segment, and everything that is not sealed.
func (db *DB) Receipts(ctx context.Context, names ...receipt.Name) (out []receipt.Receipt, err error) {
	err = db.read(ctx, "look for receipts", func(t *tx) error {
		out = nil
		wanted := func(r receipt.Receipt) bool { return slices.Contains(names, r.Name()) }
		if err := t.unsealed(&out, wanted); err != nil {
			return err
		}
		for _, name := range names {
			found, err := t.chain().Find(name)
			if err != nil {
				return t.Failed(err)
			}
			out = append(out, found...)
		}
		return nil
	})
	receipt.Sort(out)
	return out, err
}

// unsealed adds the wanted unsealed receipts. It reads one batch at a time, to save memory.
func (t *tx) unsealed(out *[]receipt.Receipt, wanted func(receipt.Receipt) bool) error {
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		b, err := scanBatch(r)
		for _, x := range b.Receipts {
			if wanted(x) {
				*out = append(*out, x)
			}
		}
		return none, err
	}, allUnsealed)
	return err
}

// receipts adds what read returns for each body of the query. It reads one body at a time,
// to save memory.
func (t *tx) receipts(out *[]receipt.Receipt, read func(body []byte) ([]receipt.Receipt, error), query string, args ...any) error {
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var body []byte
		if err = r.Scan(&body); err != nil {
			return none, err
		}
		list, err := read(body)
		*out = append(*out, list...)
		return none, err
	}, query, args...)
	return err
}

// Seals pages through the seals of the chain.
func (db *DB) Seals(ctx context.Context, after int64, limit int) (seals []receipt.Seal, err error) {
	err = db.read(ctx, "seals", func(t *tx) error {
		seals, err = t.chain().Seals(after, bounded(limit))
		return t.Failed(err)
	})
	return seals, err
}

// ReceiptPages returns the pages of a segment; none if it was dropped.
func (db *DB) ReceiptPages(ctx context.Context, seq int64) (pages []receipt.Page, err error) {
	err = db.read(ctx, "a segment of receipts", func(t *tx) error {
		pages, err = t.chain().Pages(seq)
		return t.Failed(err)
	})
	return pages, err
}

// UnsealedPage returns up to limit batches of unsealed receipts with ids above after, in
// order of id. A transaction that ends later than another one may have the lower id.
func (db *DB) UnsealedPage(ctx context.Context, after int64, limit int) (batches []receipt.Batch, err error) {
	err = db.read(ctx, "a page of receipts", func(t *tx) error {
		batches, err = all(t, scanBatch, unsealedAfter, after, bounded(limit))
		return err
	})
	return batches, err
}

// ReceiptBacklog counts the receipts that are not sealed.
func (db *DB) ReceiptBacklog(ctx context.Context, s ledger.Sealing) (b ledger.Backlog, err error) {
	err = db.read(ctx, "receipt backlog", func(t *tx) error {
		var n int64
		var since lethe.Time
		err := t.Failed(t.Row(unsealedSum).Scan(&n, &since))
		b = s.Backlog(n, since, t.Now)
		return err
	})
	return b, err
}

var everyPage = register(`SELECT body FROM receipt_pages ORDER BY seq, page`)

// allReceipts returns every receipt, for a snapshot.
func (db *DB) allReceipts(ctx context.Context) (out []receipt.Receipt, err error) {
	err = db.walk(ctx, "all receipts", func(t *tx) error {
		out = nil
		if err := t.receipts(&out, receipt.Decode, everyPage); err != nil {
			return err
		}
		return t.unsealed(&out, func(receipt.Receipt) bool { return true })
	})
	receipt.Sort(out)
	return out, err
}
