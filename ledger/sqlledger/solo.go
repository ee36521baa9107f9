package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

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
func (db *DB) BeginRun(ctx context.Context, s ledger.Solo) (out ledger.Begun, err error) {
	err = db.write(ctx, "begin run of "+s.Run.Routine, func(t *tx) error {
		out = ledger.Begun{}
		open, err := t.oneRun(soloRun, s.Run.Routine)
		if err != nil {
			return err
		}
		if open != nil && open.Worker != s.Run.Worker && t.now.Sub(open.BeatAt) < s.Stale {
			out.Other = open
			return nil
		}
		if open != nil {
			n, err := t.exec(endRun, open.ID, t.now, open.BeatAt)
			if err != nil || n == 0 { // it has had a heartbeat after all
				out.Other = open
				return err
			}
			open.FinishedAt, open.Outcome = t.now, "interrupted"
			out.Ended = []ledger.Run{*open}
		}
		if out.Other, err = t.oneRun(newerRun, s.Run.Routine, s.Seen); err != nil || out.Other != nil {
			return err
		}
		n, err := t.exec(insertSolo, s.Run.ID, s.Run.Routine, s.Run.Worker, t.now, sqldb.JSON(s.Run.Counts))
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
		other, err := t.oneRun(passedBy, s.Run.Routine, s.Seen, t.now, t.now.Add(longestInsert))
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
		ended, err = all(t, scanRun, staleRuns, t.now, t.now.Add(-age))
		return err
	})
	return ended, err
}

// oneRun returns the run of a query, nil if there is none.
func (t *tx) oneRun(query string, args ...any) (*ledger.Run, error) {
	list, err := all(t, func(r *sql.Rows) (ledger.Run, error) { return scanRun(r) }, query, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}
