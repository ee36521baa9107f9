package sqladopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// times are columns of times, each with the expression of its value for an
// instant.
var times = []struct {
	end, initiated, zone, unit string
	value                      string
}{
	{end: "timestamptz(0)", value: "%s"},
	{end: "timestamptz", initiated: "timestamptz(3)", value: "%s"},
	{end: "timestamp(6)", zone: "Pacific/Auckland", value: "%s AT TIME ZONE 'Pacific/Auckland'"},
	{end: "timestamp(0)", zone: "UTC", value: "%s AT TIME ZONE 'UTC'"},
	{end: "bigint", unit: "ms", value: "CAST(extract(epoch FROM %s) * 1000 AS bigint)"},
	{end: "integer", unit: "s", value: "CAST(extract(epoch FROM %s) AS integer)"},
	{end: "double precision", unit: "s", value: "extract(epoch FROM %s)"},
	{end: "numeric(20,0)", unit: "us", value: "extract(epoch FROM %s) * 1000000"},
	{end: "date", initiated: "timestamp", zone: "UTC", value: "CAST(%s AT TIME ZONE 'UTC' AS date)"},
}

func connect(t *testing.T, url, script string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(t.Context()) })
		_, err = conn.Exec(t.Context(), script)
	}
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func openDB(t *testing.T, url string) *DB {
	t.Helper()
	db, err := Open(t.Context(), url, Options{})
	if err == nil {
		t.Cleanup(func() { _ = db.Close() })
		err = db.Install(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// Ends and claims are read alike in every kind of column.
func TestTimes(t *testing.T) {
	url := servers.Postgres(t)
	db := openDB(t, url)
	for i, c := range times {
		t.Run(c.end, func(t *testing.T) {
			name := fmt.Sprintf("t%d", i)
			initiated := c.initiated
			if initiated == "" {
				initiated = c.end
			}
			at := func(offset string) string {
				return fmt.Sprintf(c.value, "(clock_timestamp() + INTERVAL '"+offset+"')")
			}
			connect(t, url, fmt.Sprintf(`CREATE TABLE %s (k text PRIMARY KEY, ends %s, status text DEFAULT 'live', initiated %s);
				INSERT INTO %s VALUES ('past', %s), ('future', %s), ('never', NULL)`, name, c.end, initiated, name, at("-3 days"), at("3 days")))
			col, err := db.Collection(t.Context(), name, adopt.Collection{Rows: adopt.Rows{
				Table: name, Key: "k", End: "ends", Initiated: "initiated", Zone: c.zone, Unit: c.unit,
				Status: &adopt.Status{Column: "status", Live: "live", Claimed: "claimed"},
			}})
			if err != nil {
				t.Fatal(err)
			}
			claimedOnce(t, db, col)
		})
	}
}

// claimedOnce claims and settles the only row that is due, which ended 2 to 4 days ago.
func claimedOnce(t *testing.T, db *DB, col *Collection) {
	t.Helper()
	ctx := t.Context()
	now, err := db.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	due, err := col.Due(ctx)
	if age := now.Sub(due.Oldest); err != nil || due.Due != 1 || age < 48*time.Hour || age > 97*time.Hour {
		t.Errorf("due: %+v of age %v, %v", due, age, err)
	}
	claim, err := col.Claim(ctx, 9)
	if err != nil || len(claim.Rows) != 1 || claim.Rows[0].Key != "past" {
		t.Fatalf("claimed %+v, %v", claim, err)
	}
	if n, err := col.Recover(ctx, 5*time.Second, 9); n != 0 || err != nil {
		t.Errorf("recovered %d at once, %v", n, err)
	}
	other := claim
	other.At = claim.At.Add(-2 * time.Second)
	if s, err := col.Settle(ctx, other, 0); err != nil || s.Lost != 1 {
		t.Errorf("another claim settled %+v, %v", s, err)
	}
	if n, err := col.Release(ctx, claim); n != 1 || err != nil {
		t.Errorf("released %d, %v", n, err)
	}
	if claim, err = col.Claim(ctx, 9); err != nil || len(claim.Rows) != 1 {
		t.Fatalf("claimed again %+v, %v", claim, err)
	}
	if s, err := col.Settle(ctx, claim, 0); err != nil || s.Gone != 1 {
		t.Errorf("settled %+v, %v", s, err)
	}
}

// An end before 1990, or before all time, may stand for never: such rows are not due.
func TestEndBeforeTime(t *testing.T) {
	url := servers.Postgres(t)
	db := openDB(t, url)
	connect(t, url, `CREATE TABLE t (k text PRIMARY KEY, ends timestamptz, status text DEFAULT 'live', initiated timestamptz);
		INSERT INTO t VALUES ('a', '-infinity'), ('b', '1066-10-14'), ('c', 'infinity'), ('d', '1990-01-01 00:00:00+00'), ('e', '1990-01-02 00:00:00+00')`)
	col, err := db.Collection(t.Context(), "t", adopt.Collection{Rows: adopt.Rows{
		Table: "t", Key: "k", End: "ends", Initiated: "initiated", Status: &adopt.Status{Column: "status", Live: "live", Claimed: "claimed"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if due, err := col.Due(t.Context()); err != nil || due.Due != 1 || due.Oldest.String() != "1990-01-02T00:00:00.000000Z" {
		t.Errorf("due: %+v, %v", due, err)
	}
}

// Tables that contradict a description are refused, each with the reason.
func TestUnfitTables(t *testing.T) {
	const good = `CREATE TABLE content (hash text PRIMARY KEY, ref_count bigint);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text, expires_at timestamptz, status text, initiated_at timestamptz)`
	url := servers.Postgres(t)
	db := openDB(t, url)
	conn := connect(t, url, good)
	k := kind{}
	k.Keep = true
	if _, err := db.Collection(t.Context(), "pastes", k.description()); err != nil {
		t.Fatal(err)
	}
	folding := `CREATE COLLATION folding (provider = icu, locale = 'und-u-ks-level2', deterministic = false);`
	for _, c := range []struct{ change, want string }{
		{"ALTER TABLE pastes DROP CONSTRAINT pastes_pkey", "column code of pastes is no key"},
		{"ALTER TABLE pastes DROP CONSTRAINT pastes_pkey; CREATE UNIQUE INDEX ON pastes (code) WHERE status = 'NOT_EXPIRED'", "column code of pastes is no key"},
		{"ALTER TABLE pastes DROP CONSTRAINT pastes_pkey; ALTER TABLE pastes ADD PRIMARY KEY (code, status)", "column code of pastes is no key"},
		{"ALTER TABLE pastes DROP CONSTRAINT pastes_pkey; ALTER TABLE pastes ALTER code DROP NOT NULL; CREATE UNIQUE INDEX ON pastes (code)", "column code of pastes is no key"},
		{"ALTER TABLE content DROP CONSTRAINT content_pkey", "column hash of content is no key"},
		{"ALTER TABLE pastes ALTER code TYPE numeric USING 1", "column code of pastes is of type numeric: keys are"},
		{folding + "ALTER TABLE content ALTER hash TYPE text COLLATE folding", "column hash of content has a collation to which different texts are equal"},
		{folding + "ALTER TABLE pastes ALTER hash TYPE text COLLATE folding", "column hash of pastes is not of the type of hash"},
		{"ALTER TABLE content ALTER hash TYPE uuid USING NULL", "column hash of pastes is not of the type of hash, which it names: text and uuid"},
		{"ALTER TABLE pastes ALTER hash SET NOT NULL", "column hash of pastes is NOT NULL: a row that is kept as DELETED"},
		{"ALTER TABLE pastes ALTER initiated_at TYPE date", "column initiated_at is a date, which is too coarse"},
		{"ALTER TABLE pastes ALTER expires_at TYPE timestamp", "say in which time zone it is"},
		{"ALTER TABLE pastes ALTER expires_at TYPE text", "which is no time"},
		{"CREATE TABLE old () INHERITS (pastes)", "other tables inherit from pastes"},
		{"CREATE TABLE old (LIKE pastes); ALTER TABLE pastes INHERIT old", "table pastes is a part of another"},
	} {
		if _, err := conn.Exec(t.Context(), "DROP TABLE pastes, content CASCADE; DROP TABLE IF EXISTS old; DROP COLLATION IF EXISTS folding;"+good+";"+c.change); err != nil {
			t.Fatal(c.change, err)
		}
		if _, err := db.Collection(t.Context(), "pastes", k.description()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("after %s: %v, want %q", c.change, err, c.want)
		}
	}
}

// Contents that may share an object, or have uncounted references, are refused:
// an object in use would be deleted.
func TestUnfitContents(t *testing.T) {
	const good = `CREATE TABLE content (hash text PRIMARY KEY, object_key text NOT NULL UNIQUE, part text NOT NULL, refs bigint);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text, expires_at timestamptz)`
	url := servers.Postgres(t)
	db := openDB(t, url)
	conn := connect(t, url, good)
	c := adopt.Collection{
		Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Content: "hash"},
		Contents: &adopt.Table{Table: "content", Key: "hash", Object: "{object_key}"},
	}
	other := "; CREATE TABLE avatars (id int PRIMARY KEY, picture text REFERENCES content)"
	for _, v := range []struct{ change, object, count, want string }{
		{"", "{object_key}", "", ""},
		{"", "content/{hash}", "", ""},
		{"", "{part}/{hash}", "", ""},
		{"; ALTER TABLE pastes ADD FOREIGN KEY (hash) REFERENCES content", "{object_key}", "", ""},
		{other, "{object_key}", "refs", ""},
		{"; ALTER TABLE content ADD day date NOT NULL", "{day}/{hash}", "", "column day of content is of type date, whose text depends on settings"},
		{"", "{part}", "", "two rows of content may have the object {part}"},
		{"", "{part}{hash}", "", "two rows of content may have the object"},
		{"; ALTER TABLE content DROP CONSTRAINT content_object_key_key", "{object_key}", "", "needs a unique index"},
		{"; ALTER TABLE content DROP CONSTRAINT content_object_key_key, ADD UNIQUE (object_key) DEFERRABLE INITIALLY DEFERRED", "{object_key}", "", "needs a unique index"},
		{"; ALTER TABLE content DROP CONSTRAINT content_pkey, ADD UNIQUE (hash) DEFERRABLE", "{object_key}", "", "column hash of content is no key"},
		{"; ALTER TABLE content ALTER object_key DROP NOT NULL", "{object_key}", "", "column object_key of content may be NULL"},
		{other, "{object_key}", "", "avatars.picture refers to content as well"},
		{"; ALTER TABLE pastes ADD before text REFERENCES content", "{object_key}", "", "pastes.before refers to content as well"},
	} {
		if _, err := conn.Exec(t.Context(), "DROP TABLE IF EXISTS avatars, pastes, content;"+good+v.change); err != nil {
			t.Fatal(v.change, err)
		}
		table := *c.Contents
		table.Object, table.Count = v.object, v.count
		described := c
		described.Contents = &table
		_, err := db.Collection(t.Context(), "pastes", described)
		if (err == nil) != (v.want == "") || err != nil && !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s, object %s, count %q: %v, want %q", v.change, v.object, v.count, err, v.want)
		}
	}
}

// Keys of objects whose text depends on the session are refused.
func TestUnfitObjects(t *testing.T) {
	url := servers.Postgres(t)
	db := openDB(t, url)
	connect(t, url, `CREATE TABLE files (id uuid PRIMARY KEY, day date, ends timestamptz)`)
	_, err := db.Collection(t.Context(), "files", adopt.Collection{Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Objects: []string{"files/{day}/{id}"}}})
	if err == nil || !strings.Contains(err.Error(), "column day of files is of type date") {
		t.Errorf("a date in a key: %v", err)
	}
}

// A query that would change or lock rows is refused as such: it is not mistaken
// for a read-only server.
func TestQueriesThatWrite(t *testing.T) {
	for _, url := range []string{servers.Postgres(t), servers.MariaDB(t)} {
		db := openDB(t, url)
		if _, err := db.runner.Pool.Exec(`CREATE TABLE files (name varchar(100) PRIMARY KEY)`); err != nil {
			t.Fatal(err)
		}
		for query, want := range map[string]string{
			"SELECT name FROM files FOR UPDATE": "a query must not write or lock rows",
			"DELETE FROM files":                 "has to be a SELECT of one column",
			"SELECT name, 1 FROM files":         "has to be a SELECT of one column",
		} {
			_, err := db.Keys(t.Context(), "files", adopt.Collection{Keys: &adopt.KeySpec{Query: query}})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", query, err, want)
			}
		}
	}
}

// The statements for the columns of a claim are valid whatever names a table has.
func TestClaimColumnsOfOddNames(t *testing.T) {
	url := servers.Postgres(t)
	conn := connect(t, url, `CREATE SCHEMA "Team A"; CREATE TABLE "Team A"."order" (id bigint PRIMARY KEY, "expiresAt" timestamptz)`)
	for _, statement := range strings.SplitAfter(strings.Join(openDB(t, url).ClaimColumns(adopt.TableInfo{Name: "Team A.order"}, "expiresAt"), "\n"), ";\n") {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	server := servers.MariaDB(t)
	pool := newMySQLPool(t, server)
	connect(t, url, `CREATE TABLE public.parted (id bigint, expires_at timestamptz) PARTITION BY LIST (id)`)
	parted, err := openDB(t, url).Tables(t.Context())
	if err != nil || len(parted) != 2 {
		t.Fatal(parted, err)
	}
	for _, statement := range strings.SplitAfter(strings.Join(openDB(t, url).ClaimColumns(parted[slices.IndexFunc(parted, func(x adopt.TableInfo) bool { return x.Parted })], "expires_at"), "\n"), ";\n") {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	for _, statement := range append([]string{"CREATE TABLE `order` (id bigint PRIMARY KEY, `key` datetime)"}, strings.Join((mysql{}).claimColumns(adopt.TableInfo{Name: "order"}, "key"), "\n")) {
		if _, err := pool.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	_, app := liteDB(t, `CREATE TABLE "order" (id integer PRIMARY KEY, "group" integer)`)
	liteExec(t, app, strings.Join(sqlite{}.claimColumns(adopt.TableInfo{Name: "order"}, "group"), "\n"))
}

// A table of any kind may name objects, also one that lies elsewhere or that keeps its history.
func TestTablesOfEachKind(t *testing.T) {
	url := servers.Postgres(t)
	connect(t, url, `CREATE FOREIGN DATA WRAPPER elsewhere; CREATE SERVER elsewhere FOREIGN DATA WRAPPER elsewhere;
		CREATE FOREIGN TABLE far (object_key text) SERVER elsewhere; CREATE TABLE near (object_key text)`)
	lite, _ := liteDB(t, "CREATE TABLE near (object_key text)")
	mariadb := &mysqlSite{t: t, url: servers.MariaDB(t)}
	maria := mariadb.database()
	script(t, maria, "CREATE TABLE far (object_key varchar(9)) WITH SYSTEM VERSIONING")
	script(t, maria, "CREATE TABLE near (object_key varchar(9))")
	_, err := maria.Collection(t.Context(), "far", adopt.Collection{Rows: adopt.Rows{Table: "far", Key: "object_key", End: "object_key"}})
	if err == nil || !strings.Contains(err.Error(), "table far keeps its history") {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		db   *DB
		want string
	}{"PostgreSQL": {openDB(t, url), "far near"}, "MariaDB": {maria, "far near"}, "SQLite": {lite, "near"}} {
		tables, err := c.db.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, x := range tables {
			names = append(names, x.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%s has the tables %q, want %q", name, got, c.want)
		}
		if text := adopt.Propose(tables, adopt.ProposeOptions{}); strings.Contains(text, "could not be read: far (") != (name == "PostgreSQL") {
			t.Errorf("%s: proposed is\n%s", name, text)
		}
	}
}

// A table with a dot in its name is told of, and not taken for one of a schema.
func TestTablesWithADot(t *testing.T) {
	const dotted = `CREATE TABLE "a.b" (id integer PRIMARY KEY, expires_at bigint, object_key varchar(99))`
	url := servers.Postgres(t)
	connect(t, url, dotted)
	lite, _ := liteDB(t, dotted)
	maria := (&mysqlSite{t: t, url: servers.MariaDB(t)}).database()
	script(t, maria, dotted)
	for name, db := range map[string]*DB{"PostgreSQL": openDB(t, url), "MariaDB": maria, "SQLite": lite} {
		tables, err := db.Tables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text := adopt.Propose(tables, adopt.ProposeOptions{ClaimColumns: db.ClaimColumns})
		if strings.Contains(text, "table:") || !strings.Contains(text, "the dot in its name: a.b.") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

// Blobs are compared in hexadecimal, as statements write them.
func TestSampledBlobs(t *testing.T) {
	db, _ := liteDB(t, "CREATE TABLE files (id blob PRIMARY KEY); INSERT INTO files VALUES (x'01ffab')")
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A proposal writes such a column so as well.
	if c := tables[0].Columns[0]; c.Kind != "varbinary" || !slices.Equal(c.Values, []string{"01ffab"}) {
		t.Errorf("%+v", c)
	}
}
