package meta

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe"
)

// WaitingQuery pages through what waits in a queue: condemned blobs that are to be
// deleted, or intents of writes under way. What is claimed comes first, by claim,
// oldest first; then what is not: condemned blobs by backend, due time and size,
// intents by their last sign of life. What is not set filters nothing.
type WaitingQuery struct {
	State       lethe.State // Condemned or Pending
	Backends    []string    // on these, in this order; condemned blobs need them
	Claimed     bool        // only what is claimed
	Unclaimed   bool        // only what is not
	ClaimedBy   string      // how the name of the worker begins
	DueBy       lethe.Time  // condemned, and due then or before
	DueAfter    lethe.Time  // condemned, and due later
	Since       lethe.Time  // condemned, or silent if it is an intent, then or before
	BeatAfter   lethe.Time  // an intent, and its writer showed itself later
	MinAttempts int
	Reason      lethe.Reason
	After       WaitingMark
	Limit       int // rows of a page: 1 to MaxWaiting, which is the default
}

// WaitingMark is a place in that order; the zero one is the beginning.
type WaitingMark struct {
	Fence   int64 // of the last claimed row; 0 once those are through
	ID      lethe.ID
	Free    bool   // among what is not claimed
	Backend string // condemned blobs
	Due     DueMark
}

// WaitingPage is a page of a queue. It may be shorter than its limit, or empty, while
// More says that it goes on at Next: a page looks at MaxWaitingLook rows at most.
type WaitingPage struct {
	Blobs []Blob
	Next  WaitingMark
	More  bool
}

// MaxWaiting is how many rows a page has at most, MaxWaitingLook about how many are
// looked at for one.
const (
	MaxWaiting     = 1000
	MaxWaitingLook = 10_000
)

var claimedBlobs = register(`SELECT ` + blobColumns + ` FROM blobs
	WHERE fence <> 0 AND fence >= ?1 AND (fence > ?1 OR id > ?2) AND state = ?3 ORDER BY fence, id LIMIT ?4`)

// Waiting answers a page of a queue, read from the indexes by which the routines
// claim. It is no snapshot: what is claimed or settled between two pages may be left
// out or told twice.
func (db *DB) Waiting(ctx context.Context, q WaitingQuery) (out WaitingPage, err error) {
	if q.State != lethe.Condemned && q.State != lethe.Pending {
		return out, fmt.Errorf("meta: no queue of what is %s", q.State)
	}
	if q.Limit <= 0 || q.Limit > MaxWaiting {
		q.Limit = MaxWaiting
	}
	err = db.read(ctx, "queue of what is "+q.State.String(), func(t *tx) error {
		w := queuePage{t: t, q: q, at: q.After}
		if err := w.run(); err != nil {
			return err
		}
		out = WaitingPage{Blobs: w.found, Next: w.at, More: !w.end}
		return nil
	})
	return out, err
}

// queuePage is a page in the making.
type queuePage struct {
	t     *tx
	q     WaitingQuery
	at    WaitingMark
	seen  int
	found []Blob
	end   bool
}

func (w *queuePage) run() error {
	if !w.at.Free && w.q.Unclaimed {
		w.free()
	}
	for !w.end && w.seen < MaxWaitingLook && len(w.found) < w.q.Limit {
		rows, err := w.rows()
		if err != nil {
			return err
		}
		w.take(rows)
	}
	return nil
}

// rows reads the next rows from where the page has come to.
func (w *queuePage) rows() ([]Blob, error) {
	a := w.at
	switch {
	case !a.Free:
		return all(w.t, scanBlob, claimedBlobs, a.Fence, a.ID, w.q.State, MaxWaiting)
	case w.q.State == lethe.Pending:
		return all(w.t, scanBlob, pageIntents, lethe.Forever, a.Due.Due, a.Due.Size, a.Due.Name, "", MaxWaiting)
	}
	return all(w.t, scanBlob, pageDueBlobs, a.Backend, cmp.Or(w.q.DueBy, lethe.Forever), a.Due.Due, a.Due.Size, a.Due.Name, MaxWaiting)
}

// take adds those of the rows that are asked for, up to the limit, and moves on.
func (w *queuePage) take(rows []Blob) {
	for _, b := range rows {
		if len(w.found) == w.q.Limit {
			return
		}
		w.seen++
		if w.at.Free {
			w.at.Due = DueMark{Due: b.DueAt, Size: b.Size, Name: string(b.ID)}
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
	case len(rows) == MaxWaiting:
	case !w.at.Free:
		w.free()
	default:
		w.next()
	}
}

// free goes on with what is not claimed.
func (w *queuePage) free() {
	w.at = WaitingMark{Free: true}
	if w.q.Claimed || w.q.ClaimedBy != "" {
		w.end = true
	} else if w.q.State == lethe.Condemned {
		w.next()
	}
}

// next goes on with the next backend, if there is one.
func (w *queuePage) next() {
	i := slices.Index(w.q.Backends, w.at.Backend) + 1
	if w.q.State == lethe.Pending || i >= len(w.q.Backends) {
		w.end = true
		return
	}
	w.at = WaitingMark{Free: true, Backend: w.q.Backends[i]}
}

// wants says that a row meets all filters.
func (q WaitingQuery) Matches(b Blob) bool {
	since := b.DiedAt
	if q.State == lethe.Pending {
		since = b.BeatAt
	}
	return (len(q.Backends) == 0 || slices.Contains(q.Backends, b.Backend)) &&
		strings.HasPrefix(b.Claim.Worker, q.ClaimedBy) &&
		(q.DueBy == 0 || b.DueAt <= q.DueBy) && (q.DueAfter == 0 || b.DueAt > q.DueAfter) &&
		(q.Since == 0 || since <= q.Since) && (q.BeatAfter == 0 || b.BeatAt > q.BeatAfter) &&
		b.Attempts >= q.MinAttempts && (q.Reason == "" || b.Reason == q.Reason)
}
