package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/blob"
)

// liteDB creates a file with tables, and opens it for Lethe and for its
// application.
func liteDB(t *testing.T, script string) (*DB, *sql.DB) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.db")
	app := openLite(t, path, true)
	liteExec(t, app, script)
	return openDB(t, "sqlite:"+path), app
}

func liteExec(t *testing.T, app *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := app.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatal(text, err)
	}
}

// An address has to name an existing file; a missing one is not created.
func TestSQLiteAddress(t *testing.T) {
	folder := t.TempDir()
	garbage := filepath.Join(folder, "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	good := filepath.Join(folder, "a b%41.db")
	liteExec(t, openLite(t, strings.ReplaceAll(good, "%", "%25"), true), "CREATE TABLE t (a)")
	for _, c := range []struct{ address, want string }{
		{"sqlite:" + good, ""},
		{"sqlite://" + good, ""},
		{"file:" + strings.ReplaceAll(good, "%", "%25"), ""},
		{"sqlite:" + filepath.Join(folder, "none.db"), "there is no file " + filepath.Join(folder, "none.db") + ": give the path"},
		{"sqlite:" + folder, folder + " is no file: give the path"},
		{"sqlite:" + garbage, "is not a database"},
		{"sqlite:", "has to name a file"},
		{"sqlite::memory:", "has to name a file"},
		{"file:" + good + "?mode=rwc", "has to name a file"},
		{"mongodb://secret@host/x", "mysql://user:password@host:3306/name or sqlite:/path/to/file.db"},
		{good, "is of no form that is known"},
	} {
		db, err := Open(t.Context(), c.address, Options{})
		if err == nil {
			err = db.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v, want %q", c.address, err, c.want)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

// Ends and claims are read alike in every kind of column.
func TestSQLiteTimes(t *testing.T) {
	for _, c := range []struct{ end, zone, unit, value string }{
		{end: "text", zone: "UTC", value: "strftime('%Y-%m-%d %H:%M:%S', 'now', ?)"},
		{end: "text", zone: "UTC", value: "strftime('%Y-%m-%dT%H:%M', 'now', ?)"},
		{end: "text", zone: "UTC", value: "date('now', ?)"},
		{end: "text", value: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', ?)"},
		{end: "varchar(40)", value: "strftime('%Y-%m-%d %H:%M:%S', 'now', '+2 hours', ?) || '.123456+02:00'"},
		{end: "timestamp", zone: "UTC", value: "datetime('now', ?)"},
		{end: "DATETIME", value: "datetime('now', '-9 hours', ?) || '-09:00'"},
		{end: "", zone: "UTC", value: "datetime('now', ?)"},
		{end: "integer", unit: "s", value: "CAST(strftime('%s', 'now', ?) AS INTEGER)"},
		{end: "bigint", unit: "ms", value: "CAST(strftime('%s', 'now', ?) AS INTEGER) * 1000"},
		{end: "timestamp", unit: "us", value: "CAST(strftime('%s', 'now', ?) AS INTEGER) * 1000000"},
		{end: "real", unit: "s", value: "CAST(strftime('%s', 'now', ?) AS REAL) + 0.5"},
	} {
		t.Run(c.end+c.unit+c.value, func(t *testing.T) {
			db, app := liteDB(t, fmt.Sprintf(`CREATE TABLE t (k text PRIMARY KEY, ends %[1]s, status text DEFAULT 'live', initiated %[1]s)`, c.end))
			for key, offset := range map[string]string{"past": "-3 days", "future": "+3 days"} {
				liteExec(t, app, "INSERT INTO t VALUES ('"+key+"', "+c.value+", 'live', NULL)", offset)
			}
			liteExec(t, app, "INSERT INTO t VALUES ('never', NULL, 'live', NULL)")
			col, err := db.Collection(t.Context(), "t", liteRows(c.zone, c.unit))
			if err != nil {
				t.Fatal(err)
			}
			// Other values that are written later never come.
			strange := []any{"soon", "2026", "12:00", "0000-00-00", "", "2026-13-45", []byte("x")}
			for i, v := range strange {
				liteExec(t, app, "INSERT INTO t VALUES (?, ?, 'live', NULL)", fmt.Sprint("strange", i), v)
			}
			if c.unit != "" {
				liteExec(t, app, "DELETE FROM t WHERE typeof(ends) IN ('integer', 'real') AND k LIKE 'strange%'") // 2026 is one there
			}
			claimedOnce(t, db, col)
		})
	}
}

// The end of a row is read as it was written, to the millisecond.
func TestSQLiteEndsAreTold(t *testing.T) {
	db, app := liteDB(t, "CREATE TABLE t (k text PRIMARY KEY, ends text, status text DEFAULT 'live', initiated text)")
	liteExec(t, app, "INSERT INTO t VALUES ('a', '2020-01-01 00:00:00+02:00', 'live', NULL)")
	col, err := db.Collection(t.Context(), "t", liteRows("", ""))
	if err != nil {
		t.Fatal(err)
	}
	for end, want := range map[string]string{
		"2020-01-01T00:00:00+02:00":     "2019-12-31T22:00:00.000000Z",
		"2026-11-23 15:05:31.651+00:00": "2026-11-23T15:05:31.651000Z",
		"2019-07-03T23:59:59.999Z":      "2019-07-03T23:59:59.999000Z",
	} {
		liteExec(t, app, "UPDATE t SET ends = ?", end)
		if due, err := col.Due(t.Context()); err != nil || due.Oldest.String() != want {
			t.Errorf("%s is told as %s, %v; want %s", end, due.Oldest, err, want)
		}
	}
}

func liteRows(zone, unit string) adopt.Collection {
	return adopt.Collection{Rows: adopt.Rows{
		Table: "t", Key: "k", End: "ends", Initiated: "initiated", Zone: zone, Unit: unit,
		Status: &adopt.Status{Column: "status", Live: "live", Claimed: "claimed"},
	}}
}

// Times that cannot be compared are refused, with what to do.
func TestSQLiteUnfitTimes(t *testing.T) {
	for _, c := range []struct {
		end, zone, unit string
		value           any
		want            string
	}{
		{"text", "", "", "2026-01-01 10:00:00", "say in which time zone it is (zone: UTC)"},
		{"text", "", "", nil, "say in which time zone it is (zone: UTC)"},
		{"text", "Europe/Berlin", "", "2026-01-01 10:00:00", "SQLite knows no time zone but UTC"},
		{"text", "UTC", "", "01.02.2026", `holds "01.02.2026", which is no time`},
		{"text", "UTC", "", "2026-01-01 10:00:00 +0000 UTC", "which is no time"},
		{"text", "UTC", "", "12:00", "which is no time"},
		{"text", "UTC", "", []byte("2026-01-01"), "which is no time"},
		{"integer", "", "", 1767225600, "column ends is a number: say its unit"},
		{"integer", "", "min", 1767225600, "column ends is a number: say its unit"},
		{"integer", "", "s", "2026-01-01", `holds "2026-01-01", and unit is for numbers`},
		{"text", "", "s", nil, "whose values are compared as texts"},
	} {
		db, app := liteDB(t, fmt.Sprintf(`CREATE TABLE t (k text PRIMARY KEY, ends %s, status text, initiated text)`, c.end))
		liteExec(t, app, "INSERT INTO t VALUES ('a', ?, 'live', NULL)", c.value)
		if _, err := db.Collection(t.Context(), "t", liteRows(c.zone, c.unit)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v %s%s: %v, want %q", c.end, c.value, c.zone, c.unit, err, c.want)
		}
	}
}

// Tables that contradict a description are refused, each with the reason.
func TestSQLiteUnfitTables(t *testing.T) {
	content, pastes := "CREATE TABLE content (hash text PRIMARY KEY, ref_count bigint);", "CREATE TABLE pastes (code text PRIMARY KEY, hash text, expires_at text, status text, initiated_at text);"
	for _, c := range []struct{ script, want string }{
		{content + pastes, ""},
		{content + strings.Replace(pastes, "code text PRIMARY KEY", "code integer PRIMARY KEY", 1), ""},
		{content + strings.Replace(pastes, "hash text,", "hash varchar(64),", 1), ""},
		{pastes, "there is no table content"},
		{content + "CREATE TABLE x (a); CREATE VIEW pastes AS SELECT * FROM x", "pastes is a view or a virtual table"},
		{content + strings.Replace(pastes, " PRIMARY KEY", "", 1), "column code of pastes is no key"},
		{content + strings.Replace(pastes, " PRIMARY KEY", "", 1) + "CREATE UNIQUE INDEX i ON pastes (code) WHERE status = 'x'", "column code of pastes is no key"},
		{content + strings.Replace(pastes, " PRIMARY KEY", "", 1) + "CREATE UNIQUE INDEX i ON pastes (code)", "column code of pastes is no key"},
		{content + strings.Replace(pastes, "initiated_at text", "initiated_at text, PRIMARY KEY (code, status)", 1), "more than one primary key"},
		{content + pastes + "INSERT INTO pastes (code) VALUES (NULL)", "column code of pastes is no key: it needs NOT NULL"},
		{content + strings.Replace(pastes, "code text", "code text COLLATE NOCASE", 1), "column code of pastes has a collation to which different texts are equal"},
		{content + strings.Replace(pastes, "hash text", "hash text COLLATE RTRIM", 1), "column hash of pastes is not of the type of hash"},
		{content + strings.Replace(pastes, "hash text", "hash blob", 1), "column hash of pastes is not of the type of hash"},
		{content + strings.Replace(pastes, "code text", "code real", 1), "column code of pastes is of type REAL: keys are"},
		{content + strings.Replace(pastes, "hash text", "hash text NOT NULL", 1), "column hash of pastes is NOT NULL: a row that is kept as DELETED"},
		{content + strings.Replace(pastes, "expires_at", "ends", 1), "table pastes has no column expires_at"},
	} {
		path := filepath.Join(t.TempDir(), "app.db")
		if _, err := openLite(t, path, true).ExecContext(t.Context(), c.script); err != nil {
			if !strings.Contains(err.Error(), c.want) || c.want == "" {
				t.Error(c.script, err)
			}
			continue
		}
		k := kind{}
		k.Keep = true
		d := k.description()
		d.Rows.Zone = "UTC"
		_, err := openDB(t, "sqlite:"+path).Collection(t.Context(), "pastes", d)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.script, err, c.want)
		}
	}
}

// A table that refers to contents besides the described one needs counts.
func TestSQLiteOtherReferences(t *testing.T) {
	db, app := liteDB(t, `CREATE TABLE content (hash text PRIMARY KEY, ref_count bigint);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text REFERENCES Content, expires_at text, status text, initiated_at text);
		CREATE TABLE avatars (id integer PRIMARY KEY, picture text REFERENCES content (hash))`)
	k := kind{}
	k.Uncounted = true
	d := k.description()
	d.Rows.Zone = "UTC"
	if _, err := db.Collection(t.Context(), "pastes", d); err == nil || !strings.Contains(err.Error(), "avatars.picture refers to content as well") {
		t.Errorf("%v", err)
	}
	liteExec(t, app, "DROP TABLE avatars")
	if _, err := db.Collection(t.Context(), "pastes", d); err != nil {
		t.Error(err)
	}
}

// Advised indexes are used once they exist.
func TestSQLiteCheckAdvises(t *testing.T) {
	for _, times := range []string{"text", "integer"} {
		s := newLiteSite(t, liteKind{times: times})
		var advised []string
		for round := range 2 {
			found, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range found {
				if f.Problem || round > 0 {
					t.Errorf("%s, round %d: %+v", times, round, f)
				}
				advised = append(advised, f.Do)
				liteExec(t, s.app, f.Do)
			}
		}
		if len(advised) != 3 {
			t.Errorf("%s: advised %q", times, advised)
		}
	}
}

// Other programs' transactions are waited for, up to the limit; the mode of the
// journal is not changed.
func TestSQLiteContention(t *testing.T) {
	for _, journal := range []string{"WAL", "DELETE"} {
		t.Run(journal, func(t *testing.T) {
			s := newLiteSite(t, liteKind{journal: journal})
			ctx := t.Context()
			db, err := Open(ctx, "sqlite:"+s.path, Options{LockTime: 50 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			run := func(id lethe.ID) error { return db.FinishRun(ctx, id, "ok", nil) }
			tx, err := s.app.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := run("x"); !errors.Is(err, lethe.ErrUnavailable) || errors.Is(err, lethe.ErrUnknownOutcome) {
				t.Errorf("while the application writes: %v", err)
			}
			if err := tx.Rollback(); err != nil {
				t.Fatal(err)
			}
			if err := run("x"); !errors.Is(err, lethe.ErrFenced) {
				t.Errorf("then: %v", err)
			}
			var mode string
			if err := s.app.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode); err != nil || mode != strings.ToLower(journal) {
				t.Errorf("journal mode %s, %v", mode, err)
			}
			remarks, err := db.Remarks(ctx)
			if err != nil || len(remarks) != map[string]int{"WAL": 1, "DELETE": 2}[journal] {
				t.Errorf("remarks %+v, %v", remarks, err)
			}
		})
	}
}

// A COMMIT that failed because of a reader did nothing, and the transaction is
// run again.
func TestSQLiteCommitMeetsReader(t *testing.T) {
	s := newLiteSite(t, liteKind{journal: "DELETE"})
	ctx := t.Context()
	db, err := Open(ctx, "sqlite:"+s.path, Options{LockTime: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	reader, err := s.loose.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string) {
		t.Helper()
		if _, err := reader.ExecContext(context.WithoutCancel(ctx), text); err != nil {
			t.Error(err)
		}
	}
	read("BEGIN; SELECT count(*) FROM pastes")
	tries := 0
	err = db.write(ctx, "try", func(t *tx) error {
		if tries++; tries == 3 {
			read("COMMIT")
		}
		_, err := t.exec(insertReceipt, "pastes", "rows", t.now, "[]")
		return err
	})
	if err != nil || tries != 3 {
		t.Errorf("%d tries, %v", tries, err)
	}
	var n int
	if err := s.app.QueryRowContext(ctx, "SELECT count(*) FROM lethe_receipts").Scan(&n); err != nil || n != 1 {
		t.Errorf("%d receipts, %v", n, err)
	}
}

// A key that a list of keys would change is refused: the list would name
// another row.
func TestSQLiteKeyThatIsNotUTF8(t *testing.T) {
	s := newLiteSite(t, liteKind{})
	liteExec(t, s.app, "INSERT INTO pastes (code, expires_at) VALUES ('a\ufffd', ?)", s.end(time.Hour))
	liteExec(t, s.app, "INSERT INTO pastes (code, expires_at) VALUES (CAST(x'61ff' AS TEXT), ?)", s.end(-time.Hour))
	if c, err := s.Claim(t.Context(), 9); err == nil || !strings.Contains(err.Error(), "is not UTF-8") {
		t.Errorf("claimed %+v, %v", c, err)
	}
}

// A text in a column of numbers is not taken for 0: its row stays.
func TestSQLiteKeyThatIsNoNumber(t *testing.T) {
	db, app := liteDB(t, `CREATE TABLE t (k int NOT NULL UNIQUE, ends int);
		INSERT INTO t VALUES (0, NULL), ('abc', 800000000), ('-', 800000000), ('1-2', 800000000), ('--5', 800000000), (1, NULL), (7, 800000000), ('9x', 800000000)`)
	c, err := db.Collection(t.Context(), "t", adopt.Collection{Rows: adopt.Rows{Table: "t", Key: "k", End: "ends", Unit: "s"}})
	if err != nil {
		t.Fatal(err)
	}
	if settled, err := c.Take(t.Context(), 99, 0); err != nil || settled.Gone != 1 {
		t.Errorf("took %+v, %v", settled, err)
	}
	var left string
	if err := app.QueryRowContext(t.Context(), "SELECT group_concat(k) FROM t").Scan(&left); err != nil || left != "0,1,-,--5,1-2,9x,abc" {
		t.Errorf("left are %s, %v", left, err)
	}
}

// Explain returns the facts about a key, and counts are repaired.
func TestSQLiteExplainAndRecount(t *testing.T) {
	s := newLiteSite(t, liteKind{})
	ctx := t.Context()
	for _, r := range []adopttest.Row{{Key: "lives", Content: "x", In: adopttest.Never}, {Key: "past", Content: "y", In: -time.Hour}} {
		if err := s.Put(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	told := func(key string, want ...string) {
		t.Helper()
		facts, err := s.Explain(ctx, key)
		text := fmt.Sprint(facts)
		for _, w := range want {
			if err != nil || !strings.Contains(text, w) {
				t.Errorf("of %s: %s, want %q, %v", key, text, w, err)
			}
		}
	}
	told("past", "which is past", "its state is NOT_EXPIRED", "1 row refers to it, its count is 1")
	told("lives", "row lives never ends")
	told("content/y", "content y is object content/y; 1 row refers to it")
	if err := s.Put(ctx, adopttest.Row{Key: "long", Content: strings.Repeat("k", 1100), In: adopttest.Never}); err != nil {
		t.Fatal(err)
	}
	told("long", "kkk... (1100 bytes, and services", "kkk... (1108 bytes", "not 1 to 1024")
	if facts, err := s.Explain(ctx, "long"); err != nil || len(fmt.Sprint(facts)) > 1000 {
		t.Errorf("a long key: %v, %v", facts, err)
	}
	s.expire(ctx)
	told("past", "row past was removed")
	told("y", "nobody refers to it")
	told("content/y", "content y is object content/y; 0 rows refer to it", "nobody refers to it")
	if err := s.SetCount(ctx, "x", 7); err != nil {
		t.Fatal(err)
	}
	drifts, next, err := s.Recount(ctx, "", 9, RepairAll)
	if err != nil || next != "" || !slices.Equal(drifts, []Drift{{"x", sql.NullInt64{Int64: 7, Valid: true}, 1}}) {
		t.Errorf("drifts %+v, next %q, %v", drifts, next, err)
	}
	if n, _, err := s.Count(ctx, "x"); err != nil || n != 1 {
		t.Errorf("the count is %d, %v", n, err)
	}
}

// A proposal for tables in SQLite fits them, and Remove leaves nothing of
// Lethe.
func TestSQLiteProposeAndRemove(t *testing.T) {
	s := newLiteSite(t, liteKind{})
	ctx := t.Context()
	if err := s.Put(ctx, adopttest.Row{Key: "a", Content: "x", In: time.Hour}); err != nil {
		t.Fatal(err)
	}
	tables, err := s.db.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	text := adopt.Propose(tables, adopt.ProposeOptions{Objects: []string{"content/x"}, ClaimColumns: s.db.ClaimColumns})
	d, err := adopt.Parse([]byte(text), func(name string) (string, bool) { return "sqlite:" + s.path, !strings.Contains(name, "_CLEANUP_") })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := d.Collections["pastes"]
	if len(d.Collections) != 1 || c.Rows.End != "expires_at" || c.Rows.Zone != "UTC" || c.Rows.Content != "hash" || c.Contents.Count != "ref_count" {
		t.Errorf("proposed:\n%s", text)
	}
	if _, err := s.db.Collection(ctx, "pastes", c); err != nil {
		t.Error(err)
	}
	if err := errors.Join(s.RemoveGuard(ctx), s.db.Remove(ctx)); err != nil {
		t.Fatal(err)
	}
	var left string
	if err := s.app.QueryRowContext(ctx, "SELECT coalesce(group_concat(name), '') FROM sqlite_schema WHERE name LIKE '%lethe%'").Scan(&left); err != nil || left != "" {
		t.Errorf("left are %s, %v", left, err)
	}
	if yes, err := s.db.Installed(ctx); err != nil || yes {
		t.Errorf("installed %v, %v", yes, err)
	}
}

// The statements that add the columns of a claim to a table are valid.
func TestSQLiteClaimColumns(t *testing.T) {
	db, app := liteDB(t, "CREATE TABLE links (id integer PRIMARY KEY, ends integer)")
	liteExec(t, app, strings.Join(db.ClaimColumns(adopt.TableInfo{Name: "links"}, "ends"), "\n"))
	_, err := db.Collection(t.Context(), "links", adopt.Collection{Rows: adopt.Rows{
		Table: "links", Key: "id", End: "ends", Unit: "s", Initiated: "deletion_initiated_at",
		Status: &adopt.Status{Column: "deletion_status", Live: "NOT_EXPIRED", Claimed: "DELETION_IN_PROGRESS"},
	}})
	if err != nil {
		t.Error(err)
	}
}

// writesWhileListed is a bucket during whose listing the application writes.
type writesWhileListed struct {
	adopt.KeyStore
	write func() error
}

func (w writesWhileListed) List(_ context.Context, _, _ string, fn func(blob.Info) error) error {
	if err := w.write(); err != nil {
		return err
	}
	return fn(blob.Info{Key: "a"})
}

// Without WAL a reader blocks writers: none is open while a bucket is listed.
func TestSQLiteWritesDuringComparison(t *testing.T) {
	s := newLiteSite(t, liteKind{journal: "DELETE"})
	if err := s.Insert(t.Context(), "files/a"); err != nil {
		t.Fatal(err)
	}
	d := adopt.Collection{Prefix: "files/", Keys: &adopt.KeySpec{Query: "SELECT name FROM named"}}
	rows, err := s.db.Keys(t.Context(), "keys", d)
	if err != nil {
		t.Fatal(err)
	}
	k := &adopt.Keys{Collection: "keys", Prefix: d.Prefix, Rules: d.Keys.Rules(), Rows: rows, Batch: 9,
		Store: writesWhileListed{write: func() error { return s.Insert(t.Context(), "files/b") }}}
	var orphans []adopt.OrphanObject
	err = k.Report(t.Context(), func(found []adopt.OrphanObject) { orphans = append(orphans, found...) }, func([]string) {})
	if err != nil || len(orphans) > 0 {
		t.Errorf("orphans %v, %v", orphans, err)
	}
}
