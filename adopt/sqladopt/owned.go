package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// contentTexts are the statements on what is to be deleted: contents with rows,
// or objects that the rows of the collection own.
type contentTexts struct {
	free   string // locks what is not locked, and returns it
	look   string // a separate statement: it sees what was committed before the lock
	hold   string // waits for the locks; empty if no rows change
	remove string // empty if there are no rows to remove
	sample string // returns some keys of objects
}

// The guard of rows that own objects locks their keys, since there is no row to
// lock. Keys share 1,024 locks: those of one transaction must not fill the
// server's lock table.
func ownedLock(key string) string {
	return "7564322, CAST(hashtextextended(" + key + ", 0) & 1023 AS int)"
}

var ownedTexts = contentTexts{
	free:   `SELECT t.id FROM {ids 1} WHERE pg_try_advisory_xact_lock(` + ownedLock("t.id") + `)`,
	look:   `SELECT t.id, 1, CASE WHEN {owned} THEN 1 ELSE 0 END, t.id FROM {ids 1}`,
	sample: `WITH r AS (SELECT * FROM {rows} ORDER BY {key} DESC LIMIT ?1) SELECT o.name FROM ({own objects}) AS o WHERE o.name IS NOT NULL`,
}

func (c *Collection) texts() contentTexts {
	if len(c.c.Rows.Objects) > 0 {
		return ownedTexts
	}
	return contentTexts{freeContents, lookAgain, holdContents, deleteContents, sampleObjects}
}

// ownedWords returns the words of rows that own objects.
func (db *DB) ownedWords(w words, c adopt.Collection, s *shape) error {
	var own, owned, news, olds, nests, nested []string
	for _, text := range c.Rows.Objects {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			return err
		}
		object := db.concatenation(t, "r", s.rows.columns)
		owned = append(owned, fmt.Sprintf("EXISTS (SELECT 1 FROM %s r WHERE %s%s = t.id)", table(c.Rows.Table), seek(t, s.rows.columns), object))
		own = append(own, "SELECT "+object+" AS name FROM r")
		of := db.concatenation(t, "NEW", s.rows.columns)
		nests, nested = append(nests, nesting(of, text)), append(nested, nesting(object, text))
		news, olds = append(news, of), append(olds, db.concatenation(t, "OLD", s.rows.columns))
	}
	w["{new nests}"], w["{row nests}"] = strings.Join(nests, " OR "), strings.Join(nested, " OR ")
	w["{own objects}"] = strings.Join(own, " UNION ALL ")
	w["{owned}"] = strings.Join(owned, " OR ")
	w["{new objects}"], w["{old objects}"] = strings.Join(news, ", "), strings.Join(olds, ", ")
	w["{grace}"] = fmt.Sprint(c.Graces().Unreferenced.Microseconds())
	w["{lock of key}"] = ownedLock("key")
	return nil
}

// nesting returns the condition that a folder is not as deep as its template.
func nesting(expression, template string) string {
	return fmt.Sprintf("length(%s) - length(replace(%s, '/', '')) <> %d", expression, expression, strings.Count(template, "/"))
}

// ifFolders returns a text of the guard if rows own folders.
func (c *Collection) ifFolders(text string) string {
	if !c.c.Rows.OwnFolders() {
		return ""
	}
	return text
}

// nestedRow returns a row whose folder is inside another row's, and would be
// deleted with it.
const nestedRow = `SELECT min({r key}) FROM {rows} r WHERE {row nests}`

// apart returns an error for nested folders. The guard refuses them; these are
// older than the guard, or were added while it was disabled.
func (c *Collection) apart(t *tx) error {
	if !c.c.Rows.OwnFolders() {
		return nil
	}
	var key sql.NullString
	if err := t.row(nestedRow).Scan(&key); err != nil {
		return err
	}
	if key.Valid {
		return fmt.Errorf("row %s of %s owns a folder that lies in that of another, as its name has a slash: rename it", key.String, c.c.Rows.Table)
	}
	return nil
}

// nested looks for nested folders, which reads all rows, for a bounded time.
func (c *Collection) nested(ctx context.Context) ([]adopt.Finding, error) {
	err := c.read(ctx, "look for folders in folders", func(t *tx) error {
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		return c.apart(t)
	})
	switch {
	case sqldb.TooLong(err):
		return []adopt.Finding{{What: fmt.Sprintf("whether folders lie in those of other rows was not looked at: to read all of %s takes longer than %s", c.c.Rows.Table, c.db.o.LookTime),
			Do: "lethe adopt guard install FILE looks at all rows"}}, nil
	case err != nil && ctx.Err() == nil:
		return []adopt.Finding{{Problem: true, What: Reason(err).Error(), Do: "no row may own what lies in the folder of another"}}, nil
	}
	return nil, err
}

// seek returns the condition by which an index finds the only column of a
// template, where the expression of its text cannot use one.
func seek(t adopt.Template, columns map[string]column) string {
	if len(t.Columns()) != 1 || columns[t.Columns()[0]].seek == "" {
		return ""
	}
	value := "t.id"
	if before, after := t.Literals()[0], t.Literals()[1]; before+after != "" {
		n := utf8.RuneCountInString(before)
		value = fmt.Sprintf("substr(t.id, %d, char_length(t.id) - %d)", n+1, n+utf8.RuneCountInString(after))
	}
	return "r." + sqldb.Quoted(t.Columns()[0]) + " = " + strings.ReplaceAll(columns[t.Columns()[0]].seek, "t.id", value) + " AND "
}

// ownedTrials returns the statements on objects that rows own.
func (c *Collection) ownedTrials() (out []trial) {
	for _, text := range c.c.Rows.Objects {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			continue // Parse has refused it
		}
		expression := c.db.concatenation(t, "r", c.s.rows.columns)
		found := seek(t, c.s.rows.columns)
		indexed := "(" + strings.ReplaceAll(expression, "r.", "") + ")"
		if found != "" {
			indexed = sqldb.Quoted(t.Columns()[0])
		}
		out = append(out, trial{
			what: "look whether a row names " + text, args: []any{t.Fill(slices.Repeat([]string{"1"}, len(t.Columns())))}, table: c.c.Rows.Table,
			text:  fmt.Sprintf("SELECT 1 FROM {rows} r WHERE %s%s = ?1 LIMIT 1", strings.ReplaceAll(found, "t.id", "?1"), expression),
			index: c.index(table(c.c.Rows.Table), indexed, ""),
		})
	}
	return out
}
