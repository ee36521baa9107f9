package sqladopt

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestMySQLOwned checks that rows that own their objects leave them behind in
// whatever way they are removed, and cannot name one that is being deleted.
func TestMySQLOwned(t *testing.T) {
	ctx := t.Context()
	database := servers.MariaDB(t)
	s := &mysqlSite{t: t, pool: newMySQLPool(t, database), url: database}
	s.must("CREATE TABLE files (id BIGINT AUTO_INCREMENT PRIMARY KEY, object_key VARCHAR(200) NOT NULL, preview INT NULL, ends DATETIME(6) NULL, KEY (object_key))")
	d := adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard,
		Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Zone: "UTC", Objects: []string{"{object_key}", "small/{preview}"}},
	}
	s.Collection = s.open(d)
	s.must("INSERT INTO files (object_key, preview, ends) VALUES ('one', 1, UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE), ('Two', 2, NULL), ('three', NULL, NULL), ('shared', 9, NULL), ('shared', 9, NULL)")
	sample, err := s.Sample(ctx, 10)
	slices.Sort(sample)
	if want := []string{"Two", "one", "shared", "shared", "small/1", "small/2", "small/9", "small/9", "three"}; err != nil || !slices.Equal(sample, want) {
		t.Errorf("sample %q, want %q: %v", sample, want, err)
	}
	if out, err := s.Take(ctx, 10, 0); err != nil || out.Gone != 1 {
		t.Fatalf("took %+v %v", out, err)
	}
	s.must("DELETE FROM files WHERE object_key = 'TWO'")
	s.must("UPDATE files SET object_key = 'four', preview = 4 WHERE object_key = 'three'")
	s.must("DELETE FROM files WHERE object_key = 'shared' LIMIT 1")
	s.must("INSERT INTO files (object_key) VALUES ('two')") // another object than Two
	m := s.mark()
	keys := condemnedKeys(m)
	if want := []string{"Two=Two", "one=one", "small/1=small/1", "small/2=small/2", "three=three"}; !slices.Equal(keys, want) {
		t.Fatalf("condemned %q, want %q", keys, want)
	}
	for _, text := range []string{
		"INSERT INTO files (object_key) VALUES ('one')", "INSERT IGNORE INTO files (object_key, preview) VALUES ('new', 2)",
		"UPDATE files SET object_key = 'Two' WHERE object_key = 'four'", "REPLACE INTO files (id, object_key) VALUES (1, 'three')",
	} {
		if _, err := s.pool.ExecContext(ctx, text); refusedByMySQL(err) == nil {
			t.Errorf("%s: %v, want a refusal", text, err)
		}
	}
	s.must("UPDATE files SET preview = 5 WHERE object_key = 'two'") // what it names already is not checked
	found, err := s.Check(ctx)
	if err != nil || adopt.Problems(found) || strings.Contains(findings(found), "names {object_key}") || !strings.Contains(findings(found), "names small/{preview}") {
		t.Errorf("found %s: %v", findings(found), err)
	}
	if err := s.RemoveGuard(ctx); err == nil {
		t.Error("the guard was removed while objects are being deleted")
	}

	s.must("CREATE TABLE parents (id BIGINT PRIMARY KEY)")
	s.must("CREATE TABLE parts (id BIGINT PRIMARY KEY, parent BIGINT, object_key VARCHAR(200) NOT NULL, ends DATETIME NULL, FOREIGN KEY (parent) REFERENCES parents (id) ON DELETE CASCADE)")
	d.Rows.Table, d.Rows.Objects = "parts", []string{"{object_key}"}
	if _, err := s.database().Collection(ctx, "parts", d); err == nil || !strings.Contains(err.Error(), "past every trigger") {
		t.Errorf("a cascade that no trigger sees: %v", err)
	}
	if _, err := s.Mark(ctx, adopt.MarkRequest{Limit: 1}); errors.Is(err, adopt.ErrUnguarded) {
		t.Error(err)
	}
}

func findings(found []adopt.Finding) string {
	var out []string
	for _, f := range found {
		out = append(out, f.What+": "+f.Do)
	}
	return strings.Join(out, "; ")
}

var (
	madeTable  = regexp.MustCompile(`(?s)CREATE TABLE IF NOT EXISTS \{lethe\}(\w+) \((.*?)\n\)`)
	madeColumn = regexp.MustCompile(`(?m)^    "?([a-z_]+)"? `)
)

// columnsOf returns the columns that a schema creates: "table.column".
func columnsOf(schema string) (out []string) {
	for _, table := range madeTable.FindAllStringSubmatch(schema, -1) {
		for _, column := range madeColumn.FindAllStringSubmatch(table[2], -1) {
			out = append(out, table[1]+"."+column[1])
		}
	}
	slices.Sort(out)
	return out
}

// TestMySQLSchema checks that its text has the tables and columns of the
// others.
func TestMySQLSchema(t *testing.T) {
	want := append(columnsOf(schemaSQL), "guards.collection", "guards.version", "runs.alone")
	slices.Sort(want)
	if got := columnsOf(mysqlSchema); !slices.Equal(got, want) {
		t.Errorf("columns\n%v, want\n%v", got, want)
	}
}
