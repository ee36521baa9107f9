package sqladopt

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// ownersOn opens a guarded collection of rows that own their objects, which wait for
// nothing, on a table of this type of key.
func ownersOn(t *testing.T, db *DB, keys map[string]string) *Collection {
	t.Helper()
	if db.runner.Dialect.Name == sqldb.PostgresName && strings.Contains(keys[sqldb.PostgresName], "COLLATE ci") {
		script(t, db, "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
	}
	script(t, db, "CREATE TABLE files (id integer PRIMARY KEY, object_key "+keys[db.runner.Dialect.Name]+", ends bigint)")
	c, err := db.Collection(t.Context(), "files", adopt.Collection{Guard: adopt.TriggerGuard, Prefix: "files/", Grace: adopt.GraceSpec{Unreferenced: new(adopt.Duration)},
		Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Unit: "s", Objects: []string{"{object_key}"}}})
	if err == nil {
		err = c.InstallGuard(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// left marks what rows have left behind, and returns it.
func (c *Collection) left(t *testing.T) []string {
	t.Helper()
	script(t, c.db, c.db.runner.Dialect.Expand("UPDATE {lethe}condemned SET due_at = 0"))
	m, err := c.Mark(t.Context(), adopt.MarkRequest{Limit: 9, Late: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var objects []string
	for _, x := range m.Contents {
		objects = append(objects, x.Object)
	}
	slices.Sort(objects)
	return objects
}

// A text that is too long for a key of an object is in nobody's way: the application
// inserts, changes and removes its row.
func TestTextsTooLongForKeys(t *testing.T) {
	onEngines(t, "SELECT 1", func(t *testing.T, db *DB) {
		c := ownersOn(t, db, map[string]string{sqldb.PostgresName: "text", sqldb.SQLiteName: "text", sqldb.MySQLName: "text"})
		// It does not compress.
		insert := "INSERT INTO files SELECT 1, 'data:' || string_agg(md5(CAST(n AS text)), ''), NULL FROM generate_series(1, 300) AS n"
		begin := db.runner.Pool.BeginTx
		options := &sql.TxOptions{Isolation: sql.LevelRepeatableRead}
		if db.runner.Dialect.Name != sqldb.PostgresName {
			insert, options = "INSERT INTO files VALUES (1, 'data:"+strings.Repeat("0123456789", 900)+"', NULL)", nil
		}
		for _, text := range []string{
			insert, "UPDATE files SET object_key = 'files/x'", "UPDATE files SET object_key = 'files/" + strings.Repeat("y", 1019) + "'",
			"DELETE FROM files", insert, "DELETE FROM files",
		} {
			tx, err := begin(t.Context(), options)
			if err == nil {
				_, err = tx.ExecContext(t.Context(), text)
				err = errors.Join(err, tx.Commit())
			}
			if err != nil {
				t.Fatalf("%.99s: %v", text, err)
			}
		}
		if left := c.left(t); !slices.Equal(left, []string{"files/x"}) {
			t.Errorf("marked %.99q", left)
		}
	})
}

// Keys of objects are compared by bytes, whatever a collation takes for equal.
func TestOwnedObjectsAreComparedByBytes(t *testing.T) {
	onEngines(t, "SELECT 1", func(t *testing.T, db *DB) {
		c := ownersOn(t, db, map[string]string{
			sqldb.PostgresName: "text COLLATE ci", sqldb.SQLiteName: "text COLLATE NOCASE", sqldb.MySQLName: "varchar(200) COLLATE utf8mb4_general_ci",
		})
		script(t, db, `INSERT INTO files VALUES (1, 'files/A', NULL); INSERT INTO files VALUES (2, 'files/a', NULL);
			INSERT INTO files VALUES (3, 'files/B', NULL); INSERT INTO files VALUES (4, 'files/c', NULL);
			DELETE FROM files WHERE id = 1; UPDATE files SET object_key = 'files/b' WHERE id = 3; UPDATE files SET ends = 7`)
		if left := c.left(t); !slices.Equal(left, []string{"files/A", "files/B"}) {
			t.Errorf("marked %q", left)
		}
		found, err := c.Check(t.Context())
		for _, f := range found {
			if strings.Contains(f.What, "whole table files is read") && strings.Contains(f.Do, "object_key") {
				script(t, db, strings.Replace(f.Do, " CONCURRENTLY ", " ", 1))
			}
		}
		if err == nil {
			found, err = c.Check(t.Context())
		}
		if text := findings(found); err != nil || strings.Contains(text, "names {object_key}") {
			t.Errorf("an index is wanted in vain: %s, %v", text, err)
		}
	})
}
