package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const claimedColumns = `b.id, b.backend, b.size, b.died_at, b.late_until, b.due_at, b.claimed_at, coalesce(b.content_id, ''), b.reason, b.block`

var (
	// CROSS JOIN makes SQLite read the parameter first, and then look each row up.
	// The sums keep PostgreSQL from the index of claims. With it, each claimed row was
	// compared with each row of the parameter, which took most of the time.
	claimedRows = registerBoth(`SELECT `+claimedColumns+` FROM `+sqldb.IDs(1)+` CROSS JOIN blobs b
		WHERE b.id = t.id AND b.state = 3 AND b.fence = ?2 AND b.fence <> 0`,
		`SELECT `+claimedColumns+` FROM blobs b WHERE b.id `+sqldb.In(1)+` AND b.state = 3 AND b.fence + 0 = ?2 AND b.fence <> 0 `+sqldb.Exclusive)
	removeGone = register(`DELETE FROM blobs
		WHERE id ` + sqldb.In(1) + ` AND state = 3 AND fence + 0 = ?2`)
	setRest = `UPDATE blobs SET state = t.state, attempts = attempts + t.tries, due_at = t.due,
			last_error = CASE WHEN t.error = '' THEN last_error ELSE t.error END,
			worker = '', fence = 0, claimed_at = 0
		FROM ` + sqldb.Rows(1, "id text", "state bigint", "tries bigint", "due bigint", "error text") + `
		WHERE blobs.id = t.id AND blobs.state = 3 AND blobs.fence + 0 = ?2`
	settleRest = registerBoth(setRest, setRest+` AND blobs.id = ANY(ARRAY(SELECT id FROM `+sqldb.Rows(1, "id text")+`))`)
)

// condemnedRow is what Settle needs of a claimed row.
type condemnedRow struct {
	id                     lethe.ID
	backend                string
	size                   int64
	diedAt, lateUntil, due lethe.Time
	claimedAt              lethe.Time // the delete was issued then or later
	content                lethe.ID
	reason                 lethe.Reason
	block                  int64
}

// settleRow is the new values of a row that stays.
type settleRow struct {
	ID    lethe.ID    `json:"id"`
	State lethe.State `json:"state"`
	Tries int         `json:"tries"`
	Due   lethe.Time  `json:"due"`
	Error string      `json:"error"`
}

// Settle records the results of a claimed batch. A row with another fence, taken over
// meanwhile, is counted as Fenced and left alone.
func (db *DB) Settle(ctx context.Context, s ledger.Settlement) (out ledger.Settled, err error) {
	err = db.batch(ctx, "settle", func(t *tx) error {
		p := settling{out: ledger.Settled{Now: t.Now}, t: t}
		if err := p.sort(s); err != nil {
			return err
		}
		if err := p.apply(s.Fence); err != nil {
			return err
		}
		out = p.out
		return nil
	})
	return out, err
}

// settling sorts a settlement's items into rows removed and rows that stay.
type settling struct {
	t    *tx
	out  ledger.Settled
	gone []lethe.ID
	sums []lethe.ID // removed blobs that have sums of blocks
	rest []settleRow
}

func (p *settling) sort(s ledger.Settlement) error {
	claimed, err := p.t.claimedRows(s)
	if err != nil {
		return err
	}
	for _, item := range s.Items {
		row, ok := claimed[item.ID]
		if !ok {
			p.out.Fenced++
			continue
		}
		delete(claimed, item.ID)
		if err := p.item(item, row); err != nil {
			return err
		}
	}
	return nil
}

// claimedRows returns the rows of the settlement that still carry its fence.
func (t *tx) claimedRows(s ledger.Settlement) (map[lethe.ID]condemnedRow, error) {
	names := make([]lethe.ID, len(s.Items))
	for i, item := range s.Items {
		names[i] = item.ID
	}
	list, err := all(t, func(r *sql.Rows) (c condemnedRow, err error) {
		err = r.Scan(&c.id, &c.backend, &c.size, &c.diedAt, &c.lateUntil, &c.due, &c.claimedAt, &c.content, &c.reason, &c.block)
		return c, err
	}, claimedRows.of(t), sqldb.JSON(names), s.Fence)
	claimed := make(map[lethe.ID]condemnedRow, len(list))
	for _, row := range list {
		claimed[row.id] = row
	}
	return claimed, err
}

// item decides about one row that is still claimed. Bytes that may land late are gone for
// good only if the delete was issued, hence claimed, after the late window.
func (p *settling) item(item ledger.SettleItem, row condemnedRow) error {
	next := settleRow{ID: row.id, State: lethe.Condemned, Due: item.RetryAt, Error: cleanText(item.Error)}
	switch item.Result {
	case ledger.Gone, ledger.Absent:
		if row.lateUntil <= row.claimedAt {
			p.remove(row, item.Result)
			return nil
		}
		next.Due = row.lateUntil
		p.out.Kept++
	case ledger.Waits:
		p.out.Retried++
	case ledger.Failed:
		next.Tries = 1
		if !item.Dead {
			p.out.Retried++
			break
		}
		next.State, next.Due = lethe.Dead, row.due
		p.t.counts.move(ledger.Move{Backend: row.backend, From: lethe.Condemned, To: lethe.Dead, Reason: moveAttempts, Blobs: 1, Bytes: row.size})
		p.out.Dead++
	default:
		return fmt.Errorf("blob %s has no valid result (%d)", item.ID, item.Result)
	}
	p.rest = append(p.rest, next)
	return nil
}

// remove removes a row whose bytes are confirmed gone.
func (p *settling) remove(row condemnedRow, how ledger.Result) {
	p.gone = append(p.gone, row.id)
	if row.block > 0 {
		p.sums = append(p.sums, row.id)
	}
	p.t.goneBytes(ledger.Blob{ID: row.id, Backend: row.backend, Size: row.size, ContentID: row.content, Reason: row.reason}, left[how])
	p.t.counts.move(ledger.Move{Backend: row.backend, From: lethe.Condemned, To: 0, Reason: moveConfirmed, Blobs: 1, Bytes: row.size})
	p.out.Gone++
	p.out.GoneBytes += row.size
	p.out.DiedAt = append(p.out.DiedAt, row.diedAt)
}

func (p *settling) apply(fence int64) error {
	if len(p.gone) > 0 {
		err := p.t.KeepChecks(len(p.gone), func() error {
			return p.t.Must(int64(len(p.gone)), lethe.ErrFenced, removeGone, sqldb.JSON(p.gone), fence)
		})
		if err = cmp.Or(err, p.t.dropBlocks(p.sums)); err != nil {
			return err
		}
	}
	if len(p.rest) == 0 {
		return nil
	}
	return p.t.Must(int64(len(p.rest)), lethe.ErrFenced, settleRest.of(p.t), sqldb.JSON(p.rest), fence)
}
