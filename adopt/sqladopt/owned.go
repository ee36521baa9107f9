package sqladopt

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// contentTexts are the statements on what is to go: contents with rows of their own, or
// objects that the rows of the collection own.
type contentTexts struct {
	free   string // locks what nobody else has locked, and returns it
	look   string // is a statement of its own: it sees what was committed before the lock
	hold   string // waits for the locks
	remove string // empty: there are no rows to remove
	sample string // returns some keys of objects
}

// The guard of rows that own objects locks their keys, as there is no row to lock.
const ownedSeed = 7564322

var ownedTexts = contentTexts{
	free: fmt.Sprintf(`SELECT t.id FROM {ids 1} WHERE pg_try_advisory_xact_lock(hashtextextended(t.id, %d))`, ownedSeed),
	look: `SELECT t.id, 1, CASE WHEN {owned} THEN 1 ELSE 0 END FROM {ids 1}`,
	hold: fmt.Sprintf(`SELECT t.id FROM (SELECT id FROM {ids 1} ORDER BY id) AS t
		WHERE pg_advisory_xact_lock(hashtextextended(t.id, %d)) IS NOT NULL`, ownedSeed),
	sample: `SELECT {own object} FROM {rows} r ORDER BY r.{key} DESC LIMIT ?1`,
}

func (c *Collection) texts() contentTexts {
	if len(c.c.Rows.Objects) > 0 {
		return ownedTexts
	}
	return contentTexts{freeContents, lookAgain, holdContents, deleteContents, sampleObjects}
}

// guardOwnedSQL is the guard of rows that own objects: it keeps keys from being named
// while their objects go, and writes down which a row leaves behind, whoever removes it.
//
//go:embed guard_owned_postgres.sql
var guardOwnedSQL string

const unguardOwnedSQL = `DROP TRIGGER IF EXISTS {trigger rows} ON {rows};
DROP TRIGGER IF EXISTS {trigger left} ON {rows};
DROP FUNCTION IF EXISTS {lethe}{guard rows}();
DROP FUNCTION IF EXISTS {lethe}{guard left}();
DROP FUNCTION IF EXISTS {lethe}{guard look}(text);`

// ownedWords fills in the marks of rows that own objects.
func ownedWords(w words, c adopt.Collection) error {
	var owned, news, olds, columns []string
	for _, text := range c.Rows.Objects {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return err
		}
		owned = append(owned, fmt.Sprintf("EXISTS (SELECT 1 FROM %s r WHERE %s = t.id)", table(c.Rows.Table), concatenation(t, "r")))
		news, olds = append(news, concatenation(t, "NEW")), append(olds, concatenation(t, "OLD"))
		for _, name := range t.Columns() {
			columns = append(columns, ident(name))
		}
	}
	first, err := adopt.ParseTemplate(c.Rows.Objects[0])
	if err != nil {
		return err
	}
	w["{own object}"] = concatenation(first, "r")
	w["{owned}"] = strings.Join(owned, " OR ")
	w["{new objects}"], w["{old objects}"] = strings.Join(news, ", "), strings.Join(olds, ", ")
	w["{object columns}"] = strings.Join(columns, ", ")
	w["{grace}"] = fmt.Sprint(c.Graces().Unreferenced.Microseconds())
	w["{seed}"] = fmt.Sprint(ownedSeed)
	return nil
}

// ownedTrials are the statements on objects that rows own.
func (c *Collection) ownedTrials() (out []trial) {
	for _, text := range c.c.Rows.Objects {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			continue // Parse has refused it
		}
		expression := concatenation(t, "r")
		out = append(out, trial{
			what: "look whether a row names " + text, args: []any{"x"}, table: c.c.Rows.Table,
			text:  fmt.Sprintf("SELECT 1 FROM {rows} r WHERE %s = ?1 LIMIT 1", expression),
			index: fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s ((%s))", table(c.c.Rows.Table), strings.ReplaceAll(expression, "r.", "")),
		})
	}
	return out
}
