package sqladopt

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// A key that is not a valid value of the column is explained as missing, and
// contents without a count are explained as others are.
func TestExplainOfEveryType(t *testing.T) {
	for kind, value := range map[string]string{"uuid": "0d3ccb44-2a13-4f2e-8a4f-0a3b5f0f5b6e", "smallint": "7", "bigint": "7", "bytea": `\x0a`, "text": "seven"} {
		url := servers.Postgres(t)
		connect(t, url, fmt.Sprintf(`CREATE TABLE blobs (id %[1]s PRIMARY KEY, location text NOT NULL UNIQUE);
			CREATE TABLE notes (id %[1]s PRIMARY KEY, body %[1]s REFERENCES blobs, ends timestamptz);
			INSERT INTO blobs VALUES ('%[2]s', 'blobs/a'); INSERT INTO notes VALUES ('%[2]s', '%[2]s', now())`, kind, value))
		c, err := openDB(t, url).Collection(t.Context(), "notes", adopt.Collection{
			Rows:     adopt.Rows{Table: "notes", Key: "id", End: "ends", Content: "body"},
			Contents: &adopt.Table{Table: "blobs", Key: "id", Object: "{location}"}, Prefix: "blobs/",
		})
		if err != nil {
			t.Fatal(err)
		}
		if facts, err := c.Explain(t.Context(), value); err != nil || !strings.Contains(fmt.Sprint(facts), "row "+value+" ends at") ||
			!strings.Contains(fmt.Sprint(facts), "is object blobs/a; 1 row refers to it") {
			t.Errorf("%s: of %s is said %v, %v", kind, value, facts, err)
		}
		if facts, err := c.Explain(t.Context(), "blobs/a"); err != nil || !strings.Contains(fmt.Sprint(facts), "content "+value+" is object blobs/a; 1 row refers to it") {
			t.Errorf("%s: of an object is said %v, %v", kind, facts, err)
		}
		for _, key := range []string{"blobs/b", "99999", "x", ""} {
			if facts, err := c.Explain(t.Context(), key); err != nil || len(facts) > 0 {
				t.Errorf("%s: of %q is said %v, %v", kind, key, facts, err)
			}
		}
	}
}

// Tables have their sampled values, and an error where these cannot be read.
func TestTablesAreSampled(t *testing.T) {
	url := servers.Postgres(t)
	conn := connect(t, url, `CREATE TABLE files (id uuid PRIMARY KEY, "at" text, size bigint, ends timestamptz);
		INSERT INTO files SELECT lpad(i::text, 32, '0')::uuid, nullif('f/' || i, 'f/1'), i, now() FROM generate_series(1, 3000) i;
		INSERT INTO files (id, "at", size) VALUES (repeat('f', 32)::uuid, repeat('x', 5000), NULL), (repeat('e', 32)::uuid, '', NULL);
		CREATE TABLE secrets (id bigint PRIMARY KEY)`)
	tables, err := openDB(t, url).Tables(t.Context())
	if err != nil || len(tables) != 2 {
		t.Fatal(tables, err)
	}
	held := map[string][]string{}
	for _, c := range tables[0].Columns {
		held[c.Name] = c.Values
	}
	if at := held["at"]; len(at) != adopt.SampledRows || at[0] != "f/3000" || !slices.Contains(at, "f/2") || len(held["id"]) != adopt.SampledRows ||
		!slices.Contains(held["size"], "1") || held["ends"] != nil {
		t.Errorf("sampled are %v", held)
	}
	if _, err := conn.Exec(t.Context(), `CREATE ROLE reader LOGIN; GRANT SELECT ON files TO reader; SET ROLE reader`); err != nil {
		t.Fatal(err)
	}
	as := strings.Replace(url, "postgres://"+conn.Config().User+"@", "postgres://reader@", 1)
	db, err := Open(t.Context(), as, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tables, err = db.Tables(t.Context())
	if err != nil || !slices.ContainsFunc(tables, func(x adopt.TableInfo) bool {
		return x.Name == "secrets" && strings.Contains(x.Unread, "permission denied")
	}) {
		t.Errorf("without a privilege: %v, %v", tables, err)
	}
}

// The object of a content is explained by its own key on MariaDB as well.
func TestMySQLExplainsObjects(t *testing.T) {
	s := newMySQLSite(t, servers.NewMariaDB(t).Database(t), mysqlKind{})
	if err := s.Put(t.Context(), adopttest.Row{Key: "row", Content: "Größe", In: adopttest.Never}); err != nil {
		t.Fatal(err)
	}
	facts, err := s.Explain(t.Context(), adopttest.ObjectOf("Größe"))
	if err != nil || !strings.Contains(fmt.Sprint(facts), "1 row refers to it") {
		t.Errorf("%v, %v", facts, err)
	}
}

// An object that is never deleted is explained, with the reason.
func TestExplainTellsWhatStays(t *testing.T) {
	d := kind{}.description()
	d.Prefix = "content/"
	s := newSite(t, servers.Postgres(t), kind{})
	c := s.open(d)
	for content, want := range map[string]string{"a//b": "until it is renamed", "fine": "", "": "its key is the prefix itself"} {
		if _, err := s.pool.Exec(t.Context(), "INSERT INTO content VALUES ($1, 0)", content); err != nil {
			t.Fatal(err)
		}
		facts, err := c.Explain(t.Context(), "content/"+content)
		if text := fmt.Sprint(facts); err != nil || len(facts) == 0 || strings.Contains(text, "stays") != (want != "") || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %v", content, facts, err)
		}
	}
	if why := c.stays("other/x"); !strings.Contains(why, "outside of the prefix content/") {
		t.Errorf("outside: %q", why)
	}
}

// What is moved is said to be moved: no guard refuses references to it.
func TestExplainTellsWhatMoves(t *testing.T) {
	s := newLiteSite(t, liteKind{kind: kind{Variant: adopttest.Variant{Quarantine: true}}})
	ctx := t.Context()
	told := func(want string) {
		t.Helper()
		facts, err := s.Explain(ctx, "x")
		if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, want) || strings.Contains(text, "nothing may refer") {
			t.Errorf("%v, %v, want %q", facts, err, want)
		}
	}
	g := adopt.DefaultGrace
	if err := s.Put(ctx, adopttest.Row{Key: "past", Content: "x", In: -time.Hour}); err != nil {
		t.Fatal(err)
	}
	s.expire(ctx)
	told("may be moved into quarantine from")
	s.Pass(time.Hour)
	m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: g.Late})
	if err != nil {
		t.Fatal(err)
	}
	told("is being moved into quarantine, attempt 1; if something refers to it again, it is copied back")
	if _, err := s.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "x"}}, g); err != nil {
		t.Fatal(err)
	}
	told("it left its place")
}

// Errors say what was done, in words: users read them.
func TestErrorsNameNoPackage(t *testing.T) {
	s := newLiteSite(t, liteKind{})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, canceled := s.Claim(over, 9)
	liteExec(t, s.loose, "DROP TABLE pastes")
	_, missing := s.Explain(t.Context(), "x")
	for err, want := range map[error]string{canceled: "claim rows of pastes: ", missing: "explain a key of pastes: "} {
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
