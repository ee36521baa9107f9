package sqladopt

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// stray are tables with two rows in states that a description does not name; a
// status may be NULL.
const stray = `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count integer);
	CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), ends bigint, state varchar(20) DEFAULT 'LIVE', since bigint);
	INSERT INTO content VALUES ('h', NULL);
	INSERT INTO pastes VALUES ('a', 'h', 1700000000, NULL, NULL), ('b', NULL, 1700000000, 'KEPT', NULL), ('c', NULL, 1700000000, 'LIVE', NULL),
		('d', NULL, 1700000000, 'GONE', NULL), ('e', NULL, 1700000000, 'BUSY', 1700000000);`

// Rows in an undescribed state stay; check and explain report them.
func TestStatesThatNobodyNames(t *testing.T) {
	onEngines(t, stray, findsStrayStates)
}

// onEngines runs a test on tables in every database, one statement a line.
func onEngines(t *testing.T, tables string, test func(t *testing.T, db *DB)) {
	t.Helper()
	for engine, open := range map[string]func(t *testing.T) *DB{
		"PostgreSQL": func(t *testing.T) *DB { return openDB(t, servers.Postgres(t)) },
		"SQLite":     func(t *testing.T) *DB { db, _ := liteDB(t, ""); return db },
		"MariaDB":    func(t *testing.T) *DB { return (&mysqlSite{t: t, url: servers.MariaDB(t)}).database() },
	} {
		t.Run(engine, func(t *testing.T) {
			db := open(t)
			if err := db.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			script(t, db, tables)
			test(t, db)
		})
	}
}

// script runs the application's statements.
func script(t *testing.T, db *DB, text string) {
	t.Helper()
	for statement := range strings.SplitSeq(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";") {
		if err := db.write(t.Context(), "act as the application", func(t *tx) error { return t.script(statement) }); err != nil {
			t.Fatal(statement, err)
		}
	}
}

func findsStrayStates(t *testing.T, db *DB) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	c, err := db.Collection(ctx, "pastes", adopt.Collection{
		Rows: adopt.Rows{Table: "pastes", Key: "code", End: "ends", Unit: "s", Initiated: "since", Content: "hash",
			Status: &adopt.Status{Column: "state", Live: "LIVE", Claimed: "BUSY", Deleted: "GONE"}},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"}, Prefix: "content/",
	})
	if err != nil {
		t.Fatal(err)
	}
	found, err := c.Check(ctx)
	if err != nil || adopt.Problems(found) {
		t.Fatalf("%+v %v", found, err)
	}
	text := findings(found)
	for _, want := range []string{"state is NULL, which the description does not name", "state is KEPT, which"} {
		if !strings.Contains(text, want) {
			t.Errorf("a check finds %s, and not %q", text, want)
		}
	}
	if strings.Contains(text, "state LIVE") || strings.Contains(text, "state GONE") || strings.Contains(text, "state BUSY") {
		t.Errorf("a check wonders at states that are described: %s", text)
	}
	for key, want := range map[string]string{"a": "its state is NULL, which the description does not name, so that it stays", "b": "its state is KEPT, which the description",
		"h": "its count is NULL"} {
		if facts, err := c.Explain(ctx, key); err != nil || !strings.Contains(fmt.Sprint(facts), want) {
			t.Errorf("of %s is said %v, %v", key, facts, err)
		}
	}
	if facts, err := c.Explain(ctx, "c"); err != nil || strings.Contains(fmt.Sprint(facts), "does not name") {
		t.Errorf("of a live row is said %v, %v", facts, err)
	}
	claim, err := c.Claim(ctx, 10)
	if err == nil {
		_, err = c.Settle(ctx, claim, 0)
	}
	if facts, explained := c.Explain(ctx, "c"); err != nil || explained != nil || !strings.Contains(fmt.Sprint(facts), "its state is GONE") ||
		!strings.Contains(fmt.Sprint(facts), "row c ended; it is kept as GONE") {
		t.Errorf("of a row that is kept is said %v, %v, %v", facts, err, explained)
	}
}
