package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// sqlite is a file of SQLite, which the application has open as well. There is
// one writer at a time, so rows are not locked. There are no schemas: the names
// of Lethe's tables begin with the schema's name.
type sqlite struct{ o Options }

// sqlitePath parses sqlite:PATH or file:PATH.
func sqlitePath(address string) (path string, err error) {
	scheme, path, _ := strings.Cut(address, ":")
	path = strings.TrimPrefix(path, "//")
	if path == "" || strings.Contains(path, "?") || strings.Contains(path, ":memory:") {
		return "", errors.New("the address of the database has to name a file, and nothing else: sqlite:/path/to/file.db")
	}
	if scheme == "file" {
		return url.PathUnescape(path)
	}
	return path, nil
}

// plainName matches names that need no quotes.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s sqlite) pool(_ context.Context, address string) (*sql.DB, error) {
	path, err := sqlitePath(address)
	if err != nil {
		return nil, err
	}
	if !plainName.MatchString(s.o.Schema) {
		return nil, fmt.Errorf("schema: %q begins the names of Lethe's tables: letters, digits and _ only", s.o.Schema)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	// The driver would open a missing file, and fail at the first statement.
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s: give the path of the application's database", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no file: give the path of the application's database", path)
	}
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	// Foreign keys are enforced as the application has declared them: a row
	// that refers to one that is to be removed keeps it.
	return sql.Open("sqlite", fmt.Sprintf("%s?mode=rw&_pragma=busy_timeout(%d)&_pragma=foreign_keys(1)", name.String(), max(1, s.o.LockTime.Milliseconds())))
}

func (sqlite) beginnings() (write, read string) {
	const now = "; SELECT CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) * 1000"
	return "BEGIN IMMEDIATE" + now, "BEGIN" + now
}

func (sqlite) probe(t *tx) error {
	var tables int
	var encoding string
	if err := t.row("SELECT (SELECT count(*) FROM sqlite_schema), (SELECT encoding FROM pragma_encoding)").Scan(&tables, &encoding); err != nil {
		return err
	}
	if encoding != "UTF-8" {
		return fmt.Errorf("the database is encoded in %s: it has to be UTF-8", encoding)
	}
	return nil
}

// lacks returns nothing: there are no users.
func (sqlite) lacks(*tx, needs) ([]string, error) { return nil, nil }

func (sqlite) remarks(t *tx) ([]adopt.Finding, error) {
	out := []adopt.Finding{{What: "SQLite has no clock of its own: this machine's decides what has expired", Do: "set it by NTP, and run lethe on one machine only"}}
	var mode string
	if err := t.row("SELECT journal_mode FROM pragma_journal_mode").Scan(&mode); err != nil {
		return nil, err
	}
	if mode != "wal" {
		out = append(out, adopt.Finding{What: "the file's journal is in mode " + mode + ": while lethe reads, the application waits to write",
			Do: "PRAGMA journal_mode = WAL, if the application can live with it"})
	}
	return out, nil
}

func (sqlite) relax(*tx) error { return nil }

// allow does nothing: SQLite limits no statement.
func (sqlite) allow(*tx, time.Duration) error { return nil }

func (sqlite) undefer() string { return "" }

func (s sqlite) dialect(w words) sqldb.Dialect {
	prefix := s.o.Schema + "_"
	d := sqldb.SQLite(w.with(words{
		"{binary}": "COLLATE BINARY", "{number of id}": "CAST(id AS INTEGER)", "{for update}": "",
		"{lethe}": prefix, "{index}": prefix, "{key text}": "text",
		"{object index}": "CREATE INDEX IF NOT EXISTS " + prefix + "condemned_object ON " + prefix + "condemned (collection, object);",
		"{held key}":     `"key"`, "{bytes}": "blob", "{identity}": "integer PRIMARY KEY AUTOINCREMENT",
	}))
	d.Instead, d.Own = sqliteInstead, ownTables(prefix)
	return d
}

// sqliteInstead replaces statements that have another form in SQLite.
var sqliteInstead = map[string]string{
	lookLive: `SELECT count(*), count(*) - count(live.name),
		json_group_array(DISTINCT {live name}) FILTER (WHERE {live name} IN (SELECT id FROM {ids 1})) FROM {live}`,
	folds:           sqliteFolded,
	explainReceipts: strings.Replace(explainReceipts, receiptNames, sqliteReceiptNames, 1),
	ownedTexts.free: `SELECT t.id FROM {ids 1}`,
	cascades:        sqliteCascades,
	cascadeKeys:     sqliteCascadeKeys,
	// With the collection by itself SQLite reads all its rows, and the whole parameter for each: it is made
	// to depend on the rows of the parameter, so that those are looked up by their keys.
	failMarks:    strings.Replace(failMarks, "collection = ?1", "collection = CASE WHEN t.id IS NOT NULL THEN ?1 END", 1),
	recordMarker: strings.Replace(recordMarker, "collection = ?2", "collection = CASE WHEN t.name IS NOT NULL THEN ?2 END", 1),
}

const sqliteReceiptNames = `EXISTS (SELECT 1 FROM json_each("keys") AS k WHERE k.value = json_extract(?2, '$[0]'))`

func (sqlite) text(expression string, c column) string {
	if c.base == blobs || c.base == proposedBlob {
		return "CASE WHEN " + expression + " IS NOT NULL THEN lower(hex(" + expression + ")) END"
	}
	text := "CAST(" + expression + " AS TEXT)"
	if c.folding { // the cast keeps the collation
		text += " COLLATE BINARY"
	}
	return text
}

// value converts a text to a number only if it is one: CAST alone would make 0
// of others.
func (sqlite) value(expression string, c column) string {
	switch c.base {
	case blobs:
		return "unhex(" + expression + ")"
	case integers:
		return fmt.Sprintf("CASE WHEN %[1]s GLOB '*[0-9]' AND %[1]s NOT GLOB '[^-0-9]*' AND substr(%[1]s, 2) NOT GLOB '*[^0-9]*' THEN CAST(%[1]s AS INTEGER) ELSE %[1]s END", expression)
	}
	return expression
}

const (
	// likeDate matches the beginning of a time; otherwise 12:00 would be in the
	// year 2000, and 2026 a day some 7000 years ago.
	likeDate = `'[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'`
	// sampleTimes returns the forms of a column's values, with one of each.
	sampleTimes = `SELECT look, min(v) FROM (SELECT CAST(v AS TEXT) AS v, CASE
			WHEN typeof(v) IN ('integer', 'real') THEN 'number'
			WHEN typeof(v) <> 'text' OR v NOT GLOB ` + likeDate + ` OR julianday(v) IS NULL THEN 'other'
			WHEN v GLOB '*Z' OR v GLOB '*[-+][0-9][0-9]:[0-9][0-9]' THEN 'zoned'
			ELSE 'plain' END AS look
		FROM (SELECT * FROM (SELECT %[1]s AS v FROM %[2]s WHERE %[1]s IS NOT NULL LIMIT 500)
			UNION ALL SELECT * FROM (SELECT %[1]s FROM %[2]s WHERE %[1]s IS NOT NULL ORDER BY %[3]s DESC LIMIT 500)))
		GROUP BY look`
)

// instants of a column of numbers are compared as they are: texts among them
// sort above all numbers. Those of a column of texts are compared as days, in
// any zone; a text that is not a time never comes.
func (sqlite) instants(t *tx, name string, c column, r adopt.Rows) (i instants, err error) {
	looks, err := all(t, func(r *sql.Rows) (look [2]string, err error) {
		err = r.Scan(&look[0], &look[1])
		return look, err
	}, fmt.Sprintf(sampleTimes, sqldb.Quoted(c.name), table(name), sqldb.Quoted(r.Key)))
	if err != nil {
		return i, err
	}
	have := map[string]string{}
	for _, l := range looks {
		have[l[0]] = l[1]
	}
	if _, number := have["number"]; r.Unit != "" || number {
		return sqliteNumbers(c, r.Unit, have)
	}
	example, other := have["other"]
	_, zoned := have["zoned"]
	_, plain := have["plain"]
	switch {
	case other:
		return i, fmt.Errorf("column %s holds %q, which is no time that SQLite reads: times are texts such as 2026-01-31 12:00:00, with Z or +02:00 behind if they are not UTC, or numbers with a unit: correct such rows", c.name, example)
	case r.Zone == "" && (plain || !zoned) && c.name != r.Initiated: // such a column is written in UTC
		return i, fmt.Errorf("column %s is text, without a zone: say in which time zone it is (zone: UTC)", c.name)
	case r.Zone != "" && r.Zone != "UTC":
		return i, fmt.Errorf("column %s: SQLite knows no time zone but UTC, zone is %s: store UTC, or an offset such as +02:00 behind each time", c.name, r.Zone)
	}
	return instants{
		of: func(expression string) string {
			return "CASE WHEN " + expression + " GLOB " + likeDate + " THEN julianday(" + expression + ") END"
		},
		at:    around{"(2440587.5 + ", " / 86400000000.0)"},
		stamp: around{"strftime('%Y-%m-%d %H:%M:%f', ", " / 1000000.0, 'unixepoch')"},
		// A day of that size is exact to some 40 microseconds, and its time to
		// a millisecond.
		micros: around{"CAST(max(0, round((", " - 2440587.5) * 86400000.0)) AS INTEGER) * 1000"},
	}, nil
}

// sqliteNumbers returns the instants of a column of numbers.
func sqliteNumbers(c column, unit string, have map[string]string) (i instants, err error) {
	per, err := perUnit(c, unit)
	if err != nil {
		return i, err
	}
	delete(have, "number")
	for _, example := range have {
		return i, fmt.Errorf("column %s holds %q, and unit is for numbers: correct such rows, or leave out unit", c.name, example)
	}
	if c.base == texts {
		return i, fmt.Errorf("column %s is of type %s, whose values are compared as texts: a number with a unit needs an INTEGER", c.name, c.kind)
	}
	i.at = around{"(", " / " + per + ")"}
	i.stamp, i.micros = i.at, around{"CAST(max(0, ", ") * " + per + " AS INTEGER)"}
	return i, nil
}

var quotedName = regexp.MustCompile(`"([^"]+)"`)

// index names the index by the table and its columns.
func (sqlite) index(table, columns, where string) string {
	var parts []string
	for _, m := range quotedName.FindAllStringSubmatch(table+columns, -1) {
		if len(parts) == 0 || parts[len(parts)-1] != m[1] {
			parts = append(parts, m[1])
		}
	}
	return "CREATE INDEX " + sqldb.Quoted(strings.Join(parts, "_")) + " ON " + table + " (" + columns + ")" + where
}

func (s sqlite) claimColumns(of adopt.TableInfo, end string) []string {
	index, table := adopt.Identifier(of.Name+"_claimed"), adopt.Identifier(of.Name)
	return []string{
		"ALTER TABLE " + table + " ADD COLUMN deletion_status text NOT NULL DEFAULT 'NOT_EXPIRED'",
		"    CHECK (deletion_status IN ('NOT_EXPIRED', 'DELETION_IN_PROGRESS', 'DELETED'));",
		"ALTER TABLE " + table + " ADD COLUMN deletion_initiated_at timestamp NULL; -- as " + end + " is: text, or integer with the same unit",
		"CREATE INDEX " + index + " ON " + table + " (deletion_initiated_at) WHERE deletion_status = 'DELETION_IN_PROGRESS';",
		"-- \"lethe adopt check\" writes the index for " + end + ".",
	}
}

// prepare does nothing: there is only one writer.
func (sqlite) prepare(*tx) error { return nil }

func (sqlite) leave(*tx) error { return nil }
