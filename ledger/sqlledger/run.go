package sqlledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// runsKept is how many finished runs of each routine Prune keeps.
const runsKept = 1000

const runColumns = `id, routine, worker, started_at, beat_at, finished_at, outcome, counts`

var (
	insertRun = register(`INSERT INTO runs (` + runColumns + `) VALUES (?1, ?2, ?3, ?4, ?4, 0, '', ?5)`)
	beatRun   = register(`UPDATE runs SET beat_at = ?2, counts = ?3 WHERE id = ?1 AND finished_at = 0`)
	finishRun = register(`UPDATE runs SET beat_at = ?2, finished_at = ?2, outcome = ?3, counts = ?4
		WHERE id = ?1 AND finished_at = 0`)
	interruptRuns = register(`UPDATE runs SET finished_at = ?2, outcome = 'interrupted'
		WHERE worker = ?1 AND finished_at = 0`)
	lastRuns = register(`SELECT ` + runColumns + ` FROM runs WHERE id IN (
		SELECT (SELECT n.id FROM runs n WHERE n.routine = r.routine ORDER BY n.started_at DESC, n.id DESC LIMIT 1)
		FROM (SELECT DISTINCT routine FROM runs) AS r)`)
	lastGoodRuns = register(`SELECT ` + runColumns + ` FROM runs WHERE id IN (` + newestGood + `)`)
	runsSince    = register(`SELECT ` + runColumns + ` FROM runs WHERE routine = ?1 AND started_at >= ?2
		ORDER BY started_at DESC, id DESC LIMIT ?3`)
	oldRuns = register(`SELECT o.id FROM (SELECT DISTINCT routine FROM runs) AS r
		JOIN runs o ON o.routine = r.routine AND o.finished_at <> 0 AND (o.started_at, o.id) < (
			SELECT n.started_at, n.id FROM runs n WHERE n.routine = r.routine AND n.finished_at <> 0
			ORDER BY n.started_at DESC, n.id DESC LIMIT 1 OFFSET ?1)
		WHERE o.id NOT IN (` + newestGood + `)
		LIMIT ?2`)
	deleteRuns = register(`DELETE FROM runs WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// newestGood selects the id of each routine's newest successful run; NULLs would empty a NOT
// IN. Runs are ordered by when they began by the ledger's clock, as in BeginRun: an id is
// made before its run begins, by an instance's clock.
const newestGood = `SELECT g.id FROM (
		SELECT (SELECT n.id FROM runs n WHERE n.routine = s.routine AND n.outcome = 'ok'
			ORDER BY n.started_at DESC, n.id DESC LIMIT 1) AS id
		FROM (SELECT DISTINCT routine FROM runs) AS s) AS g WHERE g.id IS NOT NULL`

// StartRun records that a routine began a run. The caller sets ID, Routine and Worker; the
// times are the ledger's.
func (db *DB) StartRun(ctx context.Context, r ledger.Run) error {
	return db.write(ctx, "start run of "+r.Routine, func(t *tx) error {
		_, err := t.Send(insertRun, r.ID, r.Routine, r.Worker, t.Now, sqldb.JSON(r.Counts))
		return err
	})
}

// BeatRun records a heartbeat: ErrFenced if the run is finished or interrupted.
func (db *DB) BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error {
	return db.write(ctx, "beat of run "+string(id), func(t *tx) error {
		return t.Must(1, lethe.ErrFenced, beatRun, id, t.Now, sqldb.JSON(counts))
	})
}

// FinishRun ends a run with its outcome: "ok" is success. ErrFenced if it has ended already.
func (db *DB) FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error {
	return db.write(ctx, "finish run "+string(id), func(t *tx) error {
		return t.Must(1, lethe.ErrFenced, finishRun, id, t.Now, outcome, sqldb.JSON(counts))
	})
}

// LastRuns returns the newest run of each routine and, separately, its newest successful
// one.
func (db *DB) LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error) {
	err = db.read(ctx, "last runs", func(t *tx) error {
		if last, err = t.runs(lastRuns); err != nil {
			return err
		}
		succeeded, err = t.runs(lastGoodRuns)
		return err
	})
	return last, succeeded, err
}

// RunsSince returns the newest runs of a routine that began at an instant or later, up to a limit,
// the newest first.
func (db *DB) RunsSince(ctx context.Context, routine string, since lethe.Time, limit int) (list []ledger.Run, err error) {
	err = db.read(ctx, "runs of "+routine, func(t *tx) error {
		list, err = all(t, scanRun, runsSince, routine, since, limit)
		return err
	})
	return list, err
}

// InterruptRuns marks the unfinished runs of a worker that is gone as interrupted.
func (db *DB) InterruptRuns(ctx context.Context, worker string) (int, error) {
	var n int64
	err := db.write(ctx, "interrupt runs of "+worker, func(t *tx) (err error) {
		n, err = t.Exec(interruptRuns, worker, t.Now)
		return err
	})
	return int(n), err
}

// runs returns the runs of a query by routine.
func (t *tx) runs(query string) (map[string]ledger.Run, error) {
	list, err := all(t, scanRun, query)
	if err != nil {
		return nil, err
	}
	byRoutine := make(map[string]ledger.Run, len(list))
	for _, r := range list {
		byRoutine[r.Routine] = r
	}
	return byRoutine, nil
}

// pruneRuns removes up to limit finished runs beyond the newest of each routine.
func (t *tx) pruneRuns(limit int64) (int64, error) {
	old, err := all(t, sqldb.One[lethe.ID], oldRuns, runsKept-1, limit)
	if err != nil || len(old) == 0 {
		return 0, err
	}
	return t.Exec(deleteRuns, sqldb.JSON(old))
}

func scanRun(r *sql.Rows) (ledger.Run, error) {
	var out ledger.Run
	var counts string
	if err := r.Scan(&out.ID, &out.Routine, &out.Worker, &out.StartedAt, &out.BeatAt, &out.FinishedAt, &out.Outcome, &counts); err != nil {
		return out, err
	}
	if err := json.Unmarshal([]byte(counts), &out.Counts); err != nil {
		return out, fmt.Errorf("counts of run %s: %w (%w)", out.ID, lethe.ErrCorrupt, err)
	}
	return out, nil
}

var (
	soloRun  = register(`SELECT ` + runColumns + ` FROM runs WHERE routine = ?1 AND solo = 1 AND finished_at = 0`)
	newerRun = register(`SELECT ` + runColumns + ` FROM runs WHERE routine = ?1 AND outcome = 'ok' AND started_at > ?2
		ORDER BY started_at DESC, id DESC LIMIT 1`)
	// passedBy is a run that began while another waited to be inserted. A run that ended
	// long after now was recorded before the clock was set back.
	passedBy = register(`SELECT ` + runColumns + ` FROM runs WHERE routine = ?1
		AND (outcome = 'ok' AND started_at > ?2 OR finished_at > ?3 AND finished_at < ?4) LIMIT 1`)
	insertSolo = register(`INSERT INTO runs (` + runColumns + `, solo) VALUES (?1, ?2, ?3, ?4, ?4, 0, '', ?5, 1)
		ON CONFLICT DO NOTHING`)
	endRun = register(`UPDATE runs SET finished_at = ?2, outcome = 'interrupted'
		WHERE id = ?1 AND finished_at = 0 AND beat_at = ?3`)
	staleRuns = register(`UPDATE runs SET finished_at = ?1, outcome = 'interrupted'
		WHERE finished_at = 0 AND beat_at < ?2 RETURNING ` + runColumns)
)

// longestInsert is longer than any statement may wait.
const longestInsert = time.Minute

// BeginRun starts a run that must be alone, unless another one is in progress with a recent
// heartbeat or has succeeded since Seen. It is one transaction: of two concurrent calls one
// begins its run.
func (db *DB) BeginRun(ctx context.Context, s ledger.Solo) (out ledger.SoloResult, err error) {
	err = db.write(ctx, "begin run of "+s.Run.Routine, func(t *tx) error {
		out = ledger.SoloResult{}
		open, err := t.oneRun(soloRun, s.Run.Routine)
		if err != nil {
			return err
		}
		if open != nil && open.Worker != s.Run.Worker && t.Now.Sub(open.BeatAt) < s.Stale {
			out.Other = open
			return nil
		}
		if open != nil {
			n, err := t.Exec(endRun, open.ID, t.Now, open.BeatAt)
			if err != nil || n == 0 { // it has had a heartbeat after all
				out.Other = open
				return err
			}
			open.FinishedAt, open.Outcome = t.Now, "interrupted"
			out.Ended = []ledger.Run{*open}
		}
		if out.Other, err = t.oneRun(newerRun, s.Run.Routine, s.Seen); err != nil || out.Other != nil {
			return err
		}
		n, err := t.Exec(insertSolo, s.Run.ID, s.Run.Routine, s.Run.Worker, t.Now, sqldb.JSON(s.Run.Counts))
		if err != nil {
			return err
		}
		if out.OK = n == 1; !out.OK {
			out.Other, err = t.oneRun(soloRun, s.Run.Routine) // it began at the same time
		}
		if err == nil && !out.OK && out.Other == nil {
			return fmt.Errorf("the id %s of a run is taken", s.Run.ID)
		}
		if err != nil || !out.OK {
			return err
		}
		// The insert may have waited for another run, which then ended after this one's
		// start.
		other, err := t.oneRun(passedBy, s.Run.Routine, s.Seen, t.Now, t.Now.Add(longestInsert))
		if err == nil && other != nil {
			err = sqldb.ErrAgain
		}
		return err
	})
	return out, err
}

// EndStaleRuns ends, as interrupted, every run in progress without a heartbeat for age, and
// returns them.
func (db *DB) EndStaleRuns(ctx context.Context, age time.Duration) (ended []ledger.Run, err error) {
	err = db.write(ctx, "end stale runs", func(t *tx) error {
		ended, err = all(t, scanRun, staleRuns, t.Now, t.Now.Add(-age))
		return err
	})
	return ended, err
}

// oneRun returns the run of a query, nil if there is none.
func (t *tx) oneRun(query string, args ...any) (*ledger.Run, error) {
	list, err := all(t, scanRun, query, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
