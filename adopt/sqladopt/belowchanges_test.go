package sqladopt

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// A foreign key that comes while the collection above is open counts: SQLite cannot add one
// to a table, and opens the collection anew.
func TestCascadesThatCome(t *testing.T) {
	onEngines(t, `CREATE TABLE albums (id integer NOT NULL PRIMARY KEY, ends bigint);
		CREATE TABLE photos (code varchar(20) NOT NULL PRIMARY KEY, page integer, ends bigint);
		INSERT INTO albums VALUES (1, 800000000); INSERT INTO albums VALUES (2, 800000000); INSERT INTO photos VALUES ('a', 1, NULL)`, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		above := a.of("albums")
		if db.runner.Dialect.Name == sqldb.SQLiteName {
			script(t, db, `DROP TABLE photos; INSERT INTO albums VALUES (3, NULL);
				CREATE TABLE photos (code varchar(20) NOT NULL PRIMARY KEY, page integer REFERENCES albums (id) ON DELETE CASCADE, ends bigint); INSERT INTO photos VALUES ('a', 1, NULL)`)
		} else {
			script(t, db, "ALTER TABLE photos ADD CONSTRAINT up FOREIGN KEY (page) REFERENCES albums (id) ON DELETE CASCADE")
		}
		if _, _, err := a.of("photos").AddHold(ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
			t.Fatal(err)
		}
		var refused *adopt.Refusal
		if out, err := above.Take(ctx, 9, 0); !errors.As(err, &refused) && !errors.Is(err, adopt.ErrChanged) {
			t.Errorf("took %+v, %v", out, err)
		}
		if keys := a.left("photos"); len(keys) != 1 {
			t.Errorf("photos left are %q", keys)
		}
		if n, why := a.take("albums"); n != 1 || len(why) != 1 {
			t.Errorf("%d are gone, refused are %q", n, why)
		}
	})
}

// So does one that comes while rows are removed.
func TestCascadesThatComeMeanwhile(t *testing.T) {
	a, s := albumsSite(t)
	script(t, a.db, "ALTER TABLE photos DROP CONSTRAINT photos_page_fkey")
	above := a.of("albums")
	s.beganWith("CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN OLD; END'")()
	script(t, a.db, "CREATE TRIGGER waits BEFORE DELETE ON albums FOR EACH ROW EXECUTE FUNCTION waits()")
	if _, _, err := a.of("photos").AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	commit := s.beganWith("SELECT pg_advisory_xact_lock(7)")
	taken := make(chan error, 1)
	go func() {
		_, err := above.Take(t.Context(), 9, 0)
		taken <- err
	}()
	s.awaits(`DELETE FROM "albums"`)
	script(t, a.db, "ALTER TABLE photos ADD CONSTRAINT up FOREIGN KEY (page) REFERENCES pages (id) ON DELETE CASCADE")
	commit()
	if err := <-taken; !errors.Is(err, adopt.ErrChanged) {
		t.Error(err)
	}
	if keys := a.left("photos"); len(keys) != 2 {
		t.Errorf("photos left are %q", keys)
	}
}

// Rows that are kept as deleted take nothing along.
func TestKeptRowsAboveAHold(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		script(t, db, "ALTER TABLE albums ADD COLUMN state varchar(10) NOT NULL DEFAULT 'LIVE'; ALTER TABLE albums ADD COLUMN since bigint")
		c, err := db.Collection(ctx, "albums", adopt.Collection{Rows: adopt.Rows{Table: "albums", Key: "id", End: "ends", Unit: "s", Initiated: "since",
			Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY", Deleted: "GONE"}}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := a.of("photos").AddHold(ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
			t.Fatal(err)
		}
		claim, err := c.Claim(ctx, 9)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Settle(ctx, claim, 0); err != nil || out.Gone != 2 {
			t.Errorf("settled %+v, %v", out, err)
		}
	})
}

// A held table that has gone keeps nothing, and rows above it go on.
func TestHeldTablesThatGo(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		above := a.of("albums")
		if _, _, err := a.of("photos").AddHold(ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
			t.Fatal(err)
		}
		script(t, db, "DROP TABLE photos")
		out, err := above.Take(ctx, 9, 0)
		if errors.Is(err, adopt.ErrChanged) { // SQLite tells of any foreign key
			out, err = a.of("albums").Take(ctx, 9, 0)
		}
		if err != nil || out.Gone != 2 {
			t.Errorf("took %+v, %v", out, err)
		}
	})
}

// A held table that got another name is known by that once its collection is opened.
func TestHeldTablesThatAreRenamed(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		if _, _, err := a.of("photos").AddHold(ctx, adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
			t.Fatal(err)
		}
		script(t, db, "ALTER TABLE photos RENAME TO pictures")
		c, err := db.Collection(ctx, "photos", adopt.Collection{Rows: adopt.Rows{Table: "pictures", Key: "code", End: "ends", Unit: "s"}})
		if err == nil {
			err = errors.Join(c.Locate(ctx), c.Locate(ctx))
		}
		if err != nil {
			t.Fatal(err)
		}
		if n, why := a.take("albums"); n != 1 || len(why) != 1 {
			t.Errorf("%d are gone, refused are %q", n, why)
		}
	})
}

// Removals look for held rows of other tables only while some row is held; what was not
// counted by an older lethe is counted when any collection is opened: that of the holds may be
// of another description.
func TestHoldsAreCountedAnywhere(t *testing.T) {
	onEngines(t, albums, func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		anywhere := func(want int64) {
			t.Helper()
			var have int64
			err := db.read(ctx, "look", func(t *tx) error {
				return t.row("SELECT holds FROM {lethe}collections WHERE name = ''").Scan(&have)
			})
			if err != nil || have != want {
				t.Errorf("%d, %v, want %d", have, err, want)
			}
		}
		photos, hold := a.of("photos"), adopt.Hold{Scope: adopt.HoldRow, Key: "a"}
		for _, scope := range []adopt.HoldScope{adopt.HoldRow, adopt.HoldCollection} {
			hold.Scope = scope
			if _, _, err := photos.AddHold(ctx, hold); err != nil {
				t.Fatal(err)
			}
			anywhere(1)
			if err := photos.ReleaseHold(ctx, hold); err != nil {
				t.Fatal(err)
			}
			anywhere(0)
		}
		if _, _, err := photos.AddHold(ctx, hold); err != nil {
			t.Fatal(err)
		}
		for _, before := range []string{"UPDATE {lethe}collections SET holds = 0 WHERE name = ''", "DELETE FROM {lethe}collections WHERE name = ''"} {
			script(t, db, db.runner.Dialect.Expand(before))
			if err := a.of("albums").Locate(ctx); err != nil {
				t.Fatal(err)
			}
			anywhere(1)
		}
		if n, _ := a.take("albums"); n != 0 {
			t.Errorf("%d rows above a held table are gone", n)
		}
	})
}

// The holds of keys of each kind find their rows.
func TestHeldKeysOfAllKinds(t *testing.T) {
	kinds := map[string][][3]string{
		sqldb.PostgresName: {{"text", "'é'", "é"}, {`varchar(20) COLLATE "C"`, "'a '", "a "}, {"uuid", "'5f1e0000-0000-0000-0000-00000000000a'", "5f1e0000-0000-0000-0000-00000000000a"},
			{"bigint", "-7", "-7"}, {"bytea", `'\x00ff'`, `\x00ff`}},
		sqldb.MySQLName: {{"varchar(20) CHARACTER SET latin1", "'é'", "é"}, {"varchar(20) CHARACTER SET utf8mb4", "'É'", "É"}, {"varbinary(20)", "x'00ff'", "00ff"},
			{"bigint unsigned", "18446744073709551615", "18446744073709551615"}, {"bigint", "-7", "-7"}, {"uuid", "'5f1e0000-0000-0000-0000-00000000000a'", "5f1e0000-0000-0000-0000-00000000000a"}},
		sqldb.SQLiteName: {{"text", "'é'", "é"}, {"blob", "x'00ff'", "00ff"}, {"integer", "-7", "-7"}},
	}
	onEngines(t, "CREATE TABLE albums (id integer NOT NULL PRIMARY KEY, ends bigint)", func(t *testing.T, db *DB) {
		a, ctx := albumsDB{t, db}, t.Context()
		for _, kind := range kinds[db.runner.Dialect.Name] {
			script(t, db, fmt.Sprintf(`INSERT INTO albums VALUES (1, 800000000);
				CREATE TABLE photos (code %s NOT NULL PRIMARY KEY, page integer, ends bigint, FOREIGN KEY (page) REFERENCES albums (id) ON DELETE CASCADE); INSERT INTO photos VALUES (%s, 1, NULL)`, kind[0], kind[1]))
			hold := adopt.Hold{Scope: adopt.HoldRow, Key: kind[2]}
			if _, _, err := a.of("photos").AddHold(ctx, hold); err != nil {
				t.Fatal(kind, err)
			}
			var refused *adopt.Refusal
			if out, err := a.of("albums").Take(ctx, 9, 0); !errors.As(err, &refused) {
				t.Errorf("%s: took %+v, %v", kind, out, err)
			}
			if err := a.of("photos").ReleaseHold(ctx, hold); err != nil {
				t.Fatal(kind, err)
			}
			script(t, db, "DROP TABLE photos; DELETE FROM albums")
		}
	})
}

// Holds that are more than a statement can name are counted where they are.
func TestMoreHoldsBelowThanAStatementNames(t *testing.T) {
	db := (&mysqlSite{t: t, url: servers.NewMariaDB(t, "--max-allowed-packet=1M").Database(t)}).database()
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	script(t, db, albums)
	a := albumsDB{t, db}
	if _, _, err := a.of("photos").AddHold(t.Context(), adopt.Hold{Scope: adopt.HoldRow, Key: "a"}); err != nil {
		t.Fatal(err)
	}
	script(t, db, `INSERT INTO lethe_holds SELECT 'photos', 2, concat(repeat('x', 2000), seq), '', '', 0, 0 FROM seq_1_to_1000`)
	if n, why := a.take("albums"); n != 1 || len(why) != 1 {
		t.Errorf("%d are gone, refused are %q", n, why)
	}
}
