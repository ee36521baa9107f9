package sqlledger

import (
	"context"
	"database/sql"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	eventTargets = register(`SELECT t.name,
			(SELECT count(*) FROM events e WHERE e.target = t.name AND e.dead = 0),
			(SELECT count(*) FROM events e WHERE e.target = t.name AND e.dead = 1),
			coalesce((SELECT e.at FROM events e WHERE e.target = t.name AND e.dead = 0 ORDER BY e.no LIMIT 1), 0),
			t.lost, t.delivered, t.failures, t.failing_since, t.last_error, t.rest_until
		FROM event_targets t ORDER BY t.name`)
	pageEvents = register(`SELECT ` + eventColumns + ` FROM events WHERE target = ?1 AND dead = ?2 AND no > ?3 ORDER BY no LIMIT ?4`)

	requeueEvents = register(`UPDATE events SET dead = 0, attempts = 0, due_at = at
		WHERE target = ?1 AND dead = 1 AND no IN (SELECT no FROM ` + sqldb.Rows(2, "no bigint") + `)`)
	requeueAllEvents = register(`UPDATE events SET dead = 0, attempts = 0, due_at = at WHERE target = ?1 AND dead = 1`)
	dropEvents       = register(`DELETE FROM events
		WHERE target = ?1 AND dead = 1 AND no IN (SELECT no FROM ` + sqldb.Rows(2, "no bigint") + `)`)
	dropAllEvents = register(`DELETE FROM events WHERE target = ?1 AND dead = 1`)

	countEvents = register(`SELECT count(*) FROM (SELECT 1 FROM events WHERE target = ?1 LIMIT ?2) AS found`)
	trimEvents  = register(`DELETE FROM events WHERE no IN (
		SELECT no FROM events WHERE target = ?1 AND (fence = 0 OR due_at <= ?3) ORDER BY dead DESC, no LIMIT ?2)`)
	countLost = register(`UPDATE event_targets SET lost = lost + ?2 WHERE name = ?1`)
)

// EventTargets returns the state of every target that a bucket has named, by name.
func (db *DB) EventTargets(ctx context.Context) (list []ledger.EventTarget, err error) {
	err = db.read(ctx, "targets of events", func(t *tx) error {
		list, err = all(t, func(r *sql.Rows) (e ledger.EventTarget, err error) {
			err = r.Scan(&e.Name, &e.Waiting, &e.Dead, &e.Oldest, &e.Lost, &e.Delivered, &e.Failures, &e.FailingSince, &e.LastError, &e.RestUntil)
			return e, err
		}, eventTargets)
		return err
	})
	return list, err
}

// Events returns a page of the events of a target that wait, or were given up.
func (db *DB) Events(ctx context.Context, q ledger.EventQuery) (list []ledger.Event, err error) {
	err = db.read(ctx, "events of "+q.Target, func(t *tx) error {
		list, err = all(t, scanEvent, pageEvents, q.Target, flag(q.Dead), q.After, bounded(q.Limit))
		return err
	})
	return list, err
}

// RequeueEvents has dead letters delivered again, and returns how many.
func (db *DB) RequeueEvents(ctx context.Context, s ledger.EventSelection) (int, error) {
	return db.deadEvents(ctx, "requeue", s, requeueEvents, requeueAllEvents)
}

// DropEvents removes dead letters, and returns how many.
func (db *DB) DropEvents(ctx context.Context, s ledger.EventSelection) (int, error) {
	return db.deadEvents(ctx, "drop", s, dropEvents, dropAllEvents)
}

func (db *DB) deadEvents(ctx context.Context, what string, s ledger.EventSelection, some, every string) (int, error) {
	var n int64
	err := db.write(ctx, what+" events of "+s.Target, func(t *tx) (err error) {
		if _, _, err := t.lockTarget(s.Target); err != nil {
			return err
		}
		if s.Numbers == nil {
			n, err = t.Exec(every, s.Target)
		} else {
			n, err = t.Exec(some, s.Target, eventNumbers(s.Numbers))
		}
		return err
	})
	return int(n), err
}

// TrimEvents removes up to a batch of what a target has beyond its bound: dead letters, then
// what waits longest and is not being sent. It returns how many, and counts them as lost.
func (db *DB) TrimEvents(ctx context.Context, trim ledger.EventTrim) (lost int64, err error) {
	err = db.batch(ctx, "drop events of "+trim.Target, func(t *tx) error {
		lost = 0
		if _, _, err := t.lockTarget(trim.Target); err != nil {
			return err
		}
		var n int64
		err := t.Row(countEvents, trim.Target, trim.Most+bounded(trim.Limit)).Scan(&n)
		if err != nil || n <= trim.Most {
			return t.Failed(err)
		}
		if lost, err = t.Exec(trimEvents, trim.Target, n-trim.Most, t.Now); err == nil {
			_, err = t.Send(countLost, trim.Target, lost)
		}
		return err
	})
	return lost, err
}
