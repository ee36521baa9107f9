package sqladopt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// referring are tables with two contents of two tenants: 'a' has two pastes, a pin, a star
// and a content made from it; 'b' has a paste and was made from itself. Some foreign keys
// have two columns, and pins has one of each.
const referring = `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, tenant integer NOT NULL, ref_count bigint, made_from varchar(40), UNIQUE (tenant, hash), FOREIGN KEY (made_from) REFERENCES content (hash));
	CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, tenant integer, hash varchar(40), expires_at bigint, FOREIGN KEY (tenant, hash) REFERENCES content (tenant, hash));
	CREATE TABLE pins (id integer NOT NULL PRIMARY KEY, tenant integer, of_content varchar(40), FOREIGN KEY (tenant, of_content) REFERENCES content (tenant, hash), FOREIGN KEY (of_content) REFERENCES content (hash));
	CREATE TABLE stars (id integer NOT NULL PRIMARY KEY, tenant integer, of_content varchar(40), FOREIGN KEY (tenant, of_content) REFERENCES content (tenant, hash));
	INSERT INTO content VALUES ('a', 1, 5, NULL);
	INSERT INTO content VALUES ('b', 1, 1, 'b');
	INSERT INTO content VALUES ('c', 1, 0, 'a');
	INSERT INTO pastes VALUES ('p1', 1, 'a', NULL);
	INSERT INTO pastes VALUES ('p2', 1, 'a', NULL);
	INSERT INTO pastes VALUES ('p3', 1, 'b', NULL);
	INSERT INTO pins VALUES (1, 1, 'a');
	INSERT INTO stars VALUES (1, 1, 'a');
	INSERT INTO stars VALUES (2, 1, NULL)`

// right reports counts of a collection that a recount holds to be wrong.
func right(t *testing.T, db *DB) {
	t.Helper()
	drifts, _, err := countedBy(t, db, "ref_count").Recount(t.Context(), "", 100, RepairNone)
	if err != nil || len(drifts) > 0 {
		t.Errorf("right counts are held to be wrong: %+v %v", drifts, err)
	}
}

// A foreign key of two columns refers by both. One that another covers, that of the rows
// too, and a content that refers to itself, are not counted again.
func TestCompoundReferences(t *testing.T) {
	onEngines(t, referring, func(t *testing.T, db *DB) {
		right(t, db)
		_, err := db.Collection(t.Context(), "pastes", adopt.Collection{
			Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
			Contents: &adopt.Table{Table: "content", Key: "hash", Object: "content/{hash}"}, Prefix: "content/",
		})
		if want := "stars (tenant, of_content)"; err == nil || !strings.Contains(err.Error(), "content.made_from, pins.of_content, "+want+" refer to content as well") {
			t.Errorf("without a count: %v", err)
		}
	})
}

// A column that refers to another column of the contents than the description says.
func TestReferencesOfAnotherColumn(t *testing.T) {
	onEngines(t, `CREATE TABLE content (id varchar(40) NOT NULL PRIMARY KEY, hash varchar(40) NOT NULL UNIQUE, ref_count bigint);
		CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), expires_at bigint, FOREIGN KEY (hash) REFERENCES content (id))`, func(t *testing.T, db *DB) {
		_, err := db.Collection(t.Context(), "pastes", adopt.Collection{
			Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
			Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"}, Prefix: "content/",
		})
		if err == nil || !strings.Contains(err.Error(), "column hash of pastes refers to id of content by a foreign key, and contents.key is hash: correct contents.key") {
			t.Errorf("%v", err)
		}
	})
}

// Rows of partitions are counted once, wherever their foreign keys are declared: on parts,
// on the whole, on both, to a part of the contents, on a table that others inherit from.
func TestReferencesOfPartitions(t *testing.T) {
	db := openDB(t, servers.Postgres(t))
	script(t, db, `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count bigint) PARTITION BY HASH (hash);
		CREATE TABLE content_all PARTITION OF content FOR VALUES WITH (MODULUS 1, REMAINDER 0);
		CREATE TABLE pastes (code varchar(40) PRIMARY KEY, hash varchar(40), expires_at bigint) PARTITION BY HASH (code);
		CREATE TABLE pastes_0 PARTITION OF pastes FOR VALUES WITH (MODULUS 2, REMAINDER 0);
		CREATE TABLE pastes_1 PARTITION OF pastes FOR VALUES WITH (MODULUS 2, REMAINDER 1);
		ALTER TABLE pastes_0 ADD FOREIGN KEY (hash) REFERENCES content;
		ALTER TABLE pastes_1 ADD FOREIGN KEY (hash) REFERENCES content;
		CREATE TABLE pins (id integer, of_content varchar(40)) PARTITION BY RANGE (id);
		CREATE TABLE pins_low PARTITION OF pins FOR VALUES FROM (0) TO (10);
		CREATE TABLE pins_high PARTITION OF pins FOR VALUES FROM (10) TO (20) PARTITION BY RANGE (id);
		CREATE TABLE pins_high_all PARTITION OF pins_high FOR VALUES FROM (10) TO (20);
		ALTER TABLE pins_high_all ADD FOREIGN KEY (of_content) REFERENCES content ON DELETE CASCADE;
		ALTER TABLE pins_low ADD FOREIGN KEY (of_content) REFERENCES content_all;
		CREATE TABLE stars (id integer, of_content varchar(40) REFERENCES content) PARTITION BY RANGE (id);
		CREATE TABLE stars_all PARTITION OF stars FOR VALUES FROM (0) TO (10);
		ALTER TABLE stars_all ADD FOREIGN KEY (of_content) REFERENCES content ON DELETE CASCADE;
		CREATE TABLE notes (of_content varchar(40) REFERENCES content);
		CREATE TABLE long_notes (FOREIGN KEY (of_content) REFERENCES content) INHERITS (notes);
		INSERT INTO content VALUES ('a', 11);
		INSERT INTO pastes SELECT 'p' || n, 'a' FROM generate_series(1, 4) n;
		INSERT INTO pins VALUES (1, 'a'), (11, 'a'), (12, 'a');
		INSERT INTO stars VALUES (1, 'a'), (2, 'a');
		INSERT INTO notes VALUES ('a');
		INSERT INTO long_notes VALUES ('a')`)
	right(t, db)

	// An index that helps is proposed for the whole table, and can be created.
	for range 2 {
		found, err := countedBy(t, db, "ref_count").Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if strings.Contains(f.What, "the whole table pastes is read") {
				script(t, db, f.Do)
			}
		}
	}
	found, err := countedBy(t, db, "ref_count").Check(t.Context())
	if text := findings(found); err != nil || strings.Contains(text, "table pastes is read") {
		t.Errorf("with the indexes of a check: %s %v", text, err)
	}
	var indexes int
	if err := db.runner.Pool.QueryRow("SELECT count(*) FROM pg_indexes WHERE tablename = 'pastes'").Scan(&indexes); err != nil || indexes != 3 {
		t.Errorf("%d indexes of pastes, %v", indexes, err)
	}
}

// A foreign key to one partition by a column that is unique only there cannot be counted.
func TestReferencesToOnePartition(t *testing.T) {
	db := openDB(t, servers.Postgres(t))
	script(t, db, `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, id integer, ref_count bigint) PARTITION BY HASH (hash);
		CREATE TABLE content_0 PARTITION OF content FOR VALUES WITH (MODULUS 2, REMAINDER 0);
		CREATE TABLE content_1 PARTITION OF content FOR VALUES WITH (MODULUS 2, REMAINDER 1);
		ALTER TABLE content_0 ADD UNIQUE (id);
		CREATE TABLE pastes (code varchar(40) PRIMARY KEY, hash varchar(40), expires_at bigint);
		CREATE TABLE pins (of_content integer REFERENCES content_0 (id))`)
	_, err := db.Collection(t.Context(), "pastes", adopt.Collection{
		Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"}, Prefix: "content/",
	})
	if err == nil || !strings.Contains(err.Error(), "pins.of_content refers to one partition of content, by columns that need not be unique in others: let the foreign key name content, or its column hash") {
		t.Errorf("%v", err)
	}
}

// A count that is 0 although rows of another table refer to the content deletes nothing: the
// content is reported, and explain tells of those rows.
func TestOtherTablesKeepObjects(t *testing.T) {
	onEngines(t, referring+`;UPDATE content SET ref_count = 0 WHERE hash = 'a'; DELETE FROM pastes WHERE hash = 'a'; DELETE FROM content WHERE hash = 'c';
		INSERT INTO content VALUES ('free', 1, 0, 'free')`, func(t *testing.T, db *DB) {
		d := adopt.Collection{
			Guard: adopt.TriggerGuard, Prefix: "content/",
			Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
			Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"},
		}
		c, err := db.Collection(t.Context(), "pastes", d)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.InstallGuard(t.Context()); err != nil {
			t.Fatal(err)
		}
		mark := func() adopt.Marked {
			if _, _, err := c.Find(t.Context(), "", 100, 0); err != nil {
				t.Fatal(err)
			}
			m, err := c.Mark(t.Context(), adopt.MarkRequest{Limit: 100})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		if m := mark(); len(m.Contents) != 1 || m.Contents[0].Content != "free" {
			t.Errorf("marked %+v, with a pin and a star on a", m)
		}
		script(t, db, `DELETE FROM pins; DELETE FROM stars`)
		if m := mark(); len(m.Contents) != 2 {
			t.Errorf("without them: marked %+v", m)
		}
	})
}

// The last paste of a content goes, and its count with it, while another table refers to
// the content without having counted: it stays.
func TestLastRowOfAReferencedContent(t *testing.T) {
	db := openDB(t, servers.Postgres(t))
	if err := db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	script(t, db, `CREATE TABLE content (hash text PRIMARY KEY, ref_count bigint);
		CREATE TABLE pastes (code text PRIMARY KEY, hash text REFERENCES content, expires_at timestamptz, status text DEFAULT 'LIVE', since timestamptz);
		CREATE TABLE pins (hash text REFERENCES content ON DELETE CASCADE);
		INSERT INTO content VALUES ('a', 1); INSERT INTO pastes VALUES ('p', 'a', '2020-01-01'); INSERT INTO pins VALUES ('a')`)
	c, err := db.Collection(t.Context(), "pastes", adopt.Collection{
		Guard: adopt.TriggerGuard, Prefix: "content/",
		Rows: adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Content: "hash", Initiated: "since",
			Status: &adopt.Status{Column: "status", Live: "LIVE", Claimed: "BUSY"}},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: "ref_count", Object: "content/{hash}"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	claim, err := c.Claim(t.Context(), 10)
	if err != nil {
		t.Fatal(err)
	}
	settled, marked, err := c.End(t.Context(), claim, adopt.EndRequest{Late: time.Minute})
	if err != nil || settled.Gone != 1 || len(marked.Contents) > 0 {
		t.Errorf("settled %+v, marked %+v, %v", settled, marked, err)
	}
	var pins int
	if err := db.runner.Pool.QueryRow("SELECT count(*) FROM pins").Scan(&pins); err != nil || pins != 1 {
		t.Errorf("%d pins are left, %v", pins, err)
	}
}

// A check reads a table without an index for a bounded time; then the collection stays in
// report, and the check says which index helps.
func TestChecksAreBounded(t *testing.T) {
	for engine, open := range map[string]func(t *testing.T) *DB{
		"PostgreSQL": func(t *testing.T) *DB { return openDB(t, servers.Postgres(t)) },
		"MariaDB":    func(t *testing.T) *DB { return (&mysqlSite{t: t, url: servers.MariaDB(t)}).database() },
	} {
		t.Run(engine, func(t *testing.T) {
			db := open(t)
			db.o.LookTime = 2 * time.Millisecond
			index, many := "CREATE INDEX", "INSERT INTO pastes SELECT n, 'h', n FROM (WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 200000) SELECT n FROM s) AS many"
			if engine == "MariaDB" {
				index, many = "ALTER TABLE", "SET SESSION max_recursive_iterations = 1000000; "+many
			}
			if err := db.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			script(t, db, `CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count bigint); INSERT INTO content VALUES ('h', 200000)`)
			script(t, db, `CREATE TABLE pastes (code integer NOT NULL PRIMARY KEY, hash varchar(40), expires_at bigint)`)
			if err := db.write(t.Context(), "fill", func(t *tx) error { return t.script(many) }); err != nil {
				t.Fatal(err)
			}
			found, err := countedBy(t, db, "ref_count").Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, f := range found {
				text += fmt.Sprintf("%v: %s => %s\n", f.Problem, f.What, f.Do)
			}
			for _, want := range []string{
				"true: counts of content were not compared with the rows: a statement takes longer than 2ms => " + index,
				"true: whether expires_at of pastes is plausible was not seen: a statement takes longer than 2ms => " + index,
				"false: to look whether rows of pastes refer to contents the whole table pastes is read: no index fits => " + index,
			} {
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
		})
	}
}
