package sqladopt

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/servers"
	"github.com/lethe-storage/lethe/meta"
)

// A run that begins and ends while another asks to begin keeps it from nothing: it asks
// again.
func TestRunThatCameAndWent(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	// The insert conflicts once with what nobody sees afterwards.
	_, err := s.pool.Exec(t.Context(), `CREATE SEQUENCE asked;
		CREATE FUNCTION conflict() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN IF nextval('asked') = 1 THEN RETURN NULL; END IF; RETURN NEW; END $$;
		CREATE TRIGGER conflict BEFORE INSERT ON `+s.schema+`.runs FOR EACH ROW EXECUTE FUNCTION conflict()`)
	if err != nil {
		t.Fatal(err)
	}
	run := meta.Run{ID: lethe.RandomID(1), Routine: "folders", Worker: "a"}
	if b, err := s.db.BeginRun(t.Context(), meta.Solo{Run: run, Stale: 1, Seen: lethe.Forever}); err != nil || !b.OK {
		t.Errorf("got %+v, %v", b, err)
	}
}

// A run that succeeds between another's look and its insert is noticed: the other's time
// has not come.
func TestRunThatSucceededMeanwhile(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	ctx := t.Context()
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	// Whoever looks is not kept waiting by this lock; whoever inserts is.
	if _, err := tx.Exec(ctx, `LOCK TABLE `+s.schema+`.runs IN SHARE MODE`); err != nil {
		t.Fatal(err)
	}
	asked := make(chan error, 1)
	go func() {
		run := meta.Run{ID: lethe.RandomID(1), Routine: "folders", Worker: "slow"}
		b, err := s.db.BeginRun(ctx, meta.Solo{Run: run, Stale: time.Hour})
		if err == nil && (b.OK || b.Other == nil || b.Other.Worker != "quick") {
			err = fmt.Errorf("got %+v, want the run that had just succeeded", b)
		}
		asked <- err
	}()
	s.awaits(`INSERT INTO "` + s.schema + `".runs`)
	if _, err := tx.Exec(ctx, `INSERT INTO `+s.schema+`.runs (id, routine, worker, started_at, beat_at, finished_at, outcome, counts, solo)
		VALUES ('quick', 'folders', 'quick', 5, 6, 7, 'ok', '{}', 1)`); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Error(err)
	}
}
