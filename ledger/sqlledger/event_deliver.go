package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const eventColumns = `no, target, at, body, attempts, last_error, due_at, dead`

var (
	anyEvent = register(`SELECT 1 FROM events WHERE target = ?1 AND dead = 0 AND due_at <= ?2 LIMIT 1`)
	// The row of the target is locked first, so that claims of a target follow each other:
	// of two at once, the second would pass over what the first has locked, and take what
	// comes after it.
	lockTarget  = register(`SELECT failures, rest_until FROM event_targets WHERE name = ?1 ` + sqldb.Exclusive)
	claimEvents = register(`WITH due AS MATERIALIZED (
			SELECT e.no FROM events e WHERE e.target = ?1 AND e.dead = 0 AND e.due_at <= ?2 AND NOT EXISTS (
				SELECT 1 FROM events f WHERE f.bucket_id = e.bucket_id AND f.key = e.key AND f.target = e.target
					AND f.dead = 0 AND f.no < e.no AND f.due_at > ?2)
			ORDER BY e.no LIMIT ?3)
		UPDATE events SET worker = ?4, fence = ?5, due_at = ?6 FROM due WHERE events.no = due.no
		RETURNING ` + qualified("events", eventColumns))
	deliveredEvents = register(`DELETE FROM events
		WHERE no IN (SELECT no FROM ` + sqldb.Rows(1, "no bigint") + `) AND target = ?2 AND fence = ?3 AND fence <> 0 AND dead = 0`)
	// Hidden from the index of targets: SQLite would read a target's whole queue, and the parameter for each.
	keptEvents = register(`UPDATE events SET due_at = t.due, dead = t.dead, attempts = attempts + t.tries,
			last_error = CASE WHEN t.error = '' THEN last_error ELSE t.error END, worker = '', fence = 0
		FROM ` + sqldb.Rows(1, "no bigint", "due bigint", "dead bigint", "tries bigint", "error text") + `
		WHERE events.no = t.no AND events.target || '' = ?2 AND events.fence = ?3 AND events.fence <> 0 AND events.dead = 0 RETURNING events.no`)
	targetReached = register(`UPDATE event_targets SET delivered = delivered + ?2, failures = 0, failing_since = 0, rest_until = ?3 WHERE name = ?1`)
	targetFailed  = register(`UPDATE event_targets SET failures = failures + 1, rest_until = ?2, last_error = ?3,
			failing_since = CASE WHEN failing_since = 0 THEN ?4 ELSE failing_since END WHERE name = ?1`)
)

// ClaimEvents claims events of a target that are due, oldest first, and of each key only as
// its next ones. A claim that has ended is taken over. A target that rests, or does not
// exist, has none; of one that was not reached, one is claimed.
func (db *DB) ClaimEvents(ctx context.Context, c ledger.EventClaim) (out ledger.ClaimedEvents, err error) {
	err = db.batch(ctx, "claim events of "+c.Target, func(t *tx) error {
		out = ledger.ClaimedEvents{Now: t.Now}
		if found, err := t.exists(anyEvent, c.Target, t.Now); err != nil || !found {
			return err
		}
		to, found, err := t.lockTarget(c.Target)
		if err != nil || !found || to.RestUntil > t.Now {
			return err
		}
		out.Failures = to.Failures
		limit := bounded(c.Limit)
		if out.Failures > 0 && to.RestUntil > 0 { // else it answered, and what comes after that is not held up
			limit = 1
		}
		if out.Fence, err = t.newFence(); err != nil {
			return err
		}
		out.Events, err = all(t, scanEvent, claimEvents, c.Target, t.Now, limit, c.Worker, out.Fence, t.Now.Add(c.Lease))
		slices.SortFunc(out.Events, func(a, b ledger.Event) int { return cmp.Compare(a.No, b.No) })
		return err
	})
	return out, err
}

func scanEvent(r *sql.Rows) (e ledger.Event, err error) {
	var body string
	if err = r.Scan(&e.No, &e.Target, &e.At, &body, &e.Attempts, &e.LastError, &e.DueAt, &e.Dead); err != nil {
		return e, err
	}
	if err := json.Unmarshal([]byte(body), &e.Event); err != nil {
		return e, fmt.Errorf("event %d: %w (%w)", e.No, lethe.ErrCorrupt, err)
	}
	return e, nil
}

// keptEvent is the new values of an event that stays.
type keptEvent struct {
	No    int64      `json:"no"`
	Due   lethe.Time `json:"due"`
	Dead  int        `json:"dead"`
	Tries int        `json:"tries"`
	Error string     `json:"error"`
}

// eventNumber names a row of events as a parameter.
type eventNumber struct {
	No int64 `json:"no"`
}

func eventNumbers(list []int64) string {
	rows := make([]eventNumber, len(list))
	for i, no := range list {
		rows[i].No = no
	}
	return sqldb.JSON(rows)
}

// SettleEvents records what became of claimed events, and how the target fares. Events that
// were claimed anew meanwhile are left alone and counted as fenced.
func (db *DB) SettleEvents(ctx context.Context, s ledger.EventSettlement) (out ledger.EventsSettled, err error) {
	err = db.batch(ctx, "settle events of "+s.Target, func(t *tx) error {
		out, err = t.settleEvents(s)
		return err
	})
	return out, err
}

func (t *tx) settleEvents(s ledger.EventSettlement) (out ledger.EventsSettled, err error) {
	if _, _, err := t.lockTarget(s.Target); err != nil {
		return out, err
	}
	var delivered []int64
	var kept []keptEvent
	for _, r := range s.Results {
		k := keptEvent{No: r.No, Due: t.Now, Error: cleanText(r.Error)}
		switch r.Outcome {
		case ledger.EventDelivered:
			delivered = append(delivered, r.No)
			continue
		case ledger.EventFailed:
			k.Due, k.Tries = r.RetryAt, 1
		case ledger.EventDead:
			k.Dead, k.Tries = 1, 1
		}
		kept = append(kept, k)
	}
	gone, err := t.Exec(deliveredEvents, eventNumbers(delivered), s.Target, s.Fence)
	if err != nil {
		return out, err
	}
	stay, err := all(t, sqldb.One[int64], keptEvents, sqldb.JSON(kept), s.Target, s.Fence)
	if err != nil {
		return out, err
	}
	out.Delivered = int(gone)
	why := out.Count(s.Results, func(no int64) bool { return slices.Contains(stay, no) })
	switch {
	case gone > 0:
		_, err = t.Send(targetReached, s.Target, gone, s.RestUntil)
	case out.Failed+out.Dead > 0:
		_, err = t.Send(targetFailed, s.Target, s.RestUntil, cleanText(why), t.Now)
	}
	return out, err
}

// lockTarget locks the row of a target until the transaction ends.
func (t *tx) lockTarget(name string) (to ledger.EventTarget, found bool, err error) {
	err = t.Row(lockTarget, name).Scan(&to.Failures, &to.RestUntil)
	if errors.Is(err, sql.ErrNoRows) {
		return to, false, nil
	}
	return to, err == nil, t.Failed(err)
}
