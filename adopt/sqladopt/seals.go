package sqladopt

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/receiptdb"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/receipt"
)

const (
	unsealedAfter = `SELECT id, collection, kind, at, "keys" FROM {lethe}receipts WHERE id > ?1 ORDER BY id LIMIT ?2`
	takeReceipts  = `DELETE FROM {lethe}receipts WHERE id IN (SELECT {number of id} FROM {ids 1})`
)

// kinds are those of receipts, by what their transactions write.
var kinds = map[string]receipt.Kind{
	"rows": receipt.Row, "objects": receipt.Object, "folders": receipt.Folder, "orphans": receipt.Orphan,
	"unconfirmed": receipt.Unconfirmed, "quarantined": receipt.Quarantined, "restored": receipt.Restored, "purged": receipt.Purged,
}

const (
	maxBatches = 20_000 // per seal
	batchPage  = 50     // batches per read
)

// chain is the chain of receipts.
func (t *tx) chain() receiptdb.Tx {
	query := func(query string, args ...any) (*sql.Rows, error) { return t.s.Ask(t.ctx, query, args) }
	return receiptdb.Tx{Exec: t.exec, Query: query, Now: t.now}
}

func scanBatch(r *sql.Rows) (b receipt.Batch, err error) {
	var collection, kind, text string
	var at lethe.Time
	if err := r.Scan(&b.ID, &collection, &kind, &at, &text); err != nil {
		return b, err
	}
	var keys []string
	if err := json.Unmarshal([]byte(text), &keys); err != nil || kinds[kind] == "" {
		return b, fmt.Errorf("row %d of the table receipts: kind %q: %w; nothing is sealed until it is restored or set aside: %w", b.ID, kind, lethe.ErrCorrupt, err)
	}
	for _, key := range keys {
		b.Receipts = append(b.Receipts, receipt.Receipt{Kind: kinds[kind], At: receipt.Instant(at), Collection: collection, Key: key})
	}
	return b, nil
}

// unsealed passes unsealed batches to yield, by their ids, until it returns
// false.
func (t *tx) unsealed(yield func(receipt.Batch) bool) error {
	for after := int64(0); ; {
		list, err := all(t, scanBatch, unsealedAfter, after, batchPage)
		if err != nil {
			return err
		}
		for _, b := range list {
			if !yield(b) {
				return nil
			}
			after = b.ID
		}
		if len(list) < batchPage {
			return nil
		}
	}
}

// UnsealedReceipts reads up to limit unsealed receipts, and the batch that
// exceeds it, with the end of the chain.
func (db *DB) UnsealedReceipts(ctx context.Context, limit int) (out ledger.Unsealed, err error) {
	err = db.read(ctx, "unsealed receipts", func(t *tx) error {
		out = ledger.Unsealed{Now: t.now}
		err := t.unsealed(func(b receipt.Batch) bool {
			if len(b.Receipts) > 0 && out.Count == 0 {
				out.Oldest = lethe.Time(b.Receipts[0].At)
			}
			out.Batches, out.Count = append(out.Batches, b), out.Count+len(b.Receipts)
			out.More = out.Count >= limit || len(out.Batches) == maxBatches
			return !out.More
		})
		if err == nil {
			out.Last, err = t.chain().Last()
		}
		return err
	})
	return out, err
}

// SealReceipts appends a segment to the chain, and deletes the batches that it
// was made of. It fails with lethe.ErrFenced if another was sealed meanwhile.
func (db *DB) SealReceipts(ctx context.Context, s receipt.Segment) error {
	ids := make([]string, len(s.Batches))
	for i, id := range s.Batches {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return db.write(ctx, fmt.Sprintf("seal receipts as segment %d", s.Seq), func(t *tx) error {
		return t.chain().Seal(s, func() error {
			for list := range slices.Chunk(ids, 1000) {
				n, err := t.exec(takeReceipts, sqldb.JSON(list))
				if err == nil && n != int64(len(list)) {
					err = lethe.ErrFenced
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// DropReceipts deletes up to limit of the oldest segments whose receipts are
// all older than keep; the last of their seals stays as the anchor.
func (db *DB) DropReceipts(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	err = db.write(ctx, "drop old receipts", func(t *tx) error {
		n, err = t.chain().Drop(keep, int64(limit))
		return err
	})
	return n, err
}

// ReceiptBacklog counts the unsealed receipts.
func (db *DB) ReceiptBacklog(ctx context.Context, s ledger.Sealing) (b ledger.Backlog, err error) {
	err = db.read(ctx, "receipt backlog", func(t *tx) error {
		var n int64
		var since lethe.Time
		err := t.unsealed(func(b receipt.Batch) bool {
			if n += int64(len(b.Receipts)); since == 0 && n > 0 {
				since = lethe.Time(b.Receipts[0].At)
			}
			return true
		})
		b = s.Backlog(n, since, t.now)
		return err
	})
	return b, err
}

// Receipts returns the receipts of the names, sealed or not, in the order of
// the deletions.
func (db *DB) Receipts(ctx context.Context, names ...receipt.Name) (out []receipt.Receipt, err error) {
	err = db.read(ctx, "look for receipts", func(t *tx) error {
		out = nil
		for _, name := range names {
			found, err := t.chain().Find(name)
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return t.unsealed(func(b receipt.Batch) bool {
			for _, r := range b.Receipts {
				if slices.Contains(names, r.Name()) {
					out = append(out, r)
				}
			}
			return true
		})
	})
	receipt.Sort(out)
	return out, err
}

// Seals pages through the chain, from the anchor.
func (db *DB) Seals(ctx context.Context, after int64, limit int) (seals []receipt.Seal, err error) {
	err = db.read(ctx, "seals", func(t *tx) error {
		seals, err = t.chain().Seals(after, int64(limit))
		return err
	})
	return seals, err
}

// ReceiptPages reads a segment; it is empty if it was dropped.
func (db *DB) ReceiptPages(ctx context.Context, seq int64) (pages []receipt.Page, err error) {
	err = db.read(ctx, "a segment of receipts", func(t *tx) error {
		pages, err = t.chain().Pages(seq)
		return err
	})
	return pages, err
}

// UnsealedPage pages through the unsealed batches, by their ids.
func (db *DB) UnsealedPage(ctx context.Context, after int64, limit int) (list []receipt.Batch, err error) {
	err = db.read(ctx, "a page of receipts", func(t *tx) error {
		list, err = all(t, scanBatch, unsealedAfter, after, limit)
		return err
	})
	return list, err
}
