package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// counting finds triggers that may change counts when a row ends, by their texts. Whether
// one does is for Settle to see, which compares the counts.
func (c *Collection) counting(ctx context.Context) (out []adopt.Finding, err error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, nil
	}
	what := map[string]string{c.event(): "go"}
	if c.c.Rows.Status != nil && c.event() != "UPDATE" {
		what["UPDATE"] = "are claimed"
	}
	err = c.read(ctx, "look for triggers", func(t *tx) error {
		out = nil
		for _, event := range slices.Sorted(maps.Keys(what)) {
			names, _, err := c.db.engine.triggers(t, c.c.Rows.Table, event, c.c.Contents.Count)
			if err != nil {
				return err
			}
			if len(names) > 0 {
				out = append(out, adopt.Finding{
					What: fmt.Sprintf("a trigger of %s that runs when rows %s mentions %s.%s (%s): if it counts them down, Lethe removes none, as it would do so once more", c.c.Rows.Table, what[event], c.c.Contents.Table, c.c.Contents.Count, strings.Join(names, ", ")),
					Do:   "if it counts: leave out contents.count, so that references are looked up, or let the trigger pass the rows that lethe's user removes"})
			}
		}
		return nil
	})
	return out, err
}

// errCounted reports counts that the database changes itself. Nothing was done.
var errCounted = errors.New("the database itself changes counts of contents when rows go or are claimed, by a trigger perhaps, and they would be counted down twice: " +
	"leave out contents.count, or let the trigger pass the rows that lethe removes")

// mayBeCounted reports whether triggers of the application fire when rows go, which may
// change counts.
func (c *Collection) mayBeCounted(t *tx) (bool, error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return false, nil
	}
	names, all, err := c.db.engine.triggers(t, c.c.Rows.Table, c.event(), "")
	return len(names) > 0 || !all, err
}

// unmoved returns errCounted if a count is not as it was read, under a lock.
func (c *Collection) unmoved(t *tx, contents []content) error {
	if len(contents) == 0 {
		return nil
	}
	if err := c.undefer(t); err != nil {
		return err
	}
	again, err := all(t, scanContent, lockContents, sqldb.JSON(contentKeys(contents)))
	if err != nil {
		return err
	}
	byKey := func(a, b content) int { return cmp.Compare(a.Key, b.Key) }
	slices.SortFunc(contents, byKey)
	slices.SortFunc(again, byKey)
	if !slices.Equal(again, contents) {
		return errCounted
	}
	return nil
}

// undefer runs what the application's triggers left for the commit.
func (c *Collection) undefer(t *tx) error {
	text := c.db.engine.undefer()
	if text == "" {
		return nil
	}
	return t.script(text)
}

// countedOnClaim returns the locked contents of rows that are about to be claimed, if a
// trigger that mentions the count fires then. One that counts rows by their status has
// counted them down before they go.
func (c *Collection) countedOnClaim(t *tx, rows []adopt.Row) ([]content, error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, nil
	}
	names, _, err := c.db.engine.triggers(t, c.c.Rows.Table, "UPDATE", c.c.Contents.Count)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	named, err := all(t, c.scanNaming, contentsOf, c.end(t), keysOf(rows))
	if err != nil {
		return nil, err
	}
	return c.lockContents(t, nil, referencesOf(named))
}

// event is what happens to a row that ends.
func (c *Collection) event() string {
	if c.endRows() == keepRows {
		return "UPDATE"
	}
	return "DELETE"
}

const (
	postgresTriggers = `SELECT t.tgname FROM pg_trigger t JOIN pg_proc p ON p.oid = t.tgfoid
		WHERE (t.tgrelid = to_regclass(?1) OR t.tgrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(?1))))
		AND NOT t.tgisinternal AND t.tgenabled <> 'D' AND t.tgname NOT ILIKE 'lethe\_%'
		AND t.tgtype & CASE ?2 WHEN 'UPDATE' THEN 16 ELSE 8 END <> 0 AND strpos(lower(p.prosrc), lower(?3)) > 0
		UNION SELECT r.rulename FROM pg_rewrite r
		WHERE (r.ev_class = to_regclass(?1) OR r.ev_class IN (SELECT relid FROM pg_partition_tree(to_regclass(?1))))
		AND r.ev_type = CASE ?2 WHEN 'UPDATE' THEN '2' ELSE '4' END AND r.ev_enabled <> 'D'
		AND strpos(lower(pg_get_ruledef(r.oid)), lower(?3)) > 0 ORDER BY 1`
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
