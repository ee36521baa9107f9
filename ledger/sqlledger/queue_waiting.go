package sqlledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

var claimedBlobs = register(`SELECT ` + blobColumns + ` FROM blobs
	WHERE fence <> 0 AND fence >= ?1 AND (fence > ?1 OR id > ?2) AND state = ?3 ORDER BY fence, id LIMIT ?4`)

// Waiting returns a page of a queue, read from the indexes by which routines claim. It is
// not a snapshot: rows that are claimed or settled between two pages may be missing or
// appear twice.
func (db *DB) Waiting(ctx context.Context, q ledger.WaitingQuery) (out ledger.WaitingPage, err error) {
	if q.State != lethe.Condemned && q.State != lethe.Pending {
		return out, fmt.Errorf("ledger: no queue of what is %s", q.State)
	}
	if q.Limit <= 0 || q.Limit > ledger.MaxWaiting {
		q.Limit = ledger.MaxWaiting
	}
	err = db.read(ctx, "queue of what is "+q.State.String(), func(t *tx) error {
		w := queuePage{t: t, q: q, at: q.After}
		if err := w.run(); err != nil {
			return err
		}
		out = ledger.WaitingPage{Blobs: w.found, Next: w.at, More: !w.end}
		return nil
	})
	return out, err
}

// queuePage is a page in progress.
type queuePage struct {
	t     *tx
	q     ledger.WaitingQuery
	at    ledger.WaitingMark
	seen  int
	found []ledger.Blob
	end   bool
}

func (w *queuePage) run() error {
	if !w.at.Free && w.q.Unclaimed {
		w.free()
	}
	for !w.end && w.seen < ledger.MaxWaitingLook && len(w.found) < w.q.Limit {
		rows, err := w.rows()
		if err != nil {
			return err
		}
		w.take(rows)
	}
	return nil
}

// rows reads the next rows from the page's position.
func (w *queuePage) rows() ([]ledger.Blob, error) {
	a := w.at
	switch {
	case !a.Free:
		return all(w.t, scanBlob, claimedBlobs, a.Fence, a.ID, w.q.State, ledger.MaxWaiting)
	case w.q.State == lethe.Pending:
		return all(w.t, scanBlob, pageIntents, lethe.Forever, a.Due.Due, a.Due.Size, a.Due.Name, "", ledger.MaxWaiting)
	}
	return all(w.t, scanBlob, pageDueBlobs, a.Backend, cmp.Or(w.q.DueBy, lethe.Forever), a.Due.Due, a.Due.Size, a.Due.Name, ledger.MaxWaiting)
}

// take adds the matching rows, up to the limit, and moves on.
func (w *queuePage) take(rows []ledger.Blob) {
	for _, b := range rows {
		if len(w.found) == w.q.Limit {
			return
		}
		w.seen++
		if w.at.Free {
			w.at.Due = ledger.DueMark{Due: b.DueAt, Size: b.Size, Name: string(b.ID)}
			if w.q.State == lethe.Pending {
				w.at.Due.Due = b.BeatAt
			}
		} else {
			w.at.Fence, w.at.ID = b.Claim.Fence, b.ID
		}
		if w.q.Matches(b) {
			w.found = append(w.found, b)
		}
	}
	switch {
	case len(rows) == ledger.MaxWaiting:
	case !w.at.Free:
		w.free()
	default:
		w.next()
	}
}

// free continues with unclaimed rows.
func (w *queuePage) free() {
	w.at = ledger.WaitingMark{Free: true}
	if w.q.Claimed || w.q.ClaimedBy != "" {
		w.end = true
	} else if w.q.State == lethe.Condemned {
		w.next()
	}
}

// next continues with the next backend, if there is one.
func (w *queuePage) next() {
	i := slices.Index(w.q.Backends, w.at.Backend) + 1
	if w.q.State == lethe.Pending || i >= len(w.q.Backends) {
		w.end = true
		return
	}
	w.at = ledger.WaitingMark{Free: true, Backend: w.q.Backends[i]}
}
