package sqladopt

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// migrated are pastes that have ended, one of which never names a content, and contents
// without references.
const migrated = `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count bigint NOT NULL);
	CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), expires_at bigint);
	CREATE INDEX named ON pastes (hash);
	INSERT INTO content VALUES ('a', 0); INSERT INTO content VALUES ('b', 0);
	INSERT INTO pastes VALUES ('p', NULL, 800000000)`

// avatars is a migration after which another table names a content.
const avatars = `CREATE TABLE avatars (id integer PRIMARY KEY, hash varchar(40), FOREIGN KEY (hash) REFERENCES content (hash));
	INSERT INTO avatars VALUES (1, 'a')`

// A foreign key to contents that comes while a collection is open: what it names is not
// taken, whether contents are counted or not.
func TestNewForeignKey(t *testing.T) {
	for name, count := range map[string]string{"counted": "ref_count", "uncounted": ""} {
		t.Run(name, func(t *testing.T) {
			onEngines(t, migrated, func(t *testing.T, db *DB) { marksNoneThatIsNamed(t, db, count) })
		})
	}
}

func marksNoneThatIsNamed(t *testing.T, db *DB, count string) {
	t.Helper()
	ctx, c := context.WithoutCancel(t.Context()), countedBy(t, db, count)
	c.c.Guard = adopt.TriggerGuard
	if err := c.InstallGuard(ctx); err != nil {
		t.Fatal(err)
	}
	if n, _, err := c.Find(ctx, "", 9, 0); err != nil || n != 2 {
		t.Fatalf("found %d, %v", n, err)
	}
	script(t, db, avatars)
	if m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, adopt.ErrChanged) {
		t.Errorf("marked %+v, %v", m, err)
	}
	if count == "" {
		_, err := db.Collection(ctx, "pastes", c.c)
		if err == nil || !strings.Contains(err.Error(), "avatars.hash refers to content as well") {
			t.Errorf("opened anew: %v", err)
		}
		return
	}
	c = countedBy(t, db, count)
	c.c.Guard = adopt.TriggerGuard
	m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
	if err != nil || len(m.Contents) != 1 || m.Contents[0].Content != "b" {
		t.Errorf("opened anew, it marked %+v, %v", m, err)
	}
}

// A cascade by which contents go with rows, directly or over another table, that comes while a
// collection is open: no row goes, and then the collection is refused.
func TestNewCascade(t *testing.T) {
	for what, m := range map[string]struct{ before, change, lite string }{
		"direct": {"", "ALTER TABLE content ADD FOREIGN KEY (draft) REFERENCES pastes (code) ON DELETE CASCADE", ""},
		"over another": {
			", FOREIGN KEY (draft) REFERENCES drafts (id) ON DELETE CASCADE", "ALTER TABLE drafts ADD FOREIGN KEY (document) REFERENCES pastes (code) ON DELETE CASCADE",
			"DROP TABLE drafts; CREATE TABLE drafts (id varchar(40) NOT NULL PRIMARY KEY, document varchar(40) REFERENCES pastes (code) ON DELETE CASCADE)",
		},
	} {
		t.Run(what, func(t *testing.T) {
			tables := "CREATE TABLE drafts (id varchar(40) NOT NULL PRIMARY KEY, document varchar(40)); " + strings.NewReplacer(
				"ref_count bigint NOT NULL", "ref_count bigint NOT NULL, draft varchar(40)"+m.before, "INTO content", "INTO content (hash, ref_count)").Replace(migrated)
			onEngines(t, tables, func(t *testing.T, db *DB) {
				change := m.change
				if db.runner.Dialect.Name == sqldb.SQLiteName {
					if change = m.lite; change == "" {
						t.Skip("a foreign key comes with its table")
					}
				}
				c := countedBy(t, db, "ref_count")
				script(t, db, change)
				if err := takes(t, c); !errors.Is(err, adopt.ErrChanged) {
					t.Error(err)
				}
				if _, err := db.Collection(t.Context(), "pastes", c.c); err == nil || !strings.Contains(err.Error(), "rows of content go with those of pastes") {
					t.Errorf("opened anew: %v", err)
				}
			})
		})
	}
}

// One by which rows go with contents: no content goes.
func TestNewCascadeOfRows(t *testing.T) {
	onEngines(t, migrated, func(t *testing.T, db *DB) {
		if db.runner.Dialect.Name == sqldb.SQLiteName {
			t.Skip("a foreign key comes with its table")
		}
		ctx, c := context.WithoutCancel(t.Context()), countedBy(t, db, "")
		c.c.Guard = adopt.TriggerGuard
		if err := c.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		_, _, found := c.Find(ctx, "", 9, 0)
		m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 1, Late: time.Hour})
		if err != nil || found != nil || len(m.Contents) != 1 {
			t.Fatal(m, err, found)
		}
		script(t, db, "ALTER TABLE pastes ADD FOREIGN KEY (hash) REFERENCES content (hash) ON DELETE CASCADE")
		if out, err := c.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: m.Contents[0].Content}}, adopt.DefaultGrace); !errors.Is(err, adopt.ErrChanged) {
			t.Errorf("confirmed %+v, %v", out, err)
		}
	})
}

// A foreign key that comes while an object is copied into quarantine: the object stays.
func TestNewForeignKeyInQuarantine(t *testing.T) {
	onEngines(t, migrated, func(t *testing.T, db *DB) {
		ctx, q := t.Context(), countedBy(t, db, "").Quarantine()
		begun, err := q.Begin(ctx, []adopt.FoundObject{{Key: "content/a", Copy: "q/a", Tag: "t"}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		script(t, db, avatars)
		if may, err := q.Moved(ctx, begun.Fence, []string{"content/a"}, adopt.Terms{}); !errors.Is(err, adopt.ErrChanged) {
			t.Errorf("moved %v, %v", may, err)
		}
	})
}

// While the tables are others than a collection was opened for it takes nothing, and where
// they are as they were it goes on. What does not matter to it may change.
func TestTablesThatChange(t *testing.T) {
	onEngines(t, migrated, func(t *testing.T, db *DB) {
		name := db.runner.Dialect.Name
		for _, m := range []struct {
			on, change, back string
			others           bool // they are others than before
		}{
			{"", "CREATE TABLE notes (id integer PRIMARY KEY, hash varchar(40))", "DROP TABLE notes", false},
			{sqldb.PostgresName, "CREATE INDEX ended ON pastes (expires_at)", "DROP INDEX ended", false},
			{sqldb.MySQLName, "CREATE INDEX ended ON pastes (expires_at)", "DROP INDEX ended ON pastes", false},
			{"", "ALTER TABLE pastes ADD COLUMN title varchar(40)", "ALTER TABLE pastes DROP COLUMN title", true},
			{"", "ALTER TABLE pastes RENAME COLUMN hash TO was; ALTER TABLE pastes RENAME COLUMN code TO hash; ALTER TABLE pastes RENAME COLUMN was TO code",
				"ALTER TABLE pastes RENAME COLUMN code TO was; ALTER TABLE pastes RENAME COLUMN hash TO code; ALTER TABLE pastes RENAME COLUMN was TO hash", true},
			{"", "ALTER TABLE content RENAME TO hidden", "ALTER TABLE hidden RENAME TO content", true},
			{sqldb.PostgresName, "ALTER TABLE pastes ALTER expires_at TYPE integer", "ALTER TABLE pastes ALTER expires_at TYPE bigint", true},
			{sqldb.PostgresName, "ALTER TABLE content DROP CONSTRAINT content_pkey", "ALTER TABLE content ADD PRIMARY KEY (hash)", true},
			{sqldb.PostgresName, "CREATE TABLE older () INHERITS (pastes)", "DROP TABLE older", true},
			{sqldb.MySQLName, "ALTER TABLE pastes MODIFY expires_at int", "ALTER TABLE pastes MODIFY expires_at bigint", true},
			{sqldb.MySQLName, "ALTER TABLE content DROP PRIMARY KEY", "ALTER TABLE content ADD PRIMARY KEY (hash)", true},
			{sqldb.MySQLName, "ALTER TABLE pastes MODIFY hash varchar(40) COLLATE utf8mb4_bin", "ALTER TABLE pastes MODIFY hash varchar(40)", true},
		} {
			if m.on != "" && m.on != name {
				continue
			}
			c := countedBy(t, db, "ref_count")
			script(t, db, m.change)
			if err := takes(t, c); errors.Is(err, adopt.ErrChanged) != m.others || !m.others && err != nil {
				t.Errorf("%s: %v", m.change, err)
			}
			script(t, db, m.back)
			if err := takes(t, countedBy(t, db, "ref_count")); err != nil {
				t.Errorf("%s: %v", m.back, err)
			}
		}
	})
}

// takes takes the paste, and inserts it again.
func takes(t *testing.T, c *Collection) error {
	out, err := c.Take(context.WithoutCancel(t.Context()), 9, 0)
	if err == nil && out.Gone != 1 {
		t.Errorf("took %+v", out)
	}
	if err == nil {
		script(t, c.db, "INSERT INTO pastes (code, expires_at) VALUES ('p', 800000000)")
	}
	return err
}

// An end that becomes one of another zone, of a row that lives for another hour.
func TestZoneOfEndsChanges(t *testing.T) {
	db := openDB(t, servers.Postgres(t))
	script(t, db, `CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, expires_at timestamptz);
		INSERT INTO pastes VALUES ('p', now() + interval '1 hour')`)
	ctx, described := t.Context(), adopt.Collection{Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Zone: "America/New_York"}}
	c, err := db.Collection(ctx, "pastes", described)
	if err != nil {
		t.Fatal(err)
	}
	script(t, db, "ALTER TABLE pastes ALTER expires_at TYPE timestamp USING expires_at AT TIME ZONE 'America/New_York'")
	if out, err := c.Take(ctx, 9, 0); !errors.Is(err, adopt.ErrChanged) {
		t.Errorf("took %+v, %v", out, err)
	}
	if c, err = db.Collection(ctx, "pastes", described); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Take(ctx, 9, 0); err != nil || out.Gone != 0 {
		t.Errorf("opened anew, it took %+v, %v", out, err)
	}
}

// Marks that another worker has are no reason to look at all tables once more.
func TestLostMarksAreNoChange(t *testing.T) {
	onEngines(t, migrated, func(t *testing.T, db *DB) {
		c := countedBy(t, db, "ref_count")
		var ran []string
		db.o.Watch = func(ctx context.Context, name string) (context.Context, func(error)) {
			ran = append(ran, name)
			return ctx, func(error) {}
		}
		out, err := c.Confirm(t.Context(), 1, []adopt.Outcome{{Content: "a"}}, adopt.DefaultGrace)
		if err != nil || out.Lost != 1 || !slices.Equal(ran, []string{"confirm contents", "confirm contents"}) {
			t.Errorf("confirmed %+v, %v, by %q", out, err, ran)
		}
	})
}
