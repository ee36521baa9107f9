package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

// counting finds triggers that may change counts when a row ends, by their texts. Whether
// one does is for Settle to see, which compares the counts.
func (c *Collection) counting(ctx context.Context) (out []adopt.Finding, err error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, nil
	}
	err = c.read(ctx, "look for triggers", func(t *tx) error {
		names, _, err := c.db.engine.triggers(t, c.c.Rows.Table, c.event(), c.c.Contents.Count)
		if err != nil || len(names) == 0 {
			return err
		}
		out = []adopt.Finding{{
			What: fmt.Sprintf("a trigger of %s that runs when rows go mentions %s.%s (%s): if it counts them down, Lethe removes none, as it would do so once more", c.c.Rows.Table, c.c.Contents.Table, c.c.Contents.Count, strings.Join(names, ", ")),
			Do:   "if it counts: leave out contents.count, so that references are looked up, or let the trigger pass the rows that lethe's user removes"}}
		return nil
	})
	return out, err
}

// mayBeCounted reports whether triggers of the application fire when rows go, which may
// change counts.
func (c *Collection) mayBeCounted(t *tx) (bool, error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return false, nil
	}
	names, all, err := c.db.engine.triggers(t, c.c.Rows.Table, c.event(), "")
	return len(names) > 0 || !all, err
}

// event is what happens to a row that ends.
func (c *Collection) event() string {
	if c.endRows() == keepRows {
		return "UPDATE"
	}
	return "DELETE"
}

const (
	postgresTriggers = `SELECT DISTINCT t.tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE (t.tgrelid = to_regclass(?1) OR t.tgrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(?1))))
		AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgname NOT ILIKE 'lethe\_%'
		AND t.tgtype & CASE ?2 WHEN 'UPDATE' THEN 16 ELSE 8 END <> 0 AND strpos(lower(p.prosrc), lower(?3)) > 0 ORDER BY 1`
	// mysqlTriggers returns '' for those that do not matter.
	mysqlTriggers = `SELECT CASE WHEN event_manipulation = ?3 AND lower(trigger_name) NOT LIKE 'lethe|_%' ESCAPE '|'
			AND instr(lower(action_statement), lower(?4)) > 0 THEN trigger_name ELSE '' END
		FROM information_schema.triggers
		WHERE event_object_schema = coalesce(nullif(?1, ''), DATABASE()) AND event_object_table = ?2 ORDER BY 1`
	sqliteTriggers = `SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1 COLLATE NOCASE
		AND lower(substr(name, 1, 6)) <> 'lethe_' AND instr(lower(sql), lower(?2)) > 0 ORDER BY 1`
)

func (postgres) triggers(t *tx, name, event, mentions string) ([]string, bool, error) {
	names, err := all(t, text, postgresTriggers, table(name), event, mentions)
	return names, true, err
}

// triggers sees none without the privilege. With it, it sees at least the guard's.
func (mysql) triggers(t *tx, name, event, mentions string) ([]string, bool, error) {
	schema, bare := split(name)
	names, err := all(t, text, mysqlTriggers, schema, bare, event, mentions)
	seen := len(names) > 0
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), seen, err
}

func (sqlite) triggers(t *tx, name, event, mentions string) ([]string, bool, error) {
	on := regexp.MustCompile(`(?is)\b` + event + `\b(\s+OF\s.*?)?\s+ON\s`)
	names, err := all(t, func(r *sql.Rows) (name string, err error) {
		var text string
		if err = r.Scan(&name, &text); !on.MatchString(text) {
			name = ""
		}
		return name, err
	}, sqliteTriggers, bare(name), mentions)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), true, err
}
