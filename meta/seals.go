package meta

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/receipt"
)

const sealColumns = `seq, first_no, n, since_at, until_at, sealed_at, digest, prev, hash, dropped`

var (
	unsealedSizes = register(`SELECT id, at, n FROM receipts ORDER BY id LIMIT ?1`)
	unsealedUntil = register(`SELECT id, body FROM receipts WHERE id <= ?1 ORDER BY id`)
	unsealedAfter = register(`SELECT id, body FROM receipts WHERE id > ?1 ORDER BY id LIMIT ?2`)
	allUnsealed   = register(`SELECT id, body FROM receipts ORDER BY id`)
	unsealedSum   = register(`SELECT coalesce(sum(n), 0), coalesce(min(at), 0) FROM receipts`)
	lastSeal      = register(`SELECT ` + sealColumns + ` FROM receipt_seals ORDER BY seq DESC LIMIT 1`)
	pageSeals     = register(`SELECT ` + sealColumns + ` FROM receipt_seals WHERE seq > ?1 ORDER BY seq LIMIT ?2`)
	insertSeal    = register(`INSERT INTO receipt_seals (` + sealColumns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)`)
	insertPage    = register(`INSERT INTO receipt_pages (seq, lowest, page, n, body) VALUES (?1, ?2, ?3, ?4, ?5)`)
	takeUnsealed  = register(`DELETE FROM receipts WHERE id IN (SELECT id FROM ` + sqldb.Rows(1, "id bigint") + `)`)
	segmentPages  = register(`SELECT page, lowest, n, body FROM receipt_pages WHERE seq = ?1 ORDER BY page`)
	// Of each segment one page can hold a name's first receipt, the last that begins
	// below it; further ones begin with it. NULL: none begins below it.
	namedPages = register(`SELECT (SELECT p.body FROM receipt_pages p
			WHERE p.seq = s.seq AND p.lowest < ?1 ORDER BY p.lowest DESC, p.page DESC LIMIT 1) FROM receipt_seals s WHERE s.dropped = 0
		UNION ALL SELECT p.body FROM receipt_seals s CROSS JOIN receipt_pages p
			WHERE s.dropped = 0 AND p.seq = s.seq AND p.lowest = ?1`)
	oldestSeals = register(`SELECT ` + sealColumns + ` FROM receipt_seals WHERE dropped = 0 ORDER BY seq LIMIT ?1`)
	sealedBy    = register(`SELECT coalesce(max(seq), 0) FROM receipt_seals WHERE sealed_at <= ?1`)
	dropPages   = register(`DELETE FROM receipt_pages WHERE seq BETWEEN ?1 AND ?2`)
	keepAnchor  = register(`UPDATE receipt_seals SET dropped = 1 WHERE seq = ?1 AND dropped = 0`)
	dropSeals   = register(`DELETE FROM receipt_seals WHERE seq < ?1`)
)

// Unsealed is receipts that no seal covers yet, oldest first.
type Unsealed struct {
	Batches []receipt.Batch
	Count   int          // receipts in Batches
	Oldest  lethe.Time   // when the first of them was written; 0 if there is none
	Last    receipt.Seal // the end of the chain; zero if nothing was sealed ever
	More    bool         // there are more
	Now     lethe.Time
}

// UnsealedReceipts reads up to limit receipts that are not sealed, and the batch
// that goes beyond it.
func (db *DB) UnsealedReceipts(ctx context.Context, limit int) (out Unsealed, err error) {
	err = db.walk(ctx, "unsealed receipts", func(t *tx) error {
		out = Unsealed{Now: t.now}
		last, err := t.choose(&out, bounded(limit))
		if err != nil || out.Count == 0 {
			return err
		}
		if out.Last, err = t.lastSeal(); err != nil {
			return err
		}
		out.Batches, err = all(t, scanBatch, unsealedUntil, last)
		return err
	})
	return out, err
}

// choose finds how far a segment goes, and answers the id of its last batch.
func (t *tx) choose(out *Unsealed, limit int64) (last int64, err error) {
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
			out.More = true // perhaps; the next look finds out
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

func (t *tx) lastSeal() (receipt.Seal, error) {
	found, err := all(t, scanSeal, lastSeal)
	if err != nil || len(found) == 0 {
		return receipt.Seal{}, err
	}
	return found[0], nil
}

func scanSeal(r *sql.Rows) (s receipt.Seal, err error) {
	err = r.Scan(&s.Seq, &s.First, &s.Count, &s.Since, &s.Until, &s.SealedAt, &s.Digest, &s.Prev, &s.Hash, &s.Dropped)
	return s, err
}

// SealReceipts puts a segment at the end of the chain, in the place of the batches
// that it was cut from: ErrFenced if another one was sealed meanwhile.
func (db *DB) SealReceipts(ctx context.Context, s receipt.Segment) error {
	return db.batch(ctx, fmt.Sprintf("seal receipts as segment %d", s.Seq), func(t *tx) error {
		last, err := t.lastSeal()
		if err != nil {
			return err
		}
		if last.Seq != s.Seq-1 || last.Hash != s.Prev {
			return fmt.Errorf("the chain ends with seal %d: %w", last.Seq, lethe.ErrFenced)
		}
		type row struct {
			ID int64 `json:"id"`
		}
		taken := make([]row, len(s.Batches))
		for i, id := range s.Batches {
			taken[i].ID = id
		}
		if err := t.must(int64(len(taken)), lethe.ErrFenced, takeUnsealed, sqldb.JSON(taken)); err != nil {
			return err
		}
		if _, err := t.exec(insertSeal, s.Seq, s.First, s.Count, int64(s.Since), int64(s.Until), int64(s.SealedAt), s.Digest, s.Prev, s.Hash); err != nil {
			return err
		}
		for _, p := range s.Pages {
			if _, err := t.exec(insertPage, s.Seq, int64(p.Lowest), p.Number, p.Count, p.Body); err != nil {
				return err
			}
		}
		return nil
	})
}

// DropReceipts drops up to limit of the oldest segments whose receipts are all
// older than keep, and answers how many segments went. The seal of the last of
// them stays: what follows is chained to it.
func (db *DB) DropReceipts(ctx context.Context, keep time.Duration, limit int) (n int, err error) {
	err = db.batch(ctx, "drop old receipts", func(t *tx) error {
		n = 0
		list, err := all(t, scanSeal, oldestSeals, bounded(limit))
		if err != nil {
			return err
		}
		old, reach := t.now.Add(-keep), int64(0)
		if len(list) > 0 && lethe.Time(list[0].Until) > t.now {
			// The clock was ahead and was set back: they are at least as old as the last seal
			// that was made with the right one.
			if err := t.row(sealedBy, old).Scan(&reach); err != nil {
				return t.failed(err)
			}
		}
		for n < len(list) && (lethe.Time(list[n].Until) <= old || list[n].Seq <= reach) {
			n++
		}
		if n == 0 {
			return nil
		}
		last := list[n-1].Seq
		if _, err := t.exec(dropPages, list[0].Seq, last); err != nil {
			return err
		}
		if err := t.must(1, lethe.ErrFenced, keepAnchor, last); err != nil {
			return err
		}
		_, err = t.exec(dropSeals, last)
		return err
	})
	return n, err
}

// Receipts answers what is kept of things that went, by what they are looked up
// by, sealed or not, in the order in which they went. It reads a page of each
// segment, and all that is not sealed.
func (db *DB) Receipts(ctx context.Context, names ...receipt.Name) (out []receipt.Receipt, err error) {
	err = db.read(ctx, "look for receipts", func(t *tx) error {
		out = nil
		wanted := func(r receipt.Receipt) bool { return slices.Contains(names, r.Name()) }
		if err := t.unsealed(&out, wanted); err != nil {
			return err
		}
		for _, name := range names {
			find := func(body []byte) ([]receipt.Receipt, error) { return receipt.Search(body, name) }
			if err := t.receipts(&out, find, namedPages, int64(name)); err != nil {
				return err
			}
		}
		return nil
	})
	receipt.Sort(out)
	return out, err
}

// unsealed adds the wanted ones of what no seal covers. It keeps no batch while it
// reads the next.
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

// receipts adds what is read of each body that a query answers. It keeps no body
// while it reads the next.
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

// Seals pages through the chain.
func (db *DB) Seals(ctx context.Context, after int64, limit int) (seals []receipt.Seal, err error) {
	err = db.read(ctx, "seals", func(t *tx) error {
		seals, err = all(t, scanSeal, pageSeals, after, bounded(limit))
		return err
	})
	return seals, err
}

// ReceiptHead answers the end of the chain; the zero value if nothing is sealed.
func (db *DB) ReceiptHead(ctx context.Context) (h receipt.Head, err error) {
	err = db.read(ctx, "head of the receipts", func(t *tx) error {
		s, err := t.lastSeal()
		h = s.Head()
		return err
	})
	return h, err
}

// ReceiptPages reads a segment; none if it was dropped.
func (db *DB) ReceiptPages(ctx context.Context, seq int64) (pages []receipt.Page, err error) {
	err = db.read(ctx, "a segment of receipts", func(t *tx) error {
		pages, err = all(t, func(r *sql.Rows) (p receipt.Page, err error) {
			err = r.Scan(&p.Number, &p.Lowest, &p.Count, &p.Body)
			return p, err
		}, segmentPages, seq)
		return err
	})
	return pages, err
}

// UnsealedPage reads up to limit batches of receipts that no seal covers, in the
// order of their ids, from the first whose id is above after. A transaction that
// ends later than another one may have the lower id.
func (db *DB) UnsealedPage(ctx context.Context, after int64, limit int) (batches []receipt.Batch, err error) {
	err = db.read(ctx, "a page of receipts", func(t *tx) error {
		batches, err = all(t, scanBatch, unsealedAfter, after, bounded(limit))
		return err
	})
	return batches, err
}

// Sealing says when receipts are to be sealed: at once if they are worth a segment,
// else when the oldest has waited. The zero value: at once.
type Sealing struct {
	Worth int64
	After time.Duration
}

// Backlog is that of receipts of which none is sealed, the first since a time.
func (s Sealing) Backlog(n int64, since, now lethe.Time) Backlog {
	switch end := since.Add(s.After); {
	case n == 0:
		return Backlog{}
	case n < s.Worth && end > now:
		return Backlog{Scheduled: n, NextDue: end}
	case n < s.Worth:
		return Backlog{Count: n, Oldest: end}
	}
	return Backlog{Count: n, Oldest: since}
}

// ReceiptBacklog counts the receipts that are not sealed.
func (db *DB) ReceiptBacklog(ctx context.Context, s Sealing) (b Backlog, err error) {
	err = db.read(ctx, "receipt backlog", func(t *tx) error {
		var n int64
		var since lethe.Time
		err := t.failed(t.row(unsealedSum).Scan(&n, &since))
		b = s.Backlog(n, since, t.now)
		return err
	})
	return b, err
}

var everyPage = register(`SELECT body FROM receipt_pages ORDER BY seq, page`)

// allReceipts reads every receipt, for a snapshot.
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
