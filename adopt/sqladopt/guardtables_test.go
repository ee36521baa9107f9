package sqladopt

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// app runs a statement of the application.
func app(t *testing.T, db *DB, text string) error {
	return db.write(t.Context(), "act as the application", func(t *tx) error { return t.script(text) })
}

// guardedIn opens a collection in a database, and guards it.
func guardedIn(t *testing.T, db *DB, d adopt.Collection) *Collection {
	t.Helper()
	d.Guard = adopt.TriggerGuard
	c, err := db.Collection(t.Context(), "pastes", d)
	if err == nil {
		err = c.InstallGuard(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unguarded has to be: nothing is marked, and the check says why.
func unguarded(t *testing.T, c *Collection, what, why string) {
	t.Helper()
	if yes, err := c.Guarded(t.Context()); yes || err != nil {
		t.Errorf("%s: guarded %v, %v", what, yes, err)
	}
	if m, err := c.Mark(t.Context(), adopt.MarkRequest{Limit: 9, Late: time.Hour}); !errors.Is(err, adopt.ErrUnguarded) {
		t.Errorf("%s: marked %+v, %v", what, m, err)
	}
	if found, err := c.Check(t.Context()); err != nil || !adopt.Problems(found) || !strings.Contains(findings(found), why) {
		t.Errorf("%s: found %s, %v", what, findings(found), err)
	}
}

// marksOne marks what is due, which has to be this content.
func marksOne(t *testing.T, c *Collection, content string) adopt.Marked {
	t.Helper()
	m, err := c.Mark(t.Context(), adopt.MarkRequest{Limit: 9, Late: time.Hour})
	if err != nil || len(m.Contents) != 1 || m.Contents[0].Content != content {
		t.Fatalf("marked %+v, %v", m, err)
	}
	return m
}

// finds looks for contents that nothing refers to.
func finds(t *testing.T, c *Collection, want int) {
	t.Helper()
	if n, _, err := c.Find(t.Context(), "", 9, 0); n != want || err != nil {
		t.Fatalf("found %d, %v", n, err)
	}
}

func describing(key, object string) adopt.Collection {
	return adopt.Collection{
		Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
		Contents: &adopt.Table{Table: "content", Key: key, Object: object}, Prefix: "content/",
	}
}

// A table that takes the place of a guarded one, as a tool that changes schemas beside the
// application does it, has no guard: the triggers stay on the former table.
func TestGuardOfATableThatIsReplaced(t *testing.T) {
	pastes := "(code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), expires_at bigint)"
	contents, owned := describing("hash", "content/{hash}"), describing("", "")
	owned.Contents, owned.Rows.Content, owned.Rows.Objects, owned.Grace.Unreferenced = nil, "", []string{"content/{hash}"}, new(adopt.Duration)
	for what, d := range map[string]adopt.Collection{"contents": contents, "owned": owned} {
		t.Run(what, func(t *testing.T) {
			onEngines(t, "CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY); INSERT INTO content VALUES ('a'); CREATE TABLE pastes "+pastes+"; INSERT INTO pastes VALUES ('p', 'b', NULL)", func(t *testing.T, db *DB) {
				c := guardedIn(t, db, d)
				want := "a"
				if d.Contents != nil {
					finds(t, c, 1)
				} else {
					script(t, db, "DELETE FROM pastes; INSERT INTO pastes VALUES ('q', 'c', NULL)")
					want = "content/b"
				}
				script(t, db, "CREATE TABLE pastes_new "+pastes+"; INSERT INTO pastes_new SELECT * FROM pastes; ALTER TABLE pastes RENAME TO pastes_old; ALTER TABLE pastes_new RENAME TO pastes")
				unguarded(t, c, "a run under way", "its guard is on ")
				c, err := db.Collection(t.Context(), "pastes", c.c)
				if err != nil {
					t.Fatal(err)
				}
				unguarded(t, c, "a run that begins", "its guard is on ")
				if err := c.InstallGuard(t.Context()); err != nil {
					t.Fatal(err)
				}
				marksOne(t, c, want)
				if err := app(t, db, "INSERT INTO pastes VALUES ('late', '"+strings.TrimPrefix(want, "content/")+"', NULL)"); err == nil {
					t.Error("a row names what is marked")
				}
				if err := app(t, db, "INSERT INTO pastes_old VALUES ('late', '"+strings.TrimPrefix(want, "content/")+"', NULL)"); err != nil {
					t.Errorf("the former table has triggers: %v", err)
				}
			})
		})
	}
}

// A trigger of the application that comes after the guard's may change what that has seen.
func TestMySQLGuardComesLast(t *testing.T) {
	s := newMySQLSite(t, hastyMariaDB(t).Database(t), mysqlKind{loose: true})
	s.must("INSERT INTO content VALUES ('a', 0)")
	finds(t, s.Collection, 1)
	for event, text := range map[string]string{
		"INSERT": "INSERT INTO pastes (code, hash) VALUES ('p', 'sha:a')", "UPDATE": "UPDATE pastes SET hash = 'sha:a' WHERE code = 'other'",
	} {
		s.must("CREATE TRIGGER norm_" + event + " BEFORE " + event + " ON pastes FOR EACH ROW SET NEW.hash = trim(LEADING 'sha:' FROM NEW.hash)")
		unguarded(t, s.Collection, event, "a trigger of the application has come after it")
		if err := s.InstallGuard(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.must("CREATE TRIGGER seen_" + event + " AFTER " + event + " ON pastes FOR EACH ROW SET @seen = NEW.hash")
		if yes, err := s.Guarded(t.Context()); !yes || err != nil {
			t.Errorf("with one that changes nothing: guarded %v, %v", yes, err)
		}
		defer func() {
			if _, err := s.pool.ExecContext(t.Context(), text); refusedByMySQL(err) == nil {
				t.Errorf("%s: %v", text, err)
			}
		}()
	}
	s.must("INSERT INTO pastes (code, hash) VALUES ('other', NULL)")
	marksOne(t, s.Collection, "a")
}

// What a trigger means depends on the mode of the session that made it.
func TestMySQLGuardInAnotherMode(t *testing.T) {
	s := newMySQLSite(t, hastyMariaDB(t).Database(t), mysqlKind{})
	conn, err := s.pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, mode := range []string{"ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,PIPES_AS_CONCAT"} {
		if _, err := conn.ExecContext(t.Context(), "SET SESSION sql_mode = '"+mode+"'; "+s.GuardSQL()); err != nil {
			t.Fatal(err)
		}
		want := strings.Count(mode, ",") == 2
		if yes, err := s.Guarded(t.Context()); yes != want || err != nil {
			t.Errorf("in %s: guarded %v, %v", mode, yes, err)
		}
	}
}

// Contents that the database numbers do not wait for each other, and one that gets the number
// of what is being deleted is refused.
func TestMySQLGuardOfNumberedContents(t *testing.T) {
	server := hastyMariaDB(t)
	for _, object := range []string{"content/{id}", "content/{path}"} {
		for _, isolation := range []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead} {
			t.Run(object+" "+isolation.String(), func(t *testing.T) {
				site := &mysqlSite{t: t, url: server.Database(t)}
				db, pool := site.database(), newMySQLPool(t, site.url)
				if err := db.Install(t.Context()); err != nil {
					t.Fatal(err)
				}
				script(t, db, `CREATE TABLE content (id bigint NOT NULL AUTO_INCREMENT PRIMARY KEY, path varchar(60) NOT NULL, UNIQUE (path));
					CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash bigint, expires_at bigint, INDEX (hash))`)
				c := guardedIn(t, db, describing("id", object))
				var open []*sql.Tx
				for _, path := range []string{"a", "c", "b"} {
					tx, err := pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: isolation})
					if err != nil {
						t.Fatal(err)
					}
					defer tx.Rollback()
					open = append(open, tx)
					if _, err := tx.ExecContext(t.Context(), "SET SESSION innodb_lock_wait_timeout = 1; INSERT INTO content (path) VALUES ('"+path+"')"); err != nil {
						t.Fatalf("%s, while others are being stored: %v", path, err)
					}
				}
				for _, tx := range open {
					_ = tx.Rollback()
				}
				script(t, db, "INSERT INTO content VALUES (1, 'x')")
				finds(t, c, 1)
				m := marksOne(t, c, "1")
				if _, err := c.Confirm(t.Context(), m.Fence, []adopt.Outcome{{Content: "1"}}, adopt.DefaultGrace); err != nil {
					t.Fatal(err)
				}
				script(t, db, "TRUNCATE content")
				if _, err := pool.ExecContext(t.Context(), "INSERT INTO content (path) VALUES ('x')"); refusedByMySQL(err) == nil {
					t.Errorf("stored again: %v", err)
				}
			})
		}
	}
}

// A row reaches a partition past a trigger that is disabled there alone.
func TestGuardOfEachPartition(t *testing.T) {
	contents, owned := describing("hash", "content/{hash}"), describing("", "")
	owned.Contents, owned.Rows.Content, owned.Rows.Objects, owned.Grace.Unreferenced = nil, "", []string{"content/{hash}"}, new(adopt.Duration)
	for what, d := range map[string]adopt.Collection{"contents": contents, "owned": owned} {
		t.Run(what, func(t *testing.T) {
			db := openDB(t, servers.Postgres(t))
			script(t, db, `CREATE TABLE content (hash text NOT NULL PRIMARY KEY);
				CREATE TABLE pastes (code text NOT NULL PRIMARY KEY, hash text, expires_at bigint) PARTITION BY HASH (code);
				CREATE TABLE even PARTITION OF pastes FOR VALUES WITH (MODULUS 2, REMAINDER 0);
				CREATE TABLE odd PARTITION OF pastes FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (code);
				CREATE TABLE lowest PARTITION OF odd FOR VALUES WITH (MODULUS 1, REMAINDER 0)`)
			c := guardedIn(t, db, d)
			first := "lethe_pastes_rows"
			if d.Contents != nil {
				first = firstTrigger("pastes", "rows")
				script(t, db, "INSERT INTO content VALUES ('a')")
				finds(t, c, 1)
			} else {
				script(t, db, "INSERT INTO pastes VALUES ('p', 'a', NULL); DELETE FROM pastes")
			}
			for _, change := range []string{
				"ALTER TABLE even DISABLE TRIGGER USER", "ALTER TABLE lowest DISABLE TRIGGER ALL", "ALTER TABLE ONLY pastes DISABLE TRIGGER USER",
				`ALTER TABLE lowest ENABLE REPLICA TRIGGER "` + first + `"`, `ALTER TABLE ONLY pastes ENABLE REPLICA TRIGGER "` + first + `"`,
			} {
				script(t, db, change)
				unguarded(t, c, change, "one of its triggers is disabled or gone")
				if err := c.InstallGuard(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			script(t, db, "CREATE TABLE more (code text NOT NULL PRIMARY KEY, hash text, expires_at bigint); ALTER TABLE pastes DETACH PARTITION even; ALTER TABLE pastes ATTACH PARTITION more FOR VALUES WITH (MODULUS 2, REMAINDER 0)")
			if yes, err := c.Guarded(t.Context()); !yes || err != nil {
				t.Errorf("with other partitions: guarded %v, %v", yes, err)
			}
		})
	}
}
