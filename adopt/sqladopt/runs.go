package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const runColumns = `id, routine, worker, started_at, beat_at, finished_at, outcome, counts`

const (
	insertRun = `INSERT INTO {lethe}runs (id, routine, worker, started_at, beat_at, counts, solo)
		VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6) ON CONFLICT DO NOTHING`
	beatRun   = `UPDATE {lethe}runs SET beat_at = ?2, counts = ?3 WHERE id = ?1 AND finished_at = 0`
	finishRun = `UPDATE {lethe}runs SET beat_at = ?2, finished_at = ?2, outcome = ?3, counts = ?4
		WHERE id = ?1 AND finished_at = 0`
	interruptRuns = `UPDATE {lethe}runs SET finished_at = ?2, outcome = 'interrupted' WHERE worker = ?1 AND finished_at = 0`
	staleRuns     = `SELECT ` + runColumns + ` FROM {lethe}runs WHERE finished_at = 0 AND beat_at < ?1 ORDER BY id ` + sqldb.Exclusive
	endRuns       = `UPDATE {lethe}runs SET finished_at = ?1, outcome = 'interrupted' WHERE id IN (SELECT id FROM {ids 2})`
	endRun        = `UPDATE {lethe}runs SET finished_at = ?2, outcome = 'interrupted'
		WHERE id = ?1 AND finished_at = 0 AND beat_at = ?3`
	soloRun  = `SELECT ` + runColumns + ` FROM {lethe}runs WHERE routine = ?1 AND solo = 1 AND finished_at = 0`
	newerRun = `SELECT ` + runColumns + ` FROM {lethe}runs WHERE routine = ?1 AND outcome = 'ok' AND started_at > ?2
		ORDER BY started_at DESC, id DESC LIMIT 1`
	// passedBy returns a run that began while another waited for its insert.
	// One that ended long after now comes from a clock that was set back.
	passedBy = `SELECT ` + runColumns + ` FROM {lethe}runs WHERE routine = ?1 AND (outcome = 'ok' AND started_at > ?2 OR finished_at > ?3 AND finished_at < ?4) LIMIT 1`
	lastRuns = `SELECT ` + runColumns + ` FROM (SELECT n.*, row_number() OVER (PARTITION BY routine ORDER BY started_at DESC, id DESC) AS nth
		FROM {lethe}runs n) AS r WHERE nth = 1`
	lastGood = `SELECT ` + runColumns + ` FROM (SELECT n.*, row_number() OVER (PARTITION BY routine ORDER BY started_at DESC, id DESC) AS nth
		FROM {lethe}runs n WHERE outcome = 'ok') AS r WHERE nth = 1`
)

// longestInsert exceeds the longest wait of a statement.
const longestInsert = time.Minute

// StartRun records that a routine began a run.
func (db *DB) StartRun(ctx context.Context, r ledger.Run) error {
	return db.write(ctx, "start run of "+r.Routine, func(t *tx) error {
		_, err := t.exec(insertRun, string(r.ID), r.Routine, r.Worker, t.now, sqldb.JSON(r.Counts), 0)
		return err
	})
}

// BeatRun records a heartbeat. It fails with lethe.ErrFenced if the run has
// ended.
func (db *DB) BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error {
	return db.write(ctx, "beat of run "+string(id), func(t *tx) error {
		if err := t.one(beatRun, string(id), t.now, sqldb.JSON(counts)); err != nil {
			return err
		}
		_, err := t.exec(beatWork, string(id), t.now, t.now.Add(WorkAlive))
		return err
	})
}

// FinishRun ends a run with its outcome; "ok" is success.
func (db *DB) FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error {
	return db.write(ctx, "finish of run "+string(id), func(t *tx) error {
		return t.one(finishRun, string(id), t.now, outcome, sqldb.JSON(counts))
	})
}

// one runs a statement that has to change one row.
func (t *tx) one(query string, args ...any) error {
	n, err := t.exec(query, args...)
	if err == nil && n != 1 {
		return lethe.ErrFenced
	}
	return err
}

// LastRuns returns the newest run of each routine and, separately, its newest
// successful one.
func (db *DB) LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error) {
	err = db.read(ctx, "last runs", func(t *tx) error {
		if last, err = t.runs(lastRuns); err != nil {
			return err
		}
		succeeded, err = t.runs(lastGood)
		return err
	})
	return last, succeeded, err
}

func (t *tx) runs(query string, args ...any) (map[string]ledger.Run, error) {
	list, err := all(t, scanRun, query, args...)
	out := make(map[string]ledger.Run, len(list))
	for _, r := range list {
		out[r.Routine] = r
	}
	return out, err
}

// InterruptRuns marks the unfinished runs of a worker that has stopped.
func (db *DB) InterruptRuns(ctx context.Context, worker string) (n int, err error) {
	err = db.write(ctx, "interrupt runs of "+worker, func(t *tx) error {
		rows, err := t.exec(interruptRuns, worker, t.now)
		n = int(rows)
		return err
	})
	return n, err
}

// EndStaleRuns ends every run without a heartbeat for age.
func (db *DB) EndStaleRuns(ctx context.Context, age time.Duration) (ended []ledger.Run, err error) {
	err = db.write(ctx, "end stale runs", func(t *tx) error {
		if ended, err = all(t, scanRun, staleRuns, t.now.Add(-age)); err != nil || len(ended) == 0 {
			return err
		}
		ids := make([]lethe.ID, len(ended))
		for i := range ended {
			ended[i].FinishedAt, ended[i].Outcome = t.now, "interrupted"
			ids[i] = ended[i].ID
		}
		_, err := t.exec(endRuns, t.now, sqldb.JSON(ids))
		return err
	})
	return ended, err
}

// BeginRun starts a run that must be alone, unless another is in progress with a
// fresh heartbeat or has succeeded since the caller looked.
func (db *DB) BeginRun(ctx context.Context, s ledger.Solo) (out ledger.SoloResult, err error) {
	err = db.write(ctx, "begin run of "+s.Run.Routine, func(t *tx) error {
		out = ledger.SoloResult{}
		open, err := t.oneRun(soloRun, s.Run.Routine)
		if err != nil {
			return err
		}
		if open != nil && open.Worker != s.Run.Worker && t.now.Sub(open.BeatAt) < s.Stale {
			out.Other = open
			return nil
		}
		if open != nil {
			n, err := t.exec(endRun, string(open.ID), t.now, open.BeatAt)
			if err != nil || n == 0 { // it is alive after all
				out.Other = open
				return err
			}
			open.FinishedAt, open.Outcome = t.now, "interrupted"
			out.Ended = []ledger.Run{*open}
		}
		if out.Other, err = t.oneRun(newerRun, s.Run.Routine, s.Seen); err != nil || out.Other != nil {
			return err
		}
		n, err := t.exec(insertRun, string(s.Run.ID), s.Run.Routine, s.Run.Worker, t.now, sqldb.JSON(s.Run.Counts), 1)
		if err != nil {
			return err
		}
		if out.OK = n == 1; !out.OK {
			out.Other, err = t.oneRun(soloRun, s.Run.Routine) // it asked at the same time
		}
		if err == nil && !out.OK && out.Other == nil {
			return fmt.Errorf("another run has begun and ended: %w", sqldb.ErrAgain)
		}
		if err != nil || !out.OK {
			return err
		}
		// The insert may have waited for another run, which would have ended
		// after this one began.
		if other, err := t.oneRun(passedBy, s.Run.Routine, s.Seen, t.now, t.now.Add(longestInsert)); err != nil || other != nil {
			return cmp.Or(err, fmt.Errorf("another run has ended meanwhile: %w", sqldb.ErrAgain))
		}
		return nil
	})
	return out, err
}

// oneRun returns the run of a query, nil if there is none.
func (t *tx) oneRun(query string, args ...any) (*ledger.Run, error) {
	list, err := all(t, scanRun, query, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func scanRun(r *sql.Rows) (out ledger.Run, err error) {
	var counts string
	if err := r.Scan(&out.ID, &out.Routine, &out.Worker, &out.StartedAt, &out.BeatAt, &out.FinishedAt, &out.Outcome, &counts); err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(counts), &out.Counts); err != nil {
		return out, fmt.Errorf("counts of run %s: %w (%w)", out.ID, lethe.ErrCorrupt, err)
	}
	return out, nil
}
