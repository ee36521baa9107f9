package sqladopt

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// A content whose delete failed for certain is stored again while Lethe tries once more: its row
// is not committed, and only its mark can be locked.
func TestGuardHoldsWhatIsToBeTriedAgain(t *testing.T) {
	database := servers.Postgres(t)
	for _, k := range guardKinds() {
		t.Run(k.String(), func(t *testing.T) {
			t.Parallel()
			s, ctx := newSite(t, database, k), t.Context()
			s.endsAndFails("x")
			tx := s.began()
			if err := s.takes("x")(ctx, tx); err != nil {
				t.Fatal(err)
			}
			s.Pass(time.Hour)
			for _, when := range []string{"before its commit", "after it"} {
				m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
				if err != nil || len(m.Contents) != 0 {
					t.Errorf("%s: marked %+v, %v", when, m, err)
				}
				_ = tx.Commit(ctx)
			}
			if _, there, err := s.Count(ctx, "x"); err != nil || !there {
				t.Errorf("the content is there: %v, %v", there, err)
			}
		})
	}
}

// endsAndFails ends a content with its only row, and records that its object was certainly
// not deleted.
func (s *site) endsAndFails(content string) {
	s.t.Helper()
	ctx := s.t.Context()
	err := s.Put(ctx, adopttest.Row{Key: "old", Content: content, In: -time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		s.t.Fatal(err)
	}
	_, m, err := s.End(ctx, claim, adopt.EndRequest{Late: adopt.DefaultGrace.Late})
	if err != nil || len(m.Contents) != 1 {
		s.t.Fatalf("marked %+v, %v", m, err)
	}
	out, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: content, Failed: "denied"}}, adopt.DefaultGrace)
	if err != nil || out.Failed != 1 {
		s.t.Fatalf("confirmed %+v, %v", out, err)
	}
}

// What a trigger of the application lets a row name is looked at as well.
func TestGuardSeesWhatTriggersSet(t *testing.T) {
	s := newSite(t, servers.Postgres(t), kind{})
	ctx := t.Context()
	if _, err := s.pool.Exec(ctx, `CREATE FUNCTION set_hash() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.hash := 'x'; RETURN NEW; END $$;
		CREATE TRIGGER set_hash BEFORE INSERT OR UPDATE ON pastes FOR EACH ROW WHEN (NEW.expires_at = 'infinity') EXECUTE FUNCTION set_hash()`); err != nil {
		t.Fatal(err)
	}
	s.lapse("x")
	if err := s.Put(ctx, adopttest.Row{Key: "other", Content: "other", In: adopttest.Never}); err != nil {
		t.Fatal(err)
	}
	s.mark("x")
	for what, text := range map[string]string{
		"inserted": "INSERT INTO pastes (code, hash, expires_at) VALUES ('late', 'other', 'infinity')",
		"updated":  "UPDATE pastes SET expires_at = 'infinity' WHERE code = 'other'",
	} {
		s.began().refused("a row that is "+what, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, text)
			return err
		})
	}
}

// Rows are read under no lock that keeps the application waiting, and nothing is marked
// before that has ended.
func TestInstallingAGuardReadsRowsBesideTheApplication(t *testing.T) {
	s, ctx := newPostgresOwner(t, servers.Postgres(t), true), t.Context()
	read := 0
	s.db.o.Watch = func(in context.Context, name string) (context.Context, func(error)) {
		if name == "look for folders in folders" {
			read++
			if err := s.exec(ctx, "SET lock_timeout = '1s'; INSERT INTO files VALUES ('during', 'd', NULL)"); err != nil {
				t.Errorf("the application waits: %v", err)
			}
			if err := s.Insert(ctx, "nested", "d/e", adopttest.Never); err == nil || !strings.Contains(err.Error(), "has no slash") {
				t.Errorf("a folder in that of another row: %v", err)
			}
			if guarded, err := s.Guarded(ctx); guarded || err != nil {
				t.Errorf("guarded %v, %v", guarded, err)
			}
		}
		return in, func(error) {}
	}
	if err := s.InstallGuard(ctx); err != nil || read != 1 {
		t.Errorf("%d reads, %v", read, err)
	}
	if guarded, err := s.Guarded(ctx); !guarded || err != nil {
		t.Errorf("guarded %v, %v", guarded, err)
	}
}

// A content that gets the key of one whose deletion failed is waited for by Mark, as a new one is.
func TestKeyChangesBesideMark(t *testing.T) {
	s, ctx := newSite(t, servers.Postgres(t), kind{loose: true}), t.Context()
	s.endsAndFails("x")
	if err := s.Put(ctx, adopttest.Row{Key: "other", Content: "other", In: adopttest.Never}); err != nil {
		t.Fatal(err)
	}
	s.Pass(time.Hour)
	tx := s.began()
	if _, err := tx.Exec(ctx, "UPDATE content SET hash = 'x' WHERE hash = 'other'"); err != nil {
		t.Fatal(err)
	}
	m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
	if err != nil || len(m.Contents) > 0 {
		t.Errorf("marked %+v, %v", m, err)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Error(err)
	}
}
