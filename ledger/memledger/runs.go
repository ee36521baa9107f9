package memledger

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// runsKept is how many finished runs of each routine Prune keeps.
const runsKept = 1000

// StartRun records that a routine began a run; the times are the ledger's.
func (db *DB) StartRun(ctx context.Context, r ledger.Run) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	if db.run(r.ID) != nil {
		return fmt.Errorf("memledger: start run %s of %s: the id is taken", r.ID, r.Routine)
	}
	r.Counts = ledger.CloneMap(r.Counts)
	r.StartedAt, r.BeatAt, r.FinishedAt, r.Outcome = db.now, db.now, 0, ""
	db.runs.put(&r)
	return nil
}

func (db *DB) run(id lethe.ID) *ledger.Run {
	rows := db.runs.from(func(r *ledger.Run) bool { return r.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

// unfinished returns a run in progress: ErrFenced.
func (db *DB) unfinished(id lethe.ID) (*ledger.Run, error) {
	if r := db.run(id); r != nil && r.FinishedAt == 0 {
		return r, nil
	}
	return nil, fmt.Errorf("memledger: run %s is not in progress: %w", id, lethe.ErrFenced)
}

// BeatRun records a heartbeat: ErrFenced if the run is finished or interrupted.
func (db *DB) BeatRun(ctx context.Context, id lethe.ID, counts map[string]int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	r, err := db.unfinished(id)
	if err != nil {
		return err
	}
	r.BeatAt, r.Counts = db.now, ledger.CloneMap(counts)
	return nil
}

// FinishRun ends a run with its outcome: ErrFenced if it has ended.
func (db *DB) FinishRun(ctx context.Context, id lethe.ID, outcome string, counts map[string]int64) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	r, err := db.unfinished(id)
	if err != nil {
		return err
	}
	r.BeatAt, r.FinishedAt, r.Outcome, r.Counts = db.now, db.now, outcome, ledger.CloneMap(counts)
	return nil
}

// LastRuns returns the newest run of each routine and its newest successful one.
func (db *DB) LastRuns(ctx context.Context) (last, succeeded map[string]ledger.Run, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, nil, err
	}
	defer db.mu.Unlock()
	last, succeeded = map[string]ledger.Run{}, map[string]ledger.Run{}
	for _, r := range db.runsByStart() {
		row := copyRun(r)
		last[r.Routine] = row
		if r.Outcome == "ok" {
			succeeded[r.Routine] = row
		}
	}
	return last, succeeded, nil
}

// runsByStart lists all runs in the order in which they began.
func (db *DB) runsByStart() []*ledger.Run {
	return slices.SortedStableFunc(slices.Values(db.runs.rows), func(a, b *ledger.Run) int { return cmp.Compare(a.StartedAt, b.StartedAt) })
}

// RunsSince returns the newest runs of a routine that began at an instant or later, up to a limit,
// the newest first.
func (db *DB) RunsSince(ctx context.Context, routine string, since lethe.Time, limit int) ([]ledger.Run, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var list []ledger.Run
	for _, r := range slices.Backward(db.runsByStart()) {
		if r.Routine == routine && r.StartedAt >= since && len(list) < limit {
			list = append(list, copyRun(r))
		}
	}
	return list, nil
}

// InterruptRuns ends the unfinished runs of a worker that is gone.
func (db *DB) InterruptRuns(ctx context.Context, worker string) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	n := 0
	for _, r := range db.runs.rows {
		if r.Worker == worker && r.FinishedAt == 0 {
			r.FinishedAt, r.Outcome = db.now, "interrupted"
			n++
		}
	}
	return n, nil
}

// BeginRun starts a run that must be alone, unless another one is in progress with a recent
// heartbeat or has succeeded since Seen.
func (db *DB) BeginRun(ctx context.Context, s ledger.Solo) (out ledger.SoloResult, err error) {
	if err := db.enter(ctx); err != nil {
		return out, err
	}
	defer db.mu.Unlock()
	if r := db.run(db.solo[s.Run.Routine]); r != nil && r.FinishedAt == 0 {
		if r.Worker != s.Run.Worker && db.now.Sub(r.BeatAt) < s.Stale {
			other := copyRun(r)
			return ledger.SoloResult{Other: &other}, nil
		}
		r.FinishedAt, r.Outcome = db.now, "interrupted"
		out.Ended = []ledger.Run{copyRun(r)}
	}
	for _, r := range db.runsByStart() {
		if r.Routine == s.Run.Routine && r.Outcome == "ok" && r.StartedAt > s.Seen {
			other := copyRun(r)
			out.Other = &other
		}
	}
	if out.Other != nil {
		return out, nil
	}
	if db.run(s.Run.ID) != nil {
		return out, fmt.Errorf("memledger: begin run %s of %s: the id is taken", s.Run.ID, s.Run.Routine)
	}
	r := s.Run
	r.Counts = ledger.CloneMap(r.Counts)
	r.StartedAt, r.BeatAt, r.FinishedAt, r.Outcome = db.now, db.now, 0, ""
	db.runs.put(&r)
	db.solo[r.Routine] = r.ID
	out.OK = true
	return out, nil
}

// EndStaleRuns ends every run in progress without a heartbeat for age.
func (db *DB) EndStaleRuns(ctx context.Context, age time.Duration) (ended []ledger.Run, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	for _, r := range db.runs.rows {
		if r.FinishedAt == 0 && r.BeatAt < db.now.Add(-age) {
			r.FinishedAt, r.Outcome = db.now, "interrupted"
			ended = append(ended, copyRun(r))
		}
	}
	return ended, nil
}

func copyRun(r *ledger.Run) ledger.Run {
	out := *r
	out.Counts = ledger.CloneMap(r.Counts)
	return out
}

// oldRuns returns the finished runs beyond the newest of each routine, except its newest
// successful one.
func (db *DB) oldRuns() []*ledger.Run {
	kept, succeeded := map[string]int{}, map[string]bool{}
	var old []*ledger.Run
	for _, r := range slices.Backward(db.runsByStart()) {
		if r.FinishedAt == 0 {
			continue
		}
		kept[r.Routine]++
		newest := r.Outcome == "ok" && !succeeded[r.Routine]
		succeeded[r.Routine] = succeeded[r.Routine] || newest
		if kept[r.Routine] > runsKept && !newest {
			old = append(old, r)
		}
	}
	return old
}
