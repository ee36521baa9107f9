package sqladopt

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

//go:embed guard_sqlite.sql
var sqliteGuardSQL string

//go:embed guard_owned_sqlite.sql
var sqliteGuardOwnedSQL string

const sqliteCountTrigger = `CREATE TRIGGER {trigger counts} AFTER UPDATE ON {contents}
WHEN NEW.{count} > coalesce(OLD.{count}, 0)
    AND EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content = {new key} AND {stands})
BEGIN
    SELECT RAISE(ABORT, 'lethe: this content is being deleted: upload it again and repeat the transaction');
END;`

// sqliteLook refuses a new content whose object is being deleted. What waits has that object
// no more.
const sqliteLook = `SELECT RAISE(ABORT, 'lethe: this content is being deleted: upload it again and repeat the transaction')
        WHERE EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND {of new} AND {stands});
    DELETE FROM {lethe}condemned WHERE collection = {collection} AND {of new} AND state = 1;`

// sqliteRefuseFolders refuses rows whose folder would be inside another row's.
const sqliteRefuseFolders = `CREATE TRIGGER {trigger nests} AFTER INSERT ON {rows} WHEN {new nests}
BEGIN
    SELECT RAISE(ABORT, 'lethe: a row owns a folder: its name has no slash');
END;
CREATE TRIGGER {trigger moved} AFTER UPDATE ON {rows} WHEN {new nests}
BEGIN
    SELECT RAISE(ABORT, 'lethe: a row owns a folder: its name has no slash');
END;
`

// sqliteLeave records an object, in syntax that old versions of SQLite know as
// well: the application's version runs it. Its UPDATE and INSERT cause no
// conflict: the application's statement would decide how to resolve one. A longer text is
// no object's key.
const sqliteLeave = `    UPDATE {lethe}condemned SET state = 1, due_at = %[2]s, attempts = 0, unseen_until = 0
        WHERE collection = {collection} AND content = %[1]s AND NOT {stands}%[4]s;
    INSERT INTO {lethe}condemned (collection, content, object, state, due_at)
        SELECT {collection}, %[1]s, %[1]s, 1, %[2]s%[3]s WHERE length(CAST(%[1]s AS BLOB)) <= 1024%[4]s
        AND NOT EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content = %[1]s);
`

// sqliteForget removes a mark that is over, where an UPDATE cannot name the row.
const sqliteForget = `    DELETE FROM {lethe}condemned WHERE collection = {collection} AND state = 3 AND NOT {stands}
        AND content IN (SELECT %[1]s%[2]s WHERE TRUE%[3]s);
`

// sqliteNow is the time in whole milliseconds, cut off: a julian day is exact to some 40 us
// only, and what lies ahead of the clock that is read with it is not due yet.
const sqliteNow = "CAST((julianday('now') - 2440587.5) * 86400000.0 AS INTEGER) * 1000"

func (s sqlite) guard(c *Collection) string {
	return strings.ReplaceAll(s.unfilled(c), "{stands}", "(state = 2 OR state = 3 AND due_at > "+sqliteNow+")")
}

func (s sqlite) unfilled(c *Collection) string {
	names := strings.NewReplacer(
		"{trigger renamed}", sqldb.Quoted("lethe_"+c.name+"_renamed"), "{trigger changed}", sqldb.Quoted("lethe_"+c.name+"_changed"),
		"{trigger replaced}", sqldb.Quoted("lethe_"+c.name+"_replaced"), "{trigger nests}", sqldb.Quoted("lethe_"+c.name+"_nests"),
		"{trigger moved}", sqldb.Quoted("lethe_"+c.name+"_moved"), "{trigger displaced}", sqldb.Quoted("lethe_"+c.name+"_displaced"),
	)
	if c.c.Contents == nil {
		return strings.NewReplacer("{leave of OLD}", s.leaving(c, "OLD", ""), "{leave of OLD without NEW}", s.leaving(c, "OLD", "{new objects}"),
			"{leave of replaced}", s.leaving(c, "r", "")).Replace(names.Replace(strings.Replace(sqliteGuardOwnedSQL, "{refuse folders}", c.ifFolders(sqliteRefuseFolders), 1)))
	}
	key, content := c.s.contents.columns[c.c.Contents.Key], c.s.rows.columns[c.c.Rows.Content]
	counts := ""
	if c.c.Contents.Count != "" {
		counts = sqliteCountTrigger
	}
	ofNew := "content = {new key}"
	if !c.keyed() {
		ofNew = "object = {new object}"
	}
	install := strings.ReplaceAll(names.Replace(sqliteGuardSQL), "{count trigger}", counts)
	install = strings.ReplaceAll(strings.ReplaceAll(install, "{look at new}", sqliteLook), "{of new}", ofNew)
	return strings.NewReplacer("{new key}", s.text("NEW."+sqldb.Quoted(key.name), key),
		"{new content}", s.text("NEW."+sqldb.Quoted(content.name), content), "{old content}", s.text("OLD."+sqldb.Quoted(content.name), content)).Replace(install)
}

// leaving records each object of a row, except those that it keeps.
func (s sqlite) leaving(c *Collection, alias, kept string) string {
	due := sqliteNow + " + {grace}"
	var out strings.Builder
	for _, text := range c.c.Rows.Objects {
		t, err := adopt.ParseTemplate(text)
		if err != nil {
			continue // Parse has refused it
		}
		object, from, but := c.db.concatenation(t, alias, c.s.rows.columns), "", ""
		if kept != "" {
			but = fmt.Sprintf(" AND NOT coalesce(%s IN (%s), 0)", object, kept)
		}
		if alias == "r" {
			from = " FROM {rows} r"
			but = " AND r.{key} = NEW.{key}"
			fmt.Fprintf(&out, sqliteForget, object, from, but)
			out.WriteString(strings.Join(strings.SplitAfterN(fmt.Sprintf(sqliteLeave, object, due, from, but), ";\n", 2)[1:], ""))
			continue
		}
		fmt.Fprintf(&out, sqliteLeave, object, due, from, but)
	}
	return strings.TrimRight(out.String(), "\n")
}

// seal does nothing: there is only one writer.
func (sqlite) seal(*tx, *Collection) error { return nil }

// installed recognises triggers by the table that they read, or by their error.
func (s sqlite) installed() string {
	return `SELECT g.name, '"' || g.name || '"', '"' || g.tbl_name || '"', 'DROP TRIGGER "' || g.name || '"' FROM sqlite_schema g
		WHERE g.type = 'trigger' AND substr(g.name, 1, 6) = 'lethe_'
		AND (instr(g.sql, ` + sqldb.Literal(" "+s.o.Schema+"_condemned ") + `) > 0 OR instr(g.sql, 'lethe: a row owns a folder') > 0) ORDER BY 1`
}

var trigger = regexp.MustCompile(`(?s)CREATE TRIGGER .*?\nEND`)

// guarded compares the installed triggers with the expected ones, byte by byte.
func (sqlite) endsContents() bool { return true }

// refusing returns false: contents are looked at.
func (sqlite) refusing(*tx, *Collection) (bool, error) { return false, nil }

func (sqlite) guarded(t *tx, c *Collection) (bool, error) {
	want := trigger.FindAllString(c.GuardSQL(), -1)
	var n int
	err := t.row(`SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND sql IN (SELECT id FROM {ids 1})`, sqldb.JSON(want)).Scan(&n)
	return n == len(want), err
}
