package sqladopt

import (
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// refuses reports a statement that the guard has to refuse, and does not.
func refuses(t *testing.T, db *DB, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if app(t, db, text) == nil {
			t.Errorf("%s was not refused", text)
		}
	}
}

// The guard sees a column that the database computes from another, whatever columns a
// statement names.
func TestGuardOfGeneratedColumns(t *testing.T) {
	onEngines(t, "CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY); INSERT INTO content VALUES ('a')", func(t *testing.T, db *DB) {
		for _, kind := range []string{"STORED", "VIRTUAL"} {
			if kind == "VIRTUAL" && db.runner.Dialect.Name == sqldb.PostgresName {
				continue
			}
			script(t, db, "CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, doc varchar(40), expires_at bigint, hash varchar(40) GENERATED ALWAYS AS (substr(doc, 5)) "+kind+`);
				CREATE INDEX hashes ON pastes (hash); INSERT INTO pastes (code, doc) VALUES ('other', 'sha:b')`)
			c := guardedIn(t, db, describing("hash", "content/{hash}"))
			if kind == "STORED" {
				finds(t, c, 1)
				marksOne(t, c, "a")
			}
			refuses(t, db, "INSERT INTO pastes (code, doc) VALUES ('late', 'sha:a')", "UPDATE pastes SET doc = 'sha:a'")

			d := describing("", "")
			d.Contents, d.Rows.Content, d.Rows.Objects, d.Grace.Unreferenced, d.Guard = nil, "", []string{"content/" + kind + "/{hash}"}, new(adopt.Duration), adopt.TriggerGuard
			owned, err := db.Collection(t.Context(), kind, d)
			if err == nil {
				err = owned.InstallGuard(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			script(t, db, "UPDATE pastes SET doc = 'sha:c'")
			marksOne(t, owned, "content/"+kind+"/b")
			refuses(t, db, "INSERT INTO pastes (code, doc) VALUES ('late', 'sha:b')", "UPDATE pastes SET doc = 'sha:b'")
			script(t, db, "DROP TABLE pastes")
		}
	})
}

// A generated column is seen as it is computed from what triggers of the application set.
func TestGuardOfGeneratedColumnsOfWhatTriggersSet(t *testing.T) {
	onEngines(t, `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY); INSERT INTO content VALUES ('a'); INSERT INTO content VALUES ('b');
		CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, doc varchar(40), expires_at bigint, hash varchar(40) GENERATED ALWAYS AS (substr(doc, 5)) STORED);
		INSERT INTO pastes (code, doc) VALUES ('other', 'sha:b')`, func(t *testing.T, db *DB) {
		if db.runner.Dialect.Name == sqldb.SQLiteName {
			t.Skip("a trigger changes no values there")
		}
		statements(t, db, map[string]string{
			sqldb.PostgresName: "CREATE FUNCTION whole() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.doc = concat(''sha:'', NEW.doc); RETURN NEW; END'; " +
				"CREATE TRIGGER whole BEFORE INSERT OR UPDATE ON pastes FOR EACH ROW EXECUTE FUNCTION whole()",
			sqldb.MySQLName: "CREATE TRIGGER whole BEFORE INSERT ON pastes FOR EACH ROW SET NEW.doc = concat('sha:', NEW.doc); " +
				"CREATE TRIGGER again BEFORE UPDATE ON pastes FOR EACH ROW SET NEW.doc = concat('sha:', NEW.doc)",
		})
		c := guardedIn(t, db, describing("hash", "content/{hash}"))
		finds(t, c, 1)
		marksOne(t, c, "a")
		refuses(t, db, "INSERT INTO pastes (code, doc) VALUES ('late', 'a')", "UPDATE pastes SET doc = 'a'")
		script(t, db, "UPDATE pastes SET doc = 'b'; DELETE FROM pastes")
	})
}

// A count that a trigger of the application raises is seen, whatever columns a statement names.
func TestGuardSeesCountsThatTriggersSet(t *testing.T) {
	onEngines(t, counted(1), func(t *testing.T, db *DB) {
		if db.runner.Dialect.Name == sqldb.SQLiteName {
			t.Skip("a trigger changes no values there")
		}
		script(t, db, "DELETE FROM pins; UPDATE content SET ref_count = 0")
		c := guardedBy(t, db)
		statements(t, db, map[string]string{
			sqldb.PostgresName: "CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.ref_count = 1; RETURN NEW; END'; " +
				"CREATE TRIGGER up BEFORE UPDATE ON content FOR EACH ROW EXECUTE FUNCTION up()",
			sqldb.MySQLName: "CREATE TRIGGER up BEFORE UPDATE ON content FOR EACH ROW SET NEW.ref_count = 1",
		})
		finds(t, c, 1)
		marksOne(t, c, "h000")
		refuses(t, db, "UPDATE content SET note = 'up'")
	})
}

// No content gets the key of one that is being deleted.
func TestGuardOfKeysThatChange(t *testing.T) {
	onEngines(t, counted(1), func(t *testing.T, db *DB) {
		script(t, db, "DELETE FROM pins; UPDATE content SET ref_count = 0; INSERT INTO content VALUES ('other', 1, 0, 0, '')")
		c := guardedBy(t, db)
		finds(t, c, 1)
		m := marksOne(t, c, "h000")
		if _, err := c.Confirm(t.Context(), m.Fence, []adopt.Outcome{{Content: "h000"}}, adopt.DefaultGrace); err != nil {
			t.Fatal(err)
		}
		refuses(t, db, "UPDATE content SET hash = 'h000'")
		script(t, db, "UPDATE content SET hash = 'another'")
	})
}
