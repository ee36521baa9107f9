package sqladopt

import (
	"cmp"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Affinities of columns, by which SQLite compares.
const (
	texts    = "TEXT"
	blobs    = "BLOB"
	reals    = "REAL"
	integers = "INTEGER"
	numerics = "NUMERIC"
)

// proposedBlob is the standard type of blobs, which a proposal uses.
const proposedBlob = "varbinary"

// affinity returns the affinity of a declared type, by SQLite's rules.
func affinity(declared string) string {
	declared = strings.ToUpper(declared)
	for _, rule := range []struct{ part, is string }{
		{"INT", integers}, {"CHAR", texts}, {"CLOB", texts}, {"TEXT", texts}, {"BLOB", blobs},
		{"REAL", reals}, {"FLOA", reals}, {"DOUB", reals},
	} {
		if strings.Contains(declared, rule.part) {
			return rule.is
		}
	}
	return numerics
}

// classes returns the conditions of column.sound and column.unsound for an affinity. A number
// sorts before all texts, and a text before all blobs.
func classes(base string) (sound, unsound string) {
	switch base {
	case texts:
		return "typeof(%s) = 'text'", "%s >= x''"
	case blobs:
		return "typeof(%s) = 'blob'", "%s < x''"
	case integers:
		return "typeof(%s) = 'integer'", "%s >= ''"
	}
	return "typeof(%s) IN ('integer', 'text')", "%s >= x''"
}

const (
	sqliteTable   = `SELECT name, type, coalesce(sql, '') FROM sqlite_schema WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')`
	sqliteColumns = `SELECT c.name, c.type, c."notnull" <> 0 OR c.pk > 0,
			(c.pk > 0 AND (SELECT count(*) FROM pragma_table_xinfo(?1) WHERE pk > 0) = 1)
			OR EXISTS (SELECT 1 FROM pragma_index_list(?1) l WHERE l."unique" AND NOT l.partial
				AND (SELECT count(*) FROM pragma_index_info(l.name)) = 1 AND (SELECT i.name FROM pragma_index_info(l.name) i) = c.name)
		FROM pragma_table_xinfo(?1) c`
	// sqliteFolds tests how a column compares: its collation cannot be queried.
	sqliteFolds = `SELECT count(DISTINCT v) + count(DISTINCT w) < 4 FROM (SELECT %[1]s AS v, %[1]s AS w FROM %[2]s WHERE FALSE
		UNION ALL SELECT 'a', 'a' UNION ALL SELECT 'A', 'a ')`
	sqliteNulls = `SELECT EXISTS (SELECT 1 FROM %[2]s WHERE %[1]s IS NULL)`
	// sqliteReferences have the columns as their tables spell them.
	sqliteReferences = `SELECT CASE m.name COLLATE NOCASE WHEN ?2 THEN 'rows' WHEN ?1 THEN 'contents' ELSE '' END, m.name, f.id, x.name, y.name, FALSE, '[]'
		FROM sqlite_schema m, pragma_foreign_key_list(m.name) f
		JOIN pragma_table_xinfo(m.name) x ON x.name = f."from" COLLATE NOCASE
		JOIN pragma_table_xinfo(?1) y ON CASE WHEN f."to" IS NULL THEN y.pk = f.seq + 1 ELSE y.name = f."to" COLLATE NOCASE END
		WHERE m.type = 'table' AND f."table" = ?1 COLLATE NOCASE ORDER BY m.name, f.id, f.seq`
)

// sqliteFingerprint is the texts that made the tables and their indexes, and all tables with
// foreign keys.
const sqliteFingerprint = `SELECT coalesce(group_concat(s.sql, ';'), '') FROM (SELECT sql FROM sqlite_schema
	WHERE type IN ('table', 'index') AND tbl_name COLLATE NOCASE IN (?1, ?2) OR type = 'table' AND instr(lower(sql), 'references') > 0 ORDER BY name) s`

func (sqlite) fingerprint(t *tx, c adopt.Collection) (s fingerprint, err error) {
	rows, contents := tablesOf(c)
	err = t.row(sqliteFingerprint, bare(rows), bare(contents)).Scan(&s.tables)
	return s, err
}

func (s sqlite) expect(t *tx, m *prepared) error {
	now, err := s.fingerprint(t, m.c)
	return cmp.Or(err, m.unchanged(now))
}

// bare returns a table's name without its schema.
func bare(name string) string { return name[strings.LastIndex(name, ".")+1:] }

func (sqlite) look(t *tx, name string) (out relation, err error) {
	var own, kind, text string
	switch err := t.row(sqliteTable, bare(name)).Scan(&own, &kind, &text); {
	case err == sql.ErrNoRows:
		return out, noTable("there is no table %s", name)
	case err != nil:
		return out, err
	case kind != "table" || strings.HasPrefix(strings.ToUpper(text), "CREATE VIRTUAL"):
		return out, fmt.Errorf("%s is a %s or a virtual table: its rows are kept elsewhere", name, kind)
	}
	list, err := all(t, func(r *sql.Rows) (c column, err error) {
		err = r.Scan(&c.name, &c.kind, &c.notNull, &c.unique)
		c.base = affinity(c.kind)
		c.sound, c.unsound = classes(c.base)
		return c, err
	}, sqliteColumns, own)
	if err != nil {
		return out, err
	}
	out.place, out.columns = table(own), make(map[string]column, len(list))
	for _, c := range list {
		if c.base == reals || c.kind == "" {
			c.noKey = "of a declared type that is text, integer or blob"
		}
		c.fickle = c.base == reals
		if err := t.row(fmt.Sprintf(sqliteFolds, sqldb.Quoted(c.name), table(name))).Scan(&c.folding); err != nil {
			return out, err
		}
		if c.unique && c.notNull { // a PRIMARY KEY may be NULL all the same
			var null bool
			if err := t.row(fmt.Sprintf(sqliteNulls, sqldb.Quoted(c.name), table(name))).Scan(&null); err != nil {
				return out, err
			}
			c.notNull = !null
		}
		out.columns[c.name] = c
	}
	return out, nil
}

func (sqlite) references(t *tx, c adopt.Collection) ([]keyColumn, error) {
	return all(t, scanUnquoted, sqliteReferences, bare(c.Contents.Table), bare(c.Rows.Table))
}

func (s sqlite) has(t *tx, name string) (yes bool, err error) {
	err = t.row(`SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1)`, s.o.Schema+"_"+name).Scan(&yes)
	return yes, err
}

// marks returns one, of the file.
func (sqlite) marks(t *tx) ([]string, error) {
	var path string
	if err := t.row(`SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&path); err != nil {
		return nil, err
	}
	born, inode, err := sqldb.FileMarks(path)
	if mark := cmp.Or(born, inode); mark != "" {
		return []string{mark}, err
	}
	return nil, err
}

// tables reports text columns that hold times as times.
func (s sqlite) tables(t *tx) ([]adopt.TableInfo, error) {
	names, err := all(t, text, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
		AND substr(name, 1, length(?1)) <> ?1 AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name`, s.o.Schema+"_")
	if err != nil {
		return nil, err
	}
	var out []adopt.TableInfo
	for _, name := range names {
		x := adopt.TableInfo{Name: name, Dotted: strings.Contains(name, "."), Refers: map[string]string{}}
		_, err := all(t, func(r *sql.Rows) (struct{}, error) {
			var c adopt.ColumnInfo
			var key int
			err := r.Scan(&c.Name, &c.Kind, &key)
			if affinity(c.Kind) == blobs {
				c.Kind = proposedBlob
			}
			x.Columns = append(x.Columns, c)
			if key > 0 {
				x.Key = append(x.Key, c.Name)
			}
			return struct{}{}, err
		}, `SELECT name, lower(type), pk FROM pragma_table_xinfo(?1)`, name)
		if err != nil {
			return nil, err
		}
		_, err = all(t, func(r *sql.Rows) (struct{}, error) {
			var from, to string
			err := r.Scan(&from, &to)
			x.Refers[from] = to
			return struct{}{}, err
		}, `SELECT f."from", f."table" FROM pragma_foreign_key_list(?1) f
			WHERE (SELECT count(*) FROM pragma_foreign_key_list(?1) o WHERE o.id = f.id) = 1`, name)
		if err != nil {
			return nil, err
		}
		for i, c := range x.Columns {
			if x.Dotted {
				continue // it would be read as a table of a schema
			}
			if x.Columns[i].Kind, err = proposedKind(t, name, c); err != nil {
				return nil, err
			}
		}
		out = append(out, x)
	}
	return out, nil
}

// proposedKind returns the type of a column for Propose: that of its values, or
// without values the declared one.
func proposedKind(t *tx, name string, c adopt.ColumnInfo) (string, error) {
	looks, err := all(t, text, `SELECT look FROM (`+fmt.Sprintf(sampleTimes, sqldb.Quoted(c.Name), table(name), "1")+`)`)
	if err != nil {
		return "", err
	}
	if len(looks) == 2 && !slices.Contains(looks, "number") && !slices.Contains(looks, "other") {
		looks = []string{"plain"} // some with an offset, and some without
	}
	kind := map[string]string{integers: "integer", numerics: "numeric"}[affinity(c.Kind)]
	switch {
	case len(looks) == 1 && looks[0] == "zoned":
		return "timestamp with time zone", nil
	case len(looks) == 1 && looks[0] == "plain", len(looks) == 0 && (strings.HasPrefix(c.Kind, "date") || strings.HasPrefix(c.Kind, "timestamp")):
		return "timestamp without time zone", nil
	case len(looks) == 1 && looks[0] == "number" && kind != "":
		return kind, nil
	case len(looks) == 0 && kind == integers:
		return "integer", nil
	}
	return c.Kind, nil
}

func (sqlite) readsWhole(t *tx, tr trial) (whole bool, err error) {
	// A plan uses the schema known to the connection; running a statement
	// detects changes.
	if err := t.script("SELECT 1 FROM sqlite_schema LIMIT 1"); err != nil {
		return false, err
	}
	steps, err := all(t, func(r *sql.Rows) (step string, err error) {
		var id, parent, unused int
		err = r.Scan(&id, &parent, &unused, &step)
		return step, err
	}, "EXPLAIN QUERY PLAN "+tr.text, tr.args...)
	for _, step := range steps {
		whole = whole || step == "SCAN r" || step == "SCAN c" || strings.Contains(step, "AUTOMATIC")
	}
	return whole, err
}
