package sqladopt

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// statements runs statements of the application that have semicolons in them, by the name
// of the dialect.
func statements(t *testing.T, db *DB, list map[string]string) {
	t.Helper()
	text := list[db.runner.Dialect.Name]
	if err := db.write(t.Context(), "act as the application", func(t *tx) error { return t.script(text) }); err != nil {
		t.Fatal(text, err)
	}
}

// Counts that a trigger of the application keeps are not counted down twice: the check
// mentions the trigger, and no row goes. Without contents.count the rows go.
func TestCountsThatATriggerKeeps(t *testing.T) {
	onEngines(t, counted(4), func(t *testing.T, db *DB) {
		const down = "UPDATE content SET ref_count = ref_count - 1 WHERE hash = OLD.hash"
		statements(t, db, map[string]string{
			sqldb.PostgresName: "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + down + "; RETURN NULL; END'; " +
				"CREATE TRIGGER counts AFTER DELETE ON pastes FOR EACH ROW EXECUTE FUNCTION counts()",
			sqldb.SQLiteName: "CREATE TRIGGER counts AFTER DELETE ON pastes BEGIN " + down + "; END",
			sqldb.MySQLName:  "CREATE TRIGGER counts AFTER DELETE ON pastes FOR EACH ROW " + down,
		})
		script(t, db, "UPDATE pastes SET expires_at = 800000000")
		c, ctx := countedBy(t, db, "ref_count"), t.Context()
		found, err := c.Check(ctx)
		if text := findings(found); err != nil || adopt.Problems(found) || !strings.Contains(text, "a trigger of pastes that runs when rows go mentions content.ref_count (counts)") {
			t.Errorf("found %s, %v", text, err)
		}
		if out, err := c.Take(ctx, 9, 0); !errors.Is(err, errCounted) {
			t.Errorf("took %+v, %v", out, err)
		}
		if drifts, _, err := c.Recount(ctx, "", 9, RepairNone); err != nil || len(drifts) > 0 {
			t.Errorf("counts are wrong: %+v, %v", drifts, err)
		}
		script(t, db, "DROP TABLE pins; UPDATE content SET ref_count = 0 WHERE hash = 'h000'")
		if out, err := countedBy(t, db, "").Take(ctx, 9, 0); err != nil || out.Gone != 3 {
			t.Errorf("took %+v, %v", out, err)
		}
		if drifts, _, err := countedBy(t, db, "ref_count").Recount(ctx, "", 9, RepairNone); err != nil || len(drifts) > 0 {
			t.Errorf("counts are wrong then: %+v, %v", drifts, err)
		}
	})
}

// Other tables that refer to contents are looked into for each batch: not without an index.
func TestOtherTablesNeedAnIndex(t *testing.T) {
	onEngines(t, counted(4), func(t *testing.T, db *DB) {
		if db.runner.Dialect.Name == sqldb.MySQLName {
			t.Skip("a foreign key has an index there")
		}
		script(t, db, "DROP INDEX pinned")
		found, err := countedBy(t, db, "ref_count").Check(t.Context())
		i := slices.IndexFunc(found, func(f adopt.Finding) bool { return f.Problem && strings.Contains(f.What, "whole table pins is read") })
		if err != nil || i < 0 || !strings.Contains(found[i].Do, "CREATE INDEX") {
			t.Errorf("found %s, %v", findings(found), err)
		}
	})
}

// guardedBy is countedBy with a guard.
func guardedBy(t *testing.T, db *DB) *Collection {
	t.Helper()
	c := countedBy(t, db, "ref_count")
	c.c.Guard = adopt.TriggerGuard
	if err := c.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// Lethe's own triggers are none of the application's, whatever they mention.
func TestOwnTriggersAreNotTheApplications(t *testing.T) {
	onEngines(t, counted(1), func(t *testing.T, db *DB) {
		guardedBy(t, db)
		err := db.read(t.Context(), "look for triggers", func(in *tx) error {
			names, _, err := db.engine.triggers(in, "pastes", "UPDATE", "lethe")
			if len(names) > 0 {
				t.Errorf("found %q", names)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// A content to whose removal the database objects stays, and is reported; the others of
// its batch are confirmed. Nothing may refer to it until it is gone.
func TestContentsThatTheDatabaseKeeps(t *testing.T) {
	onEngines(t, counted(5), func(t *testing.T, db *DB) {
		script(t, db, "DELETE FROM pins; DELETE FROM pastes; UPDATE content SET ref_count = 0")
		ctx := t.Context()
		c := guardedBy(t, db)
		if _, _, err := c.Find(ctx, "", 9, 0); err != nil {
			t.Fatal(err)
		}
		m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
		if err != nil || len(m.Contents) != 5 {
			t.Fatalf("marked %+v, %v", m, err)
		}
		statements(t, db, map[string]string{
			sqldb.PostgresName: "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''no''; END'; " +
				"CREATE TRIGGER keep BEFORE DELETE ON content FOR EACH ROW WHEN (OLD.hash = 'h003') EXECUTE FUNCTION keep()",
			sqldb.SQLiteName: "CREATE TRIGGER keep BEFORE DELETE ON content WHEN OLD.hash = 'h003' BEGIN SELECT RAISE(ABORT, 'no'); END",
			sqldb.MySQLName:  "CREATE TRIGGER keep BEFORE DELETE ON content FOR EACH ROW IF OLD.hash = 'h003' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF",
		})
		var outcomes []adopt.Outcome
		for _, x := range m.Contents {
			outcomes = append(outcomes, adopt.Outcome{Content: x.Content})
		}
		out, err := c.Confirm(ctx, m.Fence, outcomes, adopt.DefaultGrace)
		if err != nil || out.Gone != 5 || !slices.Equal(out.Broken, []string{"h003"}) {
			t.Errorf("confirmed %+v, %v", out, err)
		}
		left := func() (keys []string) {
			err := db.read(ctx, "list contents", func(t *tx) error {
				keys, err = all(t, text, "SELECT hash FROM content")
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return keys
		}
		if keys := left(); !slices.Equal(keys, []string{"h003"}) {
			t.Errorf("%q are left", keys)
		}
		script(t, db, db.runner.Dialect.Expand("UPDATE {lethe}condemned SET due_at = 0"))
		if n, err := c.Unmark(ctx, 9); err != nil || n != 4 {
			t.Errorf("ended %d marks, %v", n, err)
		}
		if db.write(ctx, "act as the application", func(t *tx) error { return t.script("INSERT INTO pastes VALUES ('late', 'h003', NULL)") }) == nil {
			t.Error("a row names a content whose object is gone")
		}
		drop := "DROP TRIGGER keep"
		if db.runner.Dialect.Name == sqldb.PostgresName {
			drop += " ON content"
		}
		script(t, db, drop)
		if m, err = c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); err != nil || len(m.Contents) != 1 {
			t.Fatalf("marked again %+v, %v", m, err)
		}
		out, err = c.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "h003"}}, adopt.DefaultGrace)
		if keys := left(); err != nil || out.Gone != 1 || len(out.Broken) > 0 || len(keys) > 0 {
			t.Errorf("confirmed %+v, %v: %q are left", out, err, keys)
		}
	})
}

// Counts that PostgreSQL takes down at the commit, or by a rule, are not counted down twice.
func TestCountsThatPostgresKeepsLater(t *testing.T) {
	const down = "UPDATE content SET ref_count = ref_count - 1 WHERE hash = OLD.hash"
	for name, text := range map[string]string{
		"a deferred trigger": "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + down + "; RETURN NULL; END'; " +
			"CREATE CONSTRAINT TRIGGER counts AFTER DELETE ON pastes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION counts()",
		"a rule": "CREATE RULE counts AS ON DELETE TO pastes DO ALSO " + down,
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, servers.Postgres(t))
			script(t, db, counted(4))
			statements(t, db, map[string]string{sqldb.PostgresName: text})
			script(t, db, "UPDATE pastes SET expires_at = 800000000")
			c, ctx := countedBy(t, db, "ref_count"), t.Context()
			found, err := c.Check(ctx)
			if text := findings(found); err != nil || !strings.Contains(text, "runs when rows go mentions content.ref_count (counts)") {
				t.Errorf("found %s, %v", text, err)
			}
			if out, err := c.Take(ctx, 9, 0); !errors.Is(err, errCounted) {
				t.Errorf("took %+v, %v", out, err)
			}
			if drifts, _, err := c.Recount(ctx, "", 9, RepairNone); err != nil || len(drifts) > 0 {
				t.Errorf("counts are wrong: %+v, %v", drifts, err)
			}
		})
	}
}

// A trigger that counts the rows of one status has counted them down when they are
// claimed: none is.
func TestCountsByStatus(t *testing.T) {
	onEngines(t, counted(4), func(t *testing.T, db *DB) {
		const by = "UPDATE content SET ref_count = ref_count + CASE WHEN NEW.state = 'LIVE' THEN 1 ELSE -1 END WHERE hash = OLD.hash"
		script(t, db, "DROP TABLE pins")
		script(t, db, "ALTER TABLE pastes ADD COLUMN state varchar(10) NOT NULL DEFAULT 'LIVE'")
		script(t, db, "ALTER TABLE pastes ADD COLUMN since bigint")
		script(t, db, "UPDATE content SET ref_count = (SELECT count(*) FROM pastes p WHERE p.hash = content.hash)")
		script(t, db, "UPDATE pastes SET expires_at = 800000000")
		statements(t, db, map[string]string{
			sqldb.PostgresName: "CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN " + strings.ReplaceAll(by, "'", "''") + "; RETURN NULL; END'; " +
				"CREATE TRIGGER counts AFTER UPDATE OF state ON pastes FOR EACH ROW EXECUTE FUNCTION counts()",
			sqldb.SQLiteName: "CREATE TRIGGER counts AFTER UPDATE OF state ON pastes BEGIN " + by + "; END",
			sqldb.MySQLName:  "CREATE TRIGGER counts AFTER UPDATE ON pastes FOR EACH ROW " + by,
		})
		ctx := t.Context()
		open := func(count string) *Collection {
			c, err := db.Collection(ctx, "pastes", adopt.Collection{
				Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash", Initiated: "since",
					Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}},
				Contents: &adopt.Table{Table: "content", Key: "hash", Count: count, Object: "content/{hash}"}, Prefix: "content/",
			})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := open("ref_count")
		found, err := c.Check(ctx)
		if text := findings(found); err != nil || !strings.Contains(text, "runs when rows are claimed mentions content.ref_count (counts)") {
			t.Errorf("found %s, %v", text, err)
		}
		if claim, err := c.Claim(ctx, 9); !errors.Is(err, errCounted) {
			t.Errorf("claimed %+v, %v", claim, err)
		}
		if drifts, _, err := c.Recount(ctx, "", 9, RepairNone); err != nil || len(drifts) > 0 {
			t.Errorf("counts are wrong: %+v, %v", drifts, err)
		}
		if claim, err := open("").Claim(ctx, 9); err != nil || len(claim.Rows) == 0 {
			t.Errorf("claimed %+v, %v", claim, err)
		}
	})
}
