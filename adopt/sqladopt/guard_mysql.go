package sqladopt

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// guardMySQL refuses new references to condemned contents. Such a statement of
// the application fails with 1205 and SQLSTATE 40001: the application rolls
// back and repeats its transaction, upload included. It is not 1213, which
// means that the transaction has been rolled back.
//
//go:embed guard_mysql.sql
var guardMySQL string

// countsMySQL and functionsMySQL are for contents that count.
//
//go:embed guard_counts_mysql.sql
var countsMySQL string

//go:embed guard_functions_mysql.sql
var functionsMySQL string

// guardOwnedMySQL is the guard of rows that own objects.
//
//go:embed guard_owned_mysql.sql
var guardOwnedMySQL string

const (
	nowMySQL    = "TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', UTC_TIMESTAMP(6))"
	standsMySQL = "(state = 2 OR state = 3 AND due_at > " + nowMySQL + ")"
)

// guardObjectsMySQL is for contents whose keys are not those of their objects. It inserts as
// well, by a unique index of objects.
//
//go:embed guard_objects_mysql.sql
var guardObjectsMySQL string

// lookMySQL is the check of lethe_condemned in each trigger, for the content
// {of}. It inserts: an existing row, or one that another transaction inserts,
// is then waited for, and locked until the end of the transaction at any
// isolation. A SELECT .. FOR SHARE would also lock the gap where there is no
// row, and with it the contents around it. So would the unique index of objects, by whose
// delete-marked rows InnoDB looks for a second one: it lets NULL pass.
const lookMySQL = `SET lethe_there = FALSE;
    INSERT INTO {lethe}condemned (collection, content, object, state, due_at) VALUES ({collection}, {of}, NULL, 1, 0);
    IF NOT lethe_there THEN
        DELETE FROM {lethe}condemned WHERE collection = {collection} AND content = {of};
    ELSEIF EXISTS (SELECT 1 FROM {lethe}condemned WHERE collection = {collection} AND content = {of}
        AND ` + standsMySQL + ` LOCK IN SHARE MODE) THEN
        SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1205, MESSAGE_TEXT = 'the content is being deleted: roll back, upload it again and repeat the transaction';
    END IF;`

// refuseFoldersMySQL refuses rows whose folder would be inside another row's.
const refuseFoldersMySQL = `IF {new nests} THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'lethe: a row owns a folder: its name has no slash';
    END IF;
    `

// leaveMySQL records an object that a row leaves behind.
const leaveMySQL = `INSERT INTO {lethe}condemned (collection, content, object, state, due_at)
        VALUES ({collection}, {of}, {of}, 1, ` + nowMySQL + ` + {grace})
        ON DUPLICATE KEY UPDATE state = CASE WHEN state = 3 AND due_at <= VALUES(due_at) - {grace} THEN 1 ELSE state END,
            ` + againMySQL + `;`

// againMySQL gives a mark in state 1 a new beginning. What precedes it has set the state.
const againMySQL = `due_at = CASE WHEN state = 1 THEN VALUES(due_at) ELSE due_at END,
            attempts = CASE WHEN state = 1 THEN 0 ELSE attempts END, unseen_until = CASE WHEN state = 1 THEN 0 ELSE unseen_until END`

// guard returns the statements. The tables are locked against changes while
// they run: triggers are dropped and created again.
func (m mysql) guard(c *Collection) string {
	names := strings.NewReplacer(
		"{lethe}{take}", sqldb.Quoted(m.o.Schema+"_take_"+c.name), "{lethe}{release}", sqldb.Quoted(m.o.Schema+"_release_"+c.name),
		"{trigger named}", sqldb.Quoted("lethe_"+c.name+"_named"), "{trigger renamed}", sqldb.Quoted("lethe_"+c.name+"_renamed"),
		"{row content}", sqldb.Quoted(c.c.Rows.Content),
	)
	if c.c.Contents == nil {
		return names.Replace(m.guardOwned(c))
	}
	counts, functions := "", ""
	if c.c.Contents.Count != "" {
		counts, functions = countsMySQL, functionsMySQL
	}
	column := func(alias string) string { return alias + "." + sqldb.Quoted(c.c.Contents.Key) }
	key := c.s.contents.columns[c.c.Contents.Key]
	look := of(lookMySQL, m.text(column("NEW"), key))
	if !c.keyed() {
		look = strings.NewReplacer("{stands}", standsMySQL, "{apart of object}", "concat(x'00', {new object})").Replace(guardObjectsMySQL)
	}
	when := "BEFORE"
	if c.s.rows.columns[c.c.Rows.Content].generated {
		when = "AFTER"
	}
	text := strings.NewReplacer("{when}", when, "{counts}", counts, "{functions}", functions, "{look at object}", look).Replace(guardMySQL)
	text = strings.NewReplacer(
		"{look old}", of(lookMySQL, m.text(column("OLD"), key)),
		"{look named}", of(lookMySQL, "lethe_named"), "{named}", m.text("NEW."+sqldb.Quoted(c.c.Rows.Content), c.s.rows.columns[c.c.Rows.Content]),
	).Replace(text)
	return names.Replace(text)
}

// of returns a text for one content.
func of(text, content string) string { return strings.ReplaceAll(text, "{of}", content) }

// guardOwned returns the triggers for each object of a row.
func (m mysql) guardOwned(c *Collection) string {
	var news, olds []string
	for _, text := range c.c.Rows.Objects {
		t, _ := adopt.ParseTemplate(text) // Parse has refused it
		news = append(news, c.db.concatenation(t, "NEW", c.s.rows.columns))
		olds = append(olds, c.db.concatenation(t, "OLD", c.s.rows.columns))
	}
	each := func(keys, but []string, do string) string {
		var out strings.Builder
		for _, key := range keys {
			condition := "length(" + key + ") <= 1024" // a longer text is no object's key, and does not fit condemned
			if but != nil {
				condition += " AND NOT coalesce(" + key + " IN (" + strings.Join(but, ", ") + "), FALSE)"
			}
			fmt.Fprintf(&out, "IF %s THEN\n    %s\n    END IF;\n    ", condition, of(do, key))
		}
		return strings.TrimSpace(out.String())
	}
	return strings.NewReplacer("{refuse folders}", c.ifFolders(refuseFoldersMySQL), "{look at new}", each(news, nil, lookMySQL), "{look at changed}", each(news, olds, lookMySQL),
		"{leave old}", each(olds, nil, leaveMySQL), "{leave changed}", each(olds, news, leaveMySQL)).Replace(guardOwnedMySQL)
}

// seal deletes the guard's row: running Marks are waited for, and later ones do
// not find it. It is restored if the transaction fails.
func (m mysql) seal(t *tx, c *Collection) error {
	there, err := m.has(t, "guards")
	if err == nil && there {
		_, err = t.exec("DELETE FROM {lethe}guards WHERE collection = ?1", c.name)
	}
	return err
}

// installed recognises triggers by the table that they read.
func (m mysql) installed() string {
	return strings.NewReplacer("{into}", sqldb.Literal("INTO "+m.o.Schema+"_condemned "), "{schema}", sqldb.Literal(m.o.Schema+"_")).Replace(`SELECT trigger_name, concat('"', trigger_name, '"'),
			concat('"', event_object_schema, '"."', event_object_table, '"'), concat('DROP TRIGGER "', trigger_name, '"')
		FROM information_schema.triggers WHERE trigger_schema = DATABASE() AND trigger_name LIKE 'lethe|_%' ESCAPE '|' AND instr(action_statement, {into}) > 0
	UNION ALL SELECT substr(routine_name, 1 + length({schema})), concat('"', routine_name, '"'), '', concat('DROP FUNCTION "', routine_name, '"')
		FROM information_schema.routines WHERE routine_schema = DATABASE() AND routine_type = 'FUNCTION' AND instr(routine_definition, 'lethe_key') > 0
		AND (routine_name LIKE concat(replace({schema}, '_', '|_'), 'take|_%') ESCAPE '|' OR routine_name LIKE concat(replace({schema}, '_', '|_'), 'release|_%') ESCAPE '|')
		ORDER BY 1`)
}

const (
	holdGuard = `SELECT version FROM {lethe}guards WHERE collection = ?1 ` + sqldb.Shared
	// installedGuards are the triggers of a table, as the guard writes them. One that is fired
	// before the row is written has to be the last: another could change what it has seen.
	installedGuards = `SELECT x.text FROM (
		SELECT concat('CREATE TRIGGER "', trigger_name, '" ', action_timing, ' ', event_manipulation, ' ON ', ?1, ' FOR EACH ROW
', action_statement, ';') AS text, FIND_IN_SET('PIPES_AS_CONCAT', sql_mode) > 0 AND FIND_IN_SET('NO_BACKSLASH_ESCAPES', sql_mode) > 0
			AND (action_timing = 'AFTER' OR action_order = max(action_order) OVER (PARTITION BY action_timing, event_manipulation)) AS holds
		FROM information_schema.triggers WHERE event_object_schema = ?2 AND event_object_table = ?3) AS x WHERE x.holds`
)

// endsContents is false: rows and contents end in transactions of their own.
func (mysql) endsContents() bool { return false }

// refusing returns false: contents are looked at.
func (mysql) refusing(*tx, *Collection) (bool, error) { return false, nil }

// mysqlTrigger matches the triggers in the guard's text.
var mysqlTrigger = regexp.MustCompile(`(?s)CREATE TRIGGER .*?\nEND;`)

// guarded compares the triggers that the tables have with the expected ones, byte by byte. The
// row of the guard is there once they are complete.
func (m mysql) guarded(t *tx, c *Collection) (bool, error) {
	there, err := m.has(t, "guards")
	if err != nil || !there {
		return false, err
	}
	versions, err := all(t, text, holdGuard, c.name)
	if err != nil || len(versions) != 1 || versions[0] != c.guardVersion() {
		return false, err
	}
	var have []string
	for _, place := range c.places() {
		schema, bare := split(strings.ReplaceAll(place, `"`, ""))
		list, err := all(t, text, installedGuards, place, schema, bare)
		if err != nil {
			return false, err
		}
		have = append(have, list...)
	}
	return !slices.ContainsFunc(mysqlTrigger.FindAllString(c.GuardSQL(), -1), func(want string) bool { return !slices.Contains(have, want) }), nil
}
