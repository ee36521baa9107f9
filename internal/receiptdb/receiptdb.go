// Package receiptdb stores a chain of receipts in a database: the seals of its
// segments, and their pages. Unsealed receipts are not here. The ledger and
// adoption both have a chain, in the tables receipt_seals and receipt_pages
// with the prefix {lethe}.
package receiptdb

import (
	"database/sql"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/receipt"
)

const (
	columns    = `seq, first_no, n, since_at, until_at, sealed_at, digest, prev, hash, dropped`
	lastSeal   = `SELECT ` + columns + ` FROM {lethe}receipt_seals ORDER BY seq DESC LIMIT 1`
	pageSeals  = `SELECT ` + columns + ` FROM {lethe}receipt_seals WHERE seq > ?1 ORDER BY seq LIMIT ?2`
	insertSeal = `INSERT INTO {lethe}receipt_seals (` + columns + `) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0)`
	// InsertPage adds a page to a segment.
	InsertPage = `INSERT INTO {lethe}receipt_pages (seq, lowest, page, n, body) VALUES (?1, ?2, ?3, ?4, ?5)`
	// PagesOf reads the pages of a segment.
	PagesOf = `SELECT page, lowest, n, body FROM {lethe}receipt_pages WHERE seq = ?1 ORDER BY page`
	// NamedPages: of each segment one page can have a name's first receipt, the
	// last that begins below it; further ones begin with it. NULL: none begins
	// below it.
	NamedPages = `SELECT (SELECT p.body FROM {lethe}receipt_pages p
			WHERE p.seq = s.seq AND p.lowest < ?1 ORDER BY p.lowest DESC, p.page DESC LIMIT 1) FROM {lethe}receipt_seals s WHERE s.dropped = 0
		UNION ALL SELECT p.body FROM {lethe}receipt_seals s CROSS JOIN {lethe}receipt_pages p
			WHERE s.dropped = 0 AND p.seq = s.seq AND p.lowest = ?1`
	oldestSeals = `SELECT ` + columns + ` FROM {lethe}receipt_seals WHERE dropped = 0 ORDER BY seq LIMIT ?1`
	sealedBy    = `SELECT coalesce(max(seq), 0) FROM {lethe}receipt_seals WHERE sealed_at <= ?1`
	// DropPages removes the pages of segments, from one to another.
	DropPages  = `DELETE FROM {lethe}receipt_pages WHERE seq BETWEEN ?1 AND ?2`
	keepAnchor = `UPDATE {lethe}receipt_seals SET dropped = 1 WHERE seq = ?1 AND dropped = 0`
	dropSeals  = `DELETE FROM {lethe}receipt_seals WHERE seq < ?1`
)

// Statements are all texts of this package, to prepare or explain them.
var Statements = []string{lastSeal, pageSeals, insertSeal, InsertPage, PagesOf, NamedPages, oldestSeals, sealedBy, DropPages, keepAnchor, dropSeals}

// Tx is a transaction of the database.
type Tx struct {
	Exec  func(query string, args ...any) (int64, error)
	Query func(query string, args ...any) (*sql.Rows, error)
	Now   lethe.Time
}

func all[T any](t Tx, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	rows, err := t.Query(query, args...)
	if err != nil {
		return nil, err
	}
	return sqldb.Collect(rows, scan)
}

func scanSeal(r *sql.Rows) (s receipt.Seal, err error) {
	err = r.Scan(&s.Seq, &s.First, &s.Count, &s.Since, &s.Until, &s.SealedAt, &s.Digest, &s.Prev, &s.Hash, &s.Dropped)
	return s, err
}

// Last returns the end of the chain; zero if nothing is sealed.
func (t Tx) Last() (receipt.Seal, error) {
	found, err := all(t, scanSeal, lastSeal)
	if err != nil || len(found) == 0 {
		return receipt.Seal{}, err
	}
	return found[0], nil
}

// Seals pages through the chain.
func (t Tx) Seals(after, limit int64) ([]receipt.Seal, error) {
	return all(t, scanSeal, pageSeals, after, limit)
}

// Pages reads a segment; it is empty if it was dropped.
func (t Tx) Pages(seq int64) ([]receipt.Page, error) {
	return all(t, func(r *sql.Rows) (p receipt.Page, err error) {
		err = r.Scan(&p.Number, &p.Lowest, &p.Count, &p.Body)
		return p, err
	}, PagesOf, seq)
}

// Find returns what is sealed with a name. It keeps no page while it reads the
// next.
func (t Tx) Find(name receipt.Name) (out []receipt.Receipt, err error) {
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		body, err := sqldb.One[[]byte](r)
		if err != nil {
			return none, err
		}
		list, err := receipt.Search(body, name)
		out = append(out, list...)
		return none, err
	}, NamedPages, int64(name))
	return out, err
}

// Seal appends a segment to the chain, once take has removed the batches that
// it was made of. It fails with ErrFenced if another one was sealed meanwhile.
func (t Tx) Seal(s receipt.Segment, take func() error) error {
	last, err := t.Last()
	if err != nil {
		return err
	}
	if last.Seq != s.Seq-1 || last.Hash != s.Prev {
		return fmt.Errorf("the chain ends with seal %d: %w", last.Seq, lethe.ErrFenced)
	}
	if err := take(); err != nil {
		return err
	}
	if _, err := t.Exec(insertSeal, s.Seq, s.First, s.Count, int64(s.Since), int64(s.Until), int64(s.SealedAt), s.Digest, s.Prev, s.Hash); err != nil {
		return err
	}
	for _, p := range s.Pages {
		if _, err := t.Exec(InsertPage, s.Seq, int64(p.Lowest), p.Number, p.Count, p.Body); err != nil {
			return err
		}
	}
	return nil
}

// Drop deletes up to limit of the oldest segments whose receipts are all older
// than keep, and returns how many. The last of their seals stays: the next one
// is chained to it. It fails with ErrFenced on a concurrent drop.
func (t Tx) Drop(keep time.Duration, limit int64) (n int, err error) {
	list, err := all(t, scanSeal, oldestSeals, limit)
	if err != nil {
		return 0, err
	}
	old, reach := t.Now.Add(-keep), int64(0)
	if len(list) > 0 && lethe.Time(list[0].Until) > t.Now {
		// The clock was ahead and was set back: they are at least as old as the
		// last seal made with the right one.
		found, err := all(t, sqldb.One[int64], sealedBy, old)
		if err != nil {
			return 0, err
		}
		reach = found[0]
	}
	for n < len(list) && (lethe.Time(list[n].Until) <= old || list[n].Seq <= reach) {
		n++
	}
	if n == 0 {
		return 0, nil
	}
	last := list[n-1].Seq
	if _, err := t.Exec(DropPages, list[0].Seq, last); err != nil {
		return 0, err
	}
	kept, err := t.Exec(keepAnchor, last)
	if err == nil && kept != 1 {
		err = lethe.ErrFenced
	}
	if err != nil {
		return 0, err
	}
	_, err = t.Exec(dropSeals, last)
	return n, err
}
