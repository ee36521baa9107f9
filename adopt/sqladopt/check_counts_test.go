package sqladopt

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
)

// counted are tables of contents that two tables refer to. Content i has i%3
// pastes and, every tenth, a pin; its size is far from any count, its flags
// near, its note no number.
func counted(contents int) string {
	var b strings.Builder
	b.WriteString(`CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count bigint, size bigint, flags integer, note varchar(40));
		CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), expires_at bigint);
		CREATE TABLE pins (id integer NOT NULL PRIMARY KEY, of_content varchar(40), FOREIGN KEY (of_content) REFERENCES content (hash), FOREIGN KEY (of_content) REFERENCES content (hash));
		CREATE INDEX pinned ON pins (of_content);
`)
	for i := range contents {
		pin := 0
		if i%10 == 0 {
			pin = 1
		}
		fmt.Fprintf(&b, "INSERT INTO content VALUES ('h%03d', %d, %d, 9, 'none');\n", i, i%3+pin, 5000+i)
		for n := range i % 3 {
			fmt.Fprintf(&b, "INSERT INTO pastes VALUES ('p%03d-%d', 'h%03d', NULL);\n", i, n, i)
		}
		if pin > 0 {
			fmt.Fprintf(&b, "INSERT INTO pins VALUES (%d, 'h%03d');\n", i, i)
		}
	}
	return b.String()
}

// countedBy is a collection of them by a column of counts.
func countedBy(t *testing.T, db *DB, column string) *Collection {
	t.Helper()
	c, err := db.Collection(t.Context(), "pastes", adopt.Collection{
		Rows:     adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "s", Content: "hash"},
		Contents: &adopt.Table{Table: "content", Key: "hash", Count: column, Object: "content/{hash}"}, Prefix: "content/",
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// aboutCounts is what a check finds about counts.
func aboutCounts(t *testing.T, db *DB, column string) (problem bool, text string) {
	t.Helper()
	found, err := countedBy(t, db, column).Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if strings.Contains(f.What, "content."+column) {
			return f.Problem, f.What + " => " + f.Do
		}
	}
	return false, ""
}

// A column that is no count keeps a collection from reclaiming; counts that are
// wrong here and there do not.
func TestColumnsThatAreNoCounts(t *testing.T) {
	onEngines(t, counted(60), func(t *testing.T, db *DB) {
		want := func(column string, problem bool, texts ...string) {
			t.Helper()
			is, text := aboutCounts(t, db, column)
			if is != problem || len(texts) == 0 && text != "" {
				t.Errorf("count: %s is a problem: %v: %s", column, is, text)
			}
			for _, part := range texts {
				if !strings.Contains(text, part) {
					t.Errorf("of count: %s is said %q, without %q", column, text, part)
				}
			}
		}
		want("ref_count", false)
		want("size", true, "content.size does not behave like a count of references: 20 of 20 sampled counts in content.size differ", `"h`, ", rows ",
			"name the column that is one in contents.count, or leave it out", "lethe adopt recount FILE pastes")
		want("flags", true, "content.flags does not behave")

		// Two at the ends of the index are wrong: one too many, and none.
		script(t, db, `UPDATE content SET ref_count = 2 WHERE hash = 'h000'; UPDATE content SET ref_count = NULL WHERE hash = 'h059'`)
		want("ref_count", false, "2 of 20 sampled counts in content.ref_count differ", `such as "h000": count 2, rows 1 =>`, "lethe adopt recount FILE pastes lists wrong counts, and with --repair")

		// Rows that no foreign key shows may refer to them, too.
		script(t, db, `UPDATE content SET ref_count = coalesce(ref_count, 2) + 1 + size % 3`)
		want("ref_count", false, "of 20 sampled counts in content.ref_count differ", "lethe adopt recount FILE pastes lists wrong counts")

		// Few contents may all be in work, but none is in work 5,000 times.
		script(t, db, `DELETE FROM pins; DELETE FROM pastes; DELETE FROM content WHERE hash > 'h001'`)
		want("ref_count", false, "2 of 2 sampled counts")
		want("size", true, "2 of 2 sampled counts")
		script(t, db, `DELETE FROM content`)
		want("ref_count", false)
		want("size", false)
	})
}

// A column of texts that a database computes with as numbers is no count.
func TestCountsThatAreNoIntegers(t *testing.T) {
	onEngines(t, counted(3), func(t *testing.T, db *DB) {
		found, err := countedBy(t, db, "note").Check(t.Context())
		if text := findings(found); err != nil || !adopt.Problems(found) {
			t.Errorf("count: note is no problem: %s %v", text, err)
		}
	})
}

// Rows of every table that has a foreign key to contents are counted: a repair
// leaves them their objects.
func TestRecountCountsEveryReference(t *testing.T) {
	onEngines(t, counted(20), func(t *testing.T, db *DB) {
		c := countedBy(t, db, "ref_count")
		if drifts, _, err := c.Recount(t.Context(), "", 100, RepairAll); err != nil || len(drifts) > 0 {
			t.Errorf("counts that are right were repaired: %v %v", drifts, err)
		}
		script(t, db, `UPDATE content SET ref_count = 0 WHERE hash = 'h010'`)
		if drifts, _, err := c.Recount(t.Context(), "", 100, RepairAll); err != nil || len(drifts) != 1 || drifts[0].Rows != 2 {
			t.Errorf("a content with a paste and a pin has drifted by %v, %v", drifts, err)
		}
	})
}
