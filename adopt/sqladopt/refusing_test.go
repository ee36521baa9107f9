package sqladopt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// refusingRows are three rows that have ended; the database does not let the oldest be changed.
const refusingRows = `CREATE TABLE log (code varchar(2)); CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, expires_at bigint, state varchar(10) NOT NULL, since bigint, n integer NOT NULL);
	INSERT INTO pastes VALUES ('bad', 1000000000, 'LIVE', NULL, 0); INSERT INTO pastes VALUES ('b', 1000000001, 'LIVE', NULL, 1); INSERT INTO pastes VALUES ('c', 1000000002, 'LIVE', NULL, 1)`

// keepsTheBad passes over the rows: all go but one, which is held. It returns their collection.
func keepsTheBad(t *testing.T, db *DB, status *adopt.Status) *Collection {
	t.Helper()
	return keepsOf(t, db, pastesOf(status), "bad")
}

// pastesOf describes such rows.
func pastesOf(status *adopt.Status) adopt.Collection {
	d := adopt.Collection{Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Status: status}}
	if status != nil {
		d.Rows.Initiated = "since"
	}
	return d
}

// keepsOf is keepsTheBad for another description and key.
func keepsOf(t *testing.T, db *DB, d adopt.Collection, bad string) *Collection {
	t.Helper()
	status := d.Rows.Status
	c, err := db.Collection(t.Context(), "pastes", d)
	if err != nil {
		t.Fatal(err)
	}
	var refused []string
	events := &adopt.Events{Refused: func(_, key, _ string) { refused = append(refused, key) }}
	pass := (&adopt.Take{Collection: "pastes", Records: c, Holds: c, Batch: 10, Events: events}).Pass("worker")
	if status != nil {
		pass = (&adopt.Expire{Collection: "pastes", Records: c, Holds: c, Batch: 10, Events: events}).Pass("worker")
	}
	counts := map[string]int64{}
	for more := true; more; {
		if more, err = pass(t.Context(), func(what string, n int64) { counts[what] += n }); err != nil {
			t.Fatal(err)
		}
	}
	err = db.read(t.Context(), "look at rows", func(in *tx) error {
		left, err := all(in, text, "SELECT code FROM pastes")
		if !slices.Equal(left, []string{bad}) || !slices.Equal(refused, left) || counts["rows"] != 2 || counts["refused"] != 1 {
			t.Errorf("rows %q are left, %q were refused: %v", left, refused, counts)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A row that cannot be claimed, as it violates a check that is younger, or as a trigger
// keeps it as it is, does not keep the others.
func TestRowsThatCannotBeClaimed(t *testing.T) {
	for what, kept := range map[string]map[string]string{
		"refused": {
			sqldb.PostgresName: "ALTER TABLE pastes ADD CONSTRAINT positive CHECK (n > 0) NOT VALID",
			sqldb.SQLiteName:   "CREATE TRIGGER closed BEFORE UPDATE ON pastes WHEN OLD.n = 0 BEGIN SELECT RAISE(ABORT, 'closed'); END",
			sqldb.MySQLName:    "CREATE TRIGGER closed BEFORE UPDATE ON pastes FOR EACH ROW IF OLD.n = 0 THEN SIGNAL SQLSTATE '45000'; END IF",
		},
		"passed over": {
			sqldb.PostgresName: "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; " +
				"CREATE TRIGGER closed BEFORE UPDATE ON pastes FOR EACH ROW WHEN (OLD.n = 0) EXECUTE FUNCTION closed()",
			sqldb.SQLiteName: "CREATE TRIGGER closed BEFORE UPDATE ON pastes WHEN OLD.n = 0 BEGIN SELECT RAISE(IGNORE); END",
		},
	} {
		t.Run(what, func(t *testing.T) {
			onEngines(t, refusingRows, func(t *testing.T, db *DB) {
				if kept[db.runner.Dialect.Name] == "" {
					t.Skip("no trigger passes a row over there")
				}
				statements(t, db, kept)
				keepsTheBad(t, db, &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"})
			})
		})
	}
}

// A row in progress that the database lets neither go nor live again keeps no others: neither
// in the pass that claimed it, nor where a batch is given back.
func TestRowsThatCannotBeReleased(t *testing.T) {
	closed := map[string]string{
		sqldb.PostgresName: "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''closed''; END'; " +
			"CREATE TRIGGER closed BEFORE UPDATE OR DELETE ON pastes FOR EACH ROW WHEN (OLD.n = 0 AND OLD.state = 'BUSY') EXECUTE FUNCTION closed()",
		sqldb.SQLiteName: "CREATE TRIGGER closed BEFORE UPDATE ON pastes WHEN OLD.n = 0 AND OLD.state = 'BUSY' BEGIN SELECT RAISE(ABORT, 'closed'); END; " +
			"CREATE TRIGGER stays BEFORE DELETE ON pastes WHEN OLD.n = 0 AND OLD.state = 'BUSY' BEGIN SELECT RAISE(ABORT, 'closed'); END",
		sqldb.MySQLName: "CREATE TRIGGER closed BEFORE UPDATE ON pastes FOR EACH ROW IF OLD.n = 0 AND OLD.state = 'BUSY' THEN SIGNAL SQLSTATE '45000'; END IF; " +
			"CREATE TRIGGER stays BEFORE DELETE ON pastes FOR EACH ROW IF OLD.n = 0 AND OLD.state = 'BUSY' THEN SIGNAL SQLSTATE '45000'; END IF",
	}
	onEngines(t, refusingRows, func(t *testing.T, db *DB) {
		statements(t, db, closed)
		c := keepsTheBad(t, db, &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"})
		script(t, db, "INSERT INTO pastes VALUES ('d', 1000000000, 'LIVE', NULL, 1); INSERT INTO pastes VALUES ('a', 1000000000, 'LIVE', NULL, 0); INSERT INTO pastes VALUES ('e', 1000000000, 'LIVE', NULL, 1)")
		claim, err := c.Claim(t.Context(), 9)
		if err != nil || len(claim.Rows) != 3 {
			t.Fatal(claim, err)
		}
		if n, err := c.Release(t.Context(), claim); n != 2 || err == nil || !strings.Contains(err.Error(), "row a stays in progress") {
			t.Errorf("released %d, %v", n, err)
		}
	})
}

// A row whose key does not find it, as its character set has another one for that text, keeps
// no others.
func TestRowsThatKeysDoNotFind(t *testing.T) {
	for what, status := range map[string]*adopt.Status{"taken": nil, "claimed": {Column: "state", Live: "LIVE", Claimed: "BUSY"}} {
		t.Run(what, func(t *testing.T) {
			db := (&mysqlSite{t: t, url: servers.MariaDB(t)}).database()
			if err := db.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			script(t, db, refusingRows+"; ALTER TABLE pastes MODIFY code varchar(40) CHARACTER SET cp932 NOT NULL; UPDATE pastes SET code = unhex('8790') WHERE code = 'bad'")
			c := keepsOf(t, db, pastesOf(status), "≒")
			holds, err := c.Holds(t.Context())
			if err != nil || len(holds) != 1 || !strings.Contains(holds[0].Reason, "its key does not find it") {
				t.Errorf("held: %v, %v", holds, err)
			}
		})
	}
}

// A row that names a content by a key that is not UTF-8 keeps no others.
func TestRowsThatNameNoText(t *testing.T) {
	for what, status := range map[string]*adopt.Status{"taken": nil, "claimed": {Column: "state", Live: "LIVE", Claimed: "BUSY"}} {
		t.Run(what, func(t *testing.T) {
			db, _ := liteDB(t, refusingRows+`; ALTER TABLE pastes ADD COLUMN hash text; UPDATE pastes SET hash = CAST(x'61ff' AS TEXT) WHERE code = 'bad';
				CREATE INDEX named ON pastes (hash); CREATE TABLE content (hash text NOT NULL PRIMARY KEY)`)
			if err := db.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			d := pastesOf(status)
			d.Rows.Content, d.Contents, d.Prefix = "hash", &adopt.Table{Table: "content", Key: "hash", Object: "content/{hash}"}, "content/"
			keepsOf(t, db, d, "bad")
		})
	}
}

// vanishing is rows of which the application removes one before a refused claim of it is
// given back.
type vanishing struct {
	*Collection
	vanish func()
}

func (v vanishing) Release(ctx context.Context, c adopt.Claim) (int, error) {
	v.vanish()
	return v.Collection.Release(ctx, c)
}

// A row that is gone by then is not held: another one may get its key.
func TestRefusedRowsThatAreGone(t *testing.T) {
	closed := map[string]string{
		sqldb.PostgresName: "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''closed''; END'; " +
			"CREATE TRIGGER closed BEFORE DELETE ON pastes FOR EACH ROW WHEN (OLD.n = 0) EXECUTE FUNCTION closed()",
		sqldb.SQLiteName: "CREATE TRIGGER closed BEFORE DELETE ON pastes WHEN OLD.n = 0 BEGIN SELECT RAISE(ABORT, 'closed'); END",
		sqldb.MySQLName:  "CREATE TRIGGER closed BEFORE DELETE ON pastes FOR EACH ROW IF OLD.n = 0 THEN SIGNAL SQLSTATE '45000'; END IF",
	}
	onEngines(t, refusingRows, func(t *testing.T, db *DB) {
		statements(t, db, closed)
		c, err := db.Collection(t.Context(), "pastes", pastesOf(&adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}))
		if err != nil {
			t.Fatal(err)
		}
		v := vanishing{c, func() { script(t, db, "UPDATE pastes SET n = 1; DELETE FROM pastes WHERE code = 'bad'") }}
		pass, counts := (&adopt.Expire{Collection: "pastes", Records: v, Holds: c, Batch: 10}).Pass("worker"), map[string]int64{}
		if _, err := pass(t.Context(), func(what string, n int64) { counts[what] += n }); err != nil || counts["lost"] != 1 || counts["refused"] != 0 {
			t.Errorf("counted %v, %v", counts, err)
		}
		if holds, err := c.Holds(t.Context()); err != nil || len(holds) != 0 {
			t.Errorf("held: %v, %v", holds, err)
		}
	})
}

// A row that a trigger passes over is not taken for one that lives again: the watchdog would
// not come to an end.
func TestRowsThatAreNotRecovered(t *testing.T) {
	passed := map[string]string{
		sqldb.PostgresName: "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; " +
			"CREATE TRIGGER closed BEFORE UPDATE ON pastes FOR EACH ROW WHEN (OLD.n = 0) EXECUTE FUNCTION closed()",
		sqldb.SQLiteName: "CREATE TRIGGER closed BEFORE UPDATE ON pastes WHEN OLD.n = 0 BEGIN SELECT RAISE(IGNORE); END",
	}
	onEngines(t, refusingRows, func(t *testing.T, db *DB) {
		if passed[db.runner.Dialect.Name] == "" {
			t.Skip("no trigger passes a row over there")
		}
		recoversAllButOne(t, db, passed)
	})
}

// A row that cannot live again does not keep those of other dead workers.
func TestRowsThatCannotBeRecovered(t *testing.T) {
	closed := map[string]string{
		sqldb.PostgresName: "ALTER TABLE pastes ADD CONSTRAINT positive CHECK (n > 0) NOT VALID",
		sqldb.SQLiteName:   "CREATE TRIGGER closed BEFORE UPDATE ON pastes WHEN OLD.n = 0 BEGIN SELECT RAISE(ABORT, 'closed'); END",
		sqldb.MySQLName:    "CREATE TRIGGER closed BEFORE UPDATE ON pastes FOR EACH ROW IF OLD.n = 0 THEN SIGNAL SQLSTATE '45000'; END IF",
	}
	onEngines(t, refusingRows, func(t *testing.T, db *DB) { recoversAllButOne(t, db, closed) })
}

// recoversAllButOne lets the rows be those of a dead worker, of which a trigger or a check keeps
// one.
func recoversAllButOne(t *testing.T, db *DB, closed map[string]string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := db.Collection(ctx, "pastes", pastesOf(&adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}))
	if err != nil {
		t.Fatal(err)
	}
	script(t, db, "UPDATE pastes SET state = 'BUSY', since = 1000000000")
	statements(t, db, closed)
	for _, limit := range []int{9, 1} { // with 1 it is alone in the oldest batch
		script(t, db, "UPDATE pastes SET state = 'BUSY', since = 1000000001 WHERE n = 1")
		if n, err := c.Recover(ctx, 0, limit); n != 2 || err == nil || !strings.Contains(err.Error(), "row bad stays in progress") {
			t.Errorf("recovered %d by %d, %v", n, limit, err)
		}
		if n, err := c.Recover(ctx, 0, limit); n != 0 || err == nil {
			t.Errorf("then recovered %d by %d, %v", n, limit, err)
		}
	}
}

// Whatever error of a trigger keeps a row, others go.
func TestTriggersRaiseAnyCode(t *testing.T) {
	function := "CREATE FUNCTION closed() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF OLD.n = 0 THEN RAISE; END IF; RETURN OLD; END'; " +
		"CREATE TRIGGER closed BEFORE DELETE ON pastes FOR EACH ROW EXECUTE FUNCTION closed()"
	trigger := "CREATE TRIGGER closed BEFORE DELETE ON pastes FOR EACH ROW IF OLD.n = 0 THEN RAISE; END IF"
	for what, raise := range map[string]map[string]string{
		"its own":       {sqldb.PostgresName: "RAISE EXCEPTION ''closed'' USING ERRCODE = ''L1234''", sqldb.MySQLName: "SIGNAL SQLSTATE '45123' SET MYSQL_ERRNO = 30001"},
		"no right":      {sqldb.PostgresName: "RAISE insufficient_privilege", sqldb.MySQLName: "SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = 1142"},
		"of the server": {sqldb.PostgresName: "PERFORM 1 / OLD.n", sqldb.MySQLName: "INSERT INTO log VALUES (OLD.code)"},
	} {
		t.Run(what, func(t *testing.T) {
			onEngines(t, refusingRows, func(t *testing.T, db *DB) {
				if raise[db.runner.Dialect.Name] == "" {
					t.Skip("there is one code there")
				}
				statements(t, db, map[string]string{
					sqldb.PostgresName: strings.Replace(function, "RAISE", raise[sqldb.PostgresName], 1),
					sqldb.MySQLName:    strings.Replace(trigger, "RAISE", raise[sqldb.MySQLName], 1),
				})
				keepsTheBad(t, db, nil)
			})
		})
	}
}

func forgetHolds(t *testing.T, db *DB) {
	t.Helper()
	err := db.write(t.Context(), "release", func(in *tx) error { _, err := in.exec("DELETE FROM {lethe}holds"); return err })
	if err != nil {
		t.Fatal(err)
	}
}

// A row whose removal, or claim, writes a value twice into a table of the application is no lost
// race: it keeps no others.
func TestRowsThatAreWrittenTwice(t *testing.T) {
	const function, trigger = "CREATE FUNCTION writes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO written VALUES (OLD.n); RETURN OLD; END'; ",
		"CREATE TRIGGER writes AFTER %s ON pastes FOR EACH ROW "
	onEngines(t, "CREATE TABLE log (n integer)", func(t *testing.T, db *DB) {
		for _, key := range []string{"PRIMARY KEY", "UNIQUE"} {
			for on, status := range map[string]*adopt.Status{"DELETE": nil, "UPDATE": {Column: "state", Live: "LIVE", Claimed: "BUSY"}} {
				script(t, db, "DROP TABLE IF EXISTS pastes; DROP TABLE IF EXISTS log; DROP TABLE IF EXISTS written; "+
					strings.Replace(refusingRows, "NULL, 1)", "NULL, 2)", 1)+"; CREATE TABLE written (n integer NOT NULL "+key+"); INSERT INTO written VALUES (0)")
				statements(t, db, map[string]string{
					sqldb.PostgresName: "DROP FUNCTION IF EXISTS writes; " + function + fmt.Sprintf(trigger, on) + "EXECUTE FUNCTION writes()",
					sqldb.SQLiteName:   fmt.Sprintf(trigger, on) + "BEGIN INSERT INTO written VALUES (OLD.n); END",
					sqldb.MySQLName:    fmt.Sprintf(trigger, on) + "INSERT INTO written VALUES (OLD.n)",
				})
				raced := db.runner.Count.Raced.Load()
				keepsTheBad(t, db, status)
				if n := db.runner.Count.Raced.Load() - raced; n != 0 && (db.runner.Dialect.Name != sqldb.MySQLName || key == "UNIQUE") {
					t.Errorf("%s: %d lost races", key, n)
				}
				forgetHolds(t, db)
			}
		}
	})
}

// A row that a deferred foreign key needs, as some frameworks declare all of them, keeps no others:
// COMMIT fails, and did nothing.
func TestRowsThatADeferredForeignKeyNeeds(t *testing.T) {
	onEngines(t, refusingRows, func(t *testing.T, db *DB) {
		if db.runner.Dialect.Name == sqldb.MySQLName {
			t.Skip("there are none")
		}
		var c *Collection
		for _, status := range []*adopt.Status{nil, {Column: "state", Live: "LIVE", Claimed: "BUSY"}} {
			script(t, db, `DROP TABLE IF EXISTS comments; DELETE FROM pastes;
				INSERT INTO pastes VALUES ('bad', 1000000000, 'LIVE', NULL, 0); INSERT INTO pastes VALUES ('b', 1000000001, 'LIVE', NULL, 1); INSERT INTO pastes VALUES ('c', 1000000002, 'LIVE', NULL, 1);
				CREATE TABLE comments (id integer NOT NULL PRIMARY KEY, paste varchar(40) NOT NULL REFERENCES pastes (code) DEFERRABLE INITIALLY DEFERRED);
				INSERT INTO comments VALUES (1, 'bad')`)
			c = keepsTheBad(t, db, status)
			forgetHolds(t, db)
		}
		claim, err := c.Claim(t.Context(), 9)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Settle(t.Context(), claim, 0); err == nil || out.Gone != 0 {
			t.Errorf("settled %+v, %v", out, err)
		}
	})
}
