package sqladopt

import (
	"context"
	"database/sql"
	"time"

	"github.com/lethe-storage/lethe"
)

// Work is what an instance works on for one collection; what it does not have is empty.
type Work struct {
	Collection string
	Place      string // bucket and prefix of the objects
	Quarantine string // the same of their quarantine
	Table      string // from which it takes rows
}

// WorkOf is the work of an instance, which counts as running or does not any more.
type WorkOf struct {
	Work
	Worker string
	Alive  bool
}

const (
	dropWork   = `DELETE FROM {lethe}at_work WHERE worker = ?1 AND collection = ?2`
	insertWork = `INSERT INTO {lethe}at_work (worker, collection, place, quarantine, row_table, at, alive) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)`
	restWork   = `UPDATE {lethe}at_work SET alive = 0 WHERE worker = ?1 AND collection = ?2`
	beatWork   = `UPDATE {lethe}at_work SET at = ?2, alive = ?3 WHERE alive > 0 AND worker = (SELECT worker FROM {lethe}runs WHERE id = ?1)`
	pruneWork  = `DELETE FROM {lethe}at_work WHERE at < ?1`
	listWork   = `SELECT worker, collection, place, quarantine, row_table, alive FROM {lethe}at_work WHERE at >= ?1 ORDER BY collection, worker`
)

const (
	// WorkKept is how long the record of an instance's work stays after its last heartbeat.
	WorkKept = time.Hour
	// WorkAlive is how long after it an instance counts as running.
	WorkAlive = 5 * time.Minute
)

// BeginWork records what an instance works on. It is to call this again before WorkAlive is
// over; heartbeats of its runs count as that.
func (db *DB) BeginWork(ctx context.Context, worker string, works []Work) error {
	return db.write(ctx, "record what is worked on", func(t *tx) error {
		if _, err := t.exec(pruneWork, t.now.Add(-WorkKept)); err != nil { // first: it may wait for others
			return err
		}
		for _, w := range works {
			if _, err := t.exec(dropWork, worker, w.Collection); err != nil {
				return err
			}
			if _, err := t.exec(insertWork, worker, w.Collection, w.Place, w.Quarantine, w.Table, t.now, t.now.Add(WorkAlive)); err != nil {
				return err
			}
		}
		return nil
	})
}

// RestWork records that an instance works on collections no more, and may have a moment ago.
func (db *DB) RestWork(ctx context.Context, worker string, collections []string) error {
	return db.endWork(ctx, restWork, worker, collections)
}

// DropWork forgets that an instance worked on collections.
func (db *DB) DropWork(ctx context.Context, worker string, collections []string) error {
	return db.endWork(ctx, dropWork, worker, collections)
}

func (db *DB) endWork(ctx context.Context, text, worker string, collections []string) error {
	if len(collections) == 0 {
		return nil
	}
	return db.write(ctx, "record what is not worked on", func(t *tx) error {
		for _, name := range collections {
			if _, err := t.exec(text, worker, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// AtWork returns what instances work on, or did within WorkKept.
func (db *DB) AtWork(ctx context.Context) (out []WorkOf, err error) {
	err = db.read(ctx, "look who is at work", func(t *tx) error {
		if there, err := db.engine.has(t, "at_work"); err != nil || !there {
			return err
		}
		out, err = all(t, func(r *sql.Rows) (w WorkOf, err error) {
			var alive lethe.Time
			err = r.Scan(&w.Worker, &w.Collection, &w.Place, &w.Quarantine, &w.Table, &alive)
			w.Alive = alive > t.now
			return w, err
		}, listWork, t.now.Add(-WorkKept))
		return err
	})
	return out, err
}
