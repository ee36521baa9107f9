package sqladopt

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

// wordsSQLite are the keywords of SQLite, which has no list of them that SQL reads.
const wordsSQLite = `abort action add after all alter always analyze and as asc attach autoincrement before begin between by
	cascade case cast check collate column commit conflict constraint create cross current current_date current_time
	current_timestamp database default deferrable deferred delete desc detach distinct do drop each else end escape except
	exclude exclusive exists explain fail filter first following for foreign from full generated glob group groups having if
	ignore immediate in index indexed initially inner insert instead intersect into is isnull join key last left like limit
	match materialized natural no not nothing notnull null nulls of offset on or order others outer over partition plan pragma
	preceding primary query raise range recursive references regexp reindex release rename replace restrict returning right
	rollback row rows savepoint select set table temp temporary then ties to transaction trigger unbounded union unique update
	using vacuum values view virtual when where window with without`

// A column of any name gives its value, as a proposal's query has it.
func TestNamesThatAreWords(t *testing.T) {
	if adopt.Identifier("system_user") == "system_user" {
		t.Error("PostgreSQL 16 takes system_user for a value")
	}
	lite, _ := liteDB(t, "CREATE TABLE t (id integer)")
	for name, c := range map[string]struct {
		db   *DB
		list string
	}{
		"PostgreSQL": {openDB(t, servers.Postgres(t)), "SELECT word FROM pg_get_keywords() WHERE catcode IN ('R', 'T')"},
		"MariaDB":    {openDB(t, servers.MariaDB(t)), "SELECT lower(word) FROM information_schema.keywords"},
		"SQLite":     {lite, ""},
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(wordsSQLite)
			err := c.db.read(t.Context(), "try words", func(tx *tx) (err error) {
				if c.list != "" {
					words, err = all(tx, func(r *sql.Rows) (w string, err error) { return w, r.Scan(&w) }, c.list)
				}
				return err
			})
			if err != nil || len(words) < 90 {
				t.Fatalf("%d words, %v", len(words), err)
			}
			var wrong []string
			for _, w := range words {
				quoted := `"` + strings.ReplaceAll(w, `"`, `""`) + `"`
				var got string
				err := c.db.read(t.Context(), "try a word", func(tx *tx) error {
					return tx.row("SELECT 'a' || " + adopt.Identifier(w) + " FROM (SELECT 'x' AS " + quoted + ") q").Scan(&got)
				})
				if err != nil || got != "ax" {
					wrong = append(wrong, w)
				}
			}
			if len(wrong) > 0 {
				t.Errorf("%d words have to be quoted: %s", len(wrong), strings.Join(wrong, " "))
			}
		})
	}
}
