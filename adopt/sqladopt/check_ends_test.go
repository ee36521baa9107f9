package sqladopt

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// endsIn creates tables on each database, with rows of these ends.
func endsIn(t *testing.T) map[string]func(name, unit, ends string) *Collection {
	t.Helper()
	made := func(name, ends string) (table, rows string) {
		table = "CREATE TABLE " + name + " (k integer PRIMARY KEY, ends bigint)"
		for i, end := range strings.Fields(ends) {
			rows += fmt.Sprintf(", (%d, %s)", i, end)
		}
		return table, "INSERT INTO " + name + " VALUES " + rows[2:]
	}
	open := func(db *DB, name, unit string) *Collection {
		col, err := db.Collection(t.Context(), name, adopt.Collection{Rows: adopt.Rows{Table: name, Key: "k", End: "ends", Unit: unit}})
		if err != nil {
			t.Fatal(err)
		}
		return col
	}
	url := servers.Postgres(t)
	pg := openDB(t, url)
	my := servers.MariaDB(t)
	site := &mysqlSite{t: t, pool: newMySQLPool(t, my), url: my}
	return map[string]func(string, string, string) *Collection{
		"PostgreSQL": func(name, unit, ends string) *Collection {
			table, rows := made(name, ends)
			connect(t, url, table+";"+rows)
			return open(pg, name, unit)
		},
		"MariaDB": func(name, unit, ends string) *Collection {
			table, rows := made(name, ends)
			site.must(table)
			site.must(rows)
			return site.collection(adopt.Collection{Rows: adopt.Rows{Table: name, Key: "k", End: "ends", Unit: unit}})
		},
		"SQLite": func(name, unit, ends string) *Collection {
			table, rows := made(name, ends)
			db, app := liteDB(t, table)
			liteExec(t, app, rows)
			return open(db, name, unit)
		},
	}
}

// A wrong unit would expire all live rows, or none.
func TestUnitsThatCannotBe(t *testing.T) {
	for database, open := range endsIn(t) {
		for i, c := range []struct{ unit, ends, want, do string }{
			{"s", "1577836800 4102444800 NULL", "", ""},
			{"ms", "1577836800000 4102444800000", "", ""},
			{"ms", "1577836800 4102444800 NULL", "ends is not in ms", "correct rows.unit: in s it would be 2100-01-01"},
			{"us", "1577836800000 4102444800000", "ends is not in us", "in ms it would be 2100-01-01"},
			{"us", "4102444800", "ends is not in us", "in s it would be 2100-01-01"},
			{"us", "999", "ends is not in us", "or the rows"},
			{"s", "1577836800 0 4102444800 0", "2 rows of t7 ended before 1990", "make it NULL"},
			{"s", "1577836800 -1 4102444800", `1 row of t8 ended before 1990, such as "1" at -1`, "make it NULL"},
			{"s", "1577836800 0 4102444800 0", "2 rows of t9 ended before 1990", "NULLIF("},
			{"s", "4102444800", "", ""},
			{"s", "4102444800000 4102444900000", "no row of t11 ends before 2200, the first at 4102444800000: ends is not in s", "in ms it would be 2100-01-01"},
			{"s", "4102444800000000 NULL", "no row of t12 ends before 2200", "in us it would be 2100-01-01"},
			{"ms", "4102444800000000", "no row of t13 ends before 2200", "in us it would be 2100-01-01"},
			{"s", "1577836800 4102444800000", "", ""},
			{"s", "99999999999999", "", ""},
		} {
			name := fmt.Sprintf("t%d", i+1)
			found, err := open(name, c.unit, c.ends).Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && adopt.Problems(found) || c.want != "" && (!adopt.Problems(found) || !strings.Contains(fmt.Sprint(found), c.want) || !strings.Contains(fmt.Sprint(found), c.do)) {
				t.Errorf("%s: %s in %s: %+v, want %q", database, c.ends, c.unit, found, c.want)
			}
		}
	}
}

// An offset is read alike everywhere: +02:00 is east of UTC.
func TestZonesThatAreOffsets(t *testing.T) {
	const end, want = "2020-01-01 02:00:00", "2020-01-01T00:00:00.000000Z"
	url := servers.Postgres(t)
	connect(t, url, "CREATE TABLE t (k integer PRIMARY KEY, ends timestamp); INSERT INTO t VALUES (1, '"+end+"')")
	my := servers.MariaDB(t)
	site := &mysqlSite{t: t, pool: newMySQLPool(t, my), url: my}
	site.must("CREATE TABLE t (k integer PRIMARY KEY, ends datetime)")
	site.must("INSERT INTO t VALUES (1, '" + end + "')")
	d, err := adopt.Parse([]byte(`{database: x, collections: {a: {rows: {table: t, key: k, end: ends, zone: "+02:00"}}}}`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	pg, err := openDB(t, url).Collection(t.Context(), "a", d.Collections["a"])
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*Collection{"PostgreSQL": pg, "MariaDB": site.collection(d.Collections["a"])} {
		if due, err := c.Due(t.Context()); err != nil || due.Oldest.String() != want {
			t.Errorf("%s: %s is %s, %v, want %s", name, end, due.Oldest, err, want)
		}
	}
}

// A column in which every end lies in the past may be that of creations: nothing would be left.
func TestNothingWouldBeLeft(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("CREATE TABLE files (id integer PRIMARY KEY, created_at bigint, state varchar(9)); CREATE INDEX created ON files (created_at)")
	for i := range fewEnds {
		fmt.Fprintf(&rows, "; INSERT INTO files VALUES (%d, 1577836800, 'LIVE')", i)
	}
	onEngines(t, rows.String(), func(t *testing.T, db *DB) {
		want := func(problem bool, limit int64, r adopt.Rows) {
			t.Helper()
			r.Table, r.Key, r.End, r.Unit = "files", "id", "created_at", "s"
			c, err := db.Collection(t.Context(), "files", adopt.Collection{Rows: r, Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			found, err := c.Check(t.Context())
			text := findings(found)
			said := strings.Contains(text, "every row of files has expired") && strings.Contains(text, "(limit: 10000)")
			if err != nil || adopt.Problems(found) != problem || said != problem {
				t.Errorf("found %s, %v", text, err)
			}
		}
		live := adopt.Rows{Initiated: "created_at", Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY"}}
		want(true, 0, adopt.Rows{})
		want(true, 0, live)
		want(false, 7, adopt.Rows{})
		want(false, 0, adopt.Rows{Keep: adopt.Duration(time.Hour)})
		for _, end := range []string{"NULL", "4102444800"} {
			script(t, db, "INSERT INTO files VALUES (-1, "+end+", 'BUSY')")
			want(true, 0, live)
			script(t, db, "UPDATE files SET state = 'LIVE' WHERE id = -1")
			want(false, 0, adopt.Rows{})
			want(false, 0, live)
			script(t, db, "DELETE FROM files WHERE id = -1")
		}
		script(t, db, "DELETE FROM files WHERE id = 7")
		want(false, 0, adopt.Rows{})
		script(t, db, "INSERT INTO files VALUES (7, 1577836800, 'LIVE')")
		want(true, 0, adopt.Rows{})
		c, err := db.Collection(t.Context(), "files", adopt.Collection{Rows: adopt.Rows{Table: "files", Key: "id", End: "created_at", Unit: "s"}})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := c.Take(t.Context(), 1, 0); err != nil || out.Gone != 1 {
			t.Errorf("took %+v, %v", out, err)
		}
		script(t, db, "INSERT INTO files VALUES (-2, 1577836800, 'LIVE')")
		want(false, 0, adopt.Rows{}) // it was worked on
	})
}
