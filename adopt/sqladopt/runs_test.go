package sqladopt

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// A run that begins and ends while another tries to begin does not prevent it:
// it tries again.
func TestRunThatCameAndWent(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	// The insert conflicts once with an invisible row.
	_, err := s.pool.Exec(t.Context(), `CREATE SEQUENCE asked;
		CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF nextval('asked') = 1 THEN RETURN NULL; END IF; RETURN NEW; END $$;
		CREATE TRIGGER conflict BEFORE INSERT ON `+s.schema+`.runs FOR EACH ROW EXECUTE FUNCTION conflict()`)
	if err != nil {
		t.Fatal(err)
	}
	run := ledger.Run{ID: lethe.RandomID(1), Routine: "folders", Worker: "a"}
	if b, err := s.db.BeginRun(t.Context(), ledger.Solo{Run: run, Stale: 1, Seen: lethe.Forever}); err != nil || !b.OK {
		t.Errorf("got %+v, %v", b, err)
	}
}

// A run that ends between another's check and its insert is noticed. If it
// succeeded, the other is not due; if not, the other begins after it.
func TestRunThatEndedMeanwhile(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	for outcome, begins := range map[string]bool{"ok": false, "failed": true} {
		t.Run(outcome, func(t *testing.T) {
			ctx := t.Context()
			tx, err := s.pool.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
			// This lock delays inserts, not reads.
			if _, err := tx.Exec(ctx, `LOCK TABLE `+s.schema+`.runs IN SHARE MODE`); err != nil {
				t.Fatal(err)
			}
			asked := make(chan error, 1)
			go func() {
				run := ledger.Run{ID: lethe.RandomID(1), Routine: outcome, Worker: "slow"}
				b, err := s.db.BeginRun(ctx, ledger.Solo{Run: run, Stale: time.Hour})
				if err == nil && (b.OK != begins || !begins && (b.Other == nil || b.Other.Worker != "quick")) {
					err = fmt.Errorf("got %+v", b)
				}
				asked <- err
			}()
			s.awaits(`INSERT INTO "` + s.schema + `".runs`)
			if _, err := tx.Exec(ctx, `INSERT INTO `+s.schema+`.runs (id, routine, worker, started_at, beat_at, finished_at, outcome, counts, solo)
				VALUES ('quick ' || $1::text, $1, 'quick', 5, 6, extract(epoch FROM clock_timestamp()) * 1000000, $1, '{}', 1)`, outcome); err != nil {
				t.Fatal(err)
			}
			if err := tx.Commit(ctx); err != nil {
				t.Fatal(err)
			}
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			var early int
			err = s.pool.QueryRow(ctx, `SELECT count(*) FROM `+s.schema+`.runs AS a JOIN `+s.schema+`.runs AS b ON a.routine = b.routine
				WHERE a.worker = 'slow' AND b.worker = 'quick' AND a.started_at < b.finished_at`).Scan(&early)
			if err != nil || early != 0 {
				t.Errorf("%d runs began before the other had ended, %v", early, err)
			}
		})
	}
}
