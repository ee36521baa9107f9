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

// mysqlKeyTypes have one text for each value. Others cannot have a unique index
// of all their bytes, or are not suitable as keys.
var mysqlKeyTypes = []string{"char", "varchar", "binary", "varbinary", "tinyint", "smallint", "mediumint", "int", "bigint", "uuid"}

// mysqlFickleTypes have texts that depend on the session, or do not represent
// the whole value.
var mysqlFickleTypes = []string{"date", "datetime", "timestamp", "time", "float", "double"}

// longestKey is the longest key in Lethe's own tables, in bytes.
const longestKey = 2800

// split returns the schema and the name of a table; the schema may be empty.
func split(name string) (schema, table string) {
	if before, after, ok := strings.Cut(name, "."); ok {
		return before, after
	}
	return "", name
}

const (
	tableKind   = `SELECT table_type, coalesce(engine, ''), table_schema, table_name FROM information_schema.tables WHERE table_schema = coalesce(nullif(?1, ''), DATABASE()) AND table_name = ?2`
	mysqlColumn = `SELECT c.column_name, c.column_type, c.is_nullable = 'NO', c.data_type, coalesce(c.character_set_name, ''), coalesce(c.collation_name, ''),
		coalesce(c.character_octet_length, 0), EXISTS (SELECT 1 FROM information_schema.statistics s
			WHERE s.table_schema = c.table_schema AND s.table_name = c.table_name AND s.non_unique = 0
			GROUP BY s.index_name HAVING count(*) = 1 AND max(s.column_name) = c.column_name AND max(s.sub_part) IS NULL),
		EXISTS (SELECT 1 FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints f
			ON f.constraint_schema = k.constraint_schema AND f.constraint_name = k.constraint_name AND f.table_name = k.table_name
			WHERE k.table_schema = c.table_schema AND k.table_name = c.table_name AND k.column_name = c.column_name
			AND (f.delete_rule IN ('CASCADE', 'SET NULL') OR f.update_rule IN ('CASCADE', 'SET NULL'))), c.extra LIKE '%GENERATED%'
		FROM information_schema.columns c WHERE c.table_schema = coalesce(nullif(?1, ''), DATABASE()) AND c.table_name = ?2 ORDER BY c.ordinal_position`
	mysqlReferences = `SELECT CASE WHEN k.table_schema = coalesce(nullif(?3, ''), DATABASE()) AND k.table_name = ?4 THEN 'rows'
			WHEN k.table_schema = k.referenced_table_schema AND k.table_name = ?2 THEN 'contents' ELSE '' END AS whose,
		CASE WHEN k.table_schema = DATABASE() THEN '' ELSE k.table_schema || '.' END || k.table_name AS place, k.constraint_name, k.column_name, k.referenced_column_name, FALSE, '[]'
		FROM information_schema.key_column_usage k
		WHERE k.referenced_table_schema = coalesce(nullif(?1, ''), DATABASE()) AND k.referenced_table_name = ?2
		ORDER BY place, k.constraint_name, k.ordinal_position`
	// renamed are foreign keys by which a change of a content's key changes
	// rows: such changes fire no trigger.
	renamed = `SELECT count(*) FROM information_schema.key_column_usage k JOIN information_schema.referential_constraints f
			ON f.constraint_schema = k.constraint_schema AND f.constraint_name = k.constraint_name AND f.table_name = k.table_name
		WHERE f.update_rule <> 'RESTRICT' AND f.update_rule <> 'NO ACTION' AND k.referenced_table_name = ?2
		AND k.table_schema = coalesce(nullif(?3, ''), DATABASE()) AND k.table_name = ?4 AND k.column_name = ?5 AND k.referenced_table_schema = coalesce(nullif(?1, ''), DATABASE())`
)

func (mysql) look(t *tx, name string) (out relation, err error) {
	schema, bare := split(name)
	kinds, err := all(t, func(r *sql.Rows) (k [4]string, err error) {
		err = r.Scan(&k[0], &k[1], &k[2], &k[3])
		return k, err
	}, tableKind, schema, bare)
	switch {
	case err != nil:
		return out, err
	case len(kinds) == 0:
		return out, noTable("there is no table %s, or %w", name, errUnseen)
	case kinds[0][0] == "SYSTEM VERSIONED":
		return out, fmt.Errorf("table %s keeps its history (WITH SYSTEM VERSIONING), and what goes would stay there: it can only be named by the query of a collection of keys or folders", name)
	case kinds[0][0] != "BASE TABLE":
		return out, fmt.Errorf("%s is a %s: name the table itself", name, strings.ToLower(kinds[0][0]))
	case kinds[0][1] != "InnoDB":
		return out, fmt.Errorf("table %s is kept by %s, which has no transactions: only tables of InnoDB can be adopted", name, kinds[0][1])
	}
	list, err := all(t, scanMySQLColumn, mysqlColumn, schema, bare)
	if err != nil {
		return out, err
	}
	out.place, out.columns = table(kinds[0][2]+"."+kinds[0][3]), make(map[string]column, len(list))
	for _, c := range list {
		out.columns[c.name] = c
	}
	return out, nil
}

func scanMySQLColumn(r *sql.Rows) (c column, err error) {
	var charset, collation string
	var bytes int64
	if err := r.Scan(&c.name, &c.kind, &c.notNull, &c.base, &charset, &collation, &bytes, &c.unique, &c.cascades, &c.generated); err != nil {
		return c, err
	}
	if !slices.Contains(mysqlKeyTypes, c.base) || bytes > longestKey {
		c.noKey = fmt.Sprintf("%s of up to %d bytes", strings.Join(mysqlKeyTypes, ", "), longestKey)
	}
	c.fickle, c.coarse = slices.Contains(mysqlFickleTypes, c.base), c.base == "date"
	c.variants = strings.Contains(c.kind, "zerofill") // 7 is 007 there
	if c.noKey == "" {
		c.seek = mysql{}.value("t.id", c)
	}
	if collation != "" {
		c.seek = "CONVERT(t.id USING " + charset + ") COLLATE " + collation
		c.variants = true // even those of bytes ignore trailing spaces
		c.kind += " CHARACTER SET " + charset + " COLLATE " + collation
		c.base += " " + collation // the collation of comparisons
	}
	return c, nil
}

// mysqlStamp reads each view of the catalog by the name of one table: other conditions would
// open every table of the server.
var mysqlStamp = strings.ReplaceAll(`SELECT concat_ws(' ', ?2, table_schema, table_type, engine) FROM information_schema.tables WHERE table_schema = {schema} AND table_name = ?2
	UNION ALL SELECT concat_ws(' ', ?2, column_name, column_type, is_nullable, character_set_name, collation_name, extra)
		FROM information_schema.columns WHERE table_schema = {schema} AND table_name = ?2
	UNION ALL SELECT concat_ws(' ', ?2, index_name, seq_in_index, column_name, sub_part)
		FROM information_schema.statistics WHERE table_schema = {schema} AND table_name = ?2 AND non_unique = 0
	UNION ALL SELECT concat_ws(' ', ?2, constraint_name, column_name, referenced_table_schema, referenced_table_name, referenced_column_name)
		FROM information_schema.key_column_usage WHERE table_schema = {schema} AND table_name = ?2
	UNION ALL SELECT concat_ws(' ', ?2, constraint_name, update_rule, delete_rule)
		FROM information_schema.referential_constraints WHERE constraint_schema = {schema} AND table_name = ?2`,
	"{schema}", "coalesce(nullif(?1, ''), DATABASE())")

func (m mysql) fingerprint(t *tx, c adopt.Collection) (s fingerprint, err error) {
	if s.tables, err = m.fingerprintTables(t, c); err == nil {
		s.references, err = m.fingerprintReferences(t, c)
	}
	return s, err
}

func (mysql) fingerprintTables(t *tx, c adopt.Collection) (string, error) {
	rows, contents := tablesOf(c)
	text, args := mysqlStamp, []any{}
	schema, bare := split(rows)
	args = append(args, schema, bare)
	if contents != "" {
		schema, bare = split(contents)
		text += " UNION ALL " + strings.NewReplacer("?1", "?3", "?2", "?4").Replace(mysqlStamp)
		args = append(args, schema, bare)
	}
	out, err := joinedRows(t, text, args...)
	cascade := func(line string) bool {
		return strings.HasPrefix(line, bare+" ") && strings.HasSuffix(line, " CASCADE")
	}
	if err != nil || contents == "" || !slices.ContainsFunc(strings.Split(out, "\n"), cascade) {
		return out, err
	}
	// Contents go with something: by other cascades they may go with rows.
	more, err := joinedRows(t, "SELECT concat_ws(' ', f.above, f.below) FROM ("+mysqlCascades+") f")
	return out + "\n" + more, err
}

// fingerprintReferences reads every table of the server.
func (mysql) fingerprintReferences(t *tx, c adopt.Collection) (string, error) {
	rows, contents := tablesOf(c)
	if contents == "" {
		return "", nil
	}
	schema, bare := split(contents)
	of, named := split(rows)
	return joinedRows(t, "SELECT concat_ws(' ', k.whose, k.place, k.constraint_name, k.column_name, k.referenced_column_name) FROM ("+mysqlReferences+") k", schema, bare, of, named)
}

// joinedRows returns the rows of a query in order.
func joinedRows(t *tx, query string, args ...any) (string, error) {
	rows, err := all(t, text, query, args...)
	slices.Sort(rows)
	return strings.Join(rows, "\n"), err
}

func (m mysql) expect(t *tx, of *prepared) error {
	now := of.fingerprint
	var err error
	if now.tables, err = m.fingerprintTables(t, of.c); err == nil && t.looked {
		now.references, err = m.fingerprintReferences(t, of.c)
	}
	return cmp.Or(err, of.unchanged(now))
}

func (m mysql) references(t *tx, c adopt.Collection) ([]keyColumn, error) {
	schema, contents := split(c.Contents.Table)
	of, rows := split(c.Rows.Table)
	var moves int
	if err := t.row(renamed, schema, contents, of, rows, c.Rows.Content).Scan(&moves); err != nil {
		return nil, err
	}
	if moves > 0 {
		return nil, fmt.Errorf("the foreign key of %s.%s has ON UPDATE CASCADE or SET NULL, for which no trigger fires: make it RESTRICT", c.Rows.Table, c.Rows.Content)
	}
	if err := m.seesAll(t, c.Contents.Table); err != nil {
		return nil, err
	}
	return all(t, scanUnquoted, mysqlReferences, schema, contents, of, rows)
}

// scanUnquoted is scanKeyColumn for names of tables without quotes.
func scanUnquoted(r *sql.Rows) (keyColumn, error) {
	k, err := scanKeyColumn(r)
	k.table = table(k.table)
	return k, err
}

func (m mysql) has(t *tx, name string) (yes bool, err error) {
	err = t.row("SELECT EXISTS (SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?1)", m.o.Schema+"_"+name).Scan(&yes)
	return yes, err
}

const (
	mysqlServer = `SHOW GLOBAL VARIABLES WHERE Variable_name IN ('hostname', 'server_uid', 'server_uuid')`
	mysqlPlace  = `SELECT DATABASE(), CONCAT('made ', coalesce(t.create_time, '')) FROM information_schema.tables t
		WHERE t.table_schema = DATABASE() AND t.table_name = ?1`
)

// marks returns that of the database on its server, and that of the table. A container that is
// made anew may change the first, and OPTIMIZE TABLE the second; a copy has neither, nor has
// a standby.
func (m mysql) marks(t *tx) ([]string, error) {
	var at, made string
	if err := t.row(mysqlPlace, m.o.Schema+"_pairings").Scan(&at, &made); err != nil {
		return nil, err
	}
	server, err := all(t, func(r *sql.Rows) (value string, err error) {
		var name string
		err = r.Scan(&name, &value)
		return value, err
	}, mysqlServer)
	return []string{strings.Join(append(server, at), " "), made}, err
}

const (
	mysqlTables = `SELECT t.table_name, c.column_name, c.data_type, c.column_key = 'PRI' FROM information_schema.tables t
		JOIN information_schema.columns c ON c.table_schema = t.table_schema AND c.table_name = t.table_name
		WHERE t.table_schema = DATABASE() AND t.table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY t.table_name, c.ordinal_position`
	mysqlRefers = `SELECT k.table_name, max(k.column_name), max(k.referenced_table_name) FROM information_schema.key_column_usage k
		WHERE k.table_schema = DATABASE() AND k.referenced_table_schema = DATABASE() GROUP BY k.table_name, k.constraint_name HAVING count(*) = 1`
)

// standardTypes are the standard SQL names of some types, which a proposal
// uses.
var standardTypes = map[string]string{
	"datetime": "timestamp without time zone", "timestamp": "timestamp with time zone",
	"int": "integer", "mediumint": "integer", "decimal": "numeric",
}

func (m mysql) tables(t *tx) (out []adopt.TableInfo, err error) {
	places := map[string]int{}
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		var name string
		var c adopt.ColumnInfo
		var key bool
		if err := r.Scan(&name, &c.Name, &c.Kind, &key); err != nil || m.own(name) {
			return none, err
		}
		i, ok := places[name]
		if !ok {
			i = len(out)
			places[name] = i
			out = append(out, adopt.TableInfo{Name: name, Dotted: strings.Contains(name, "."), Refers: map[string]string{}})
		}
		c.Kind = cmp.Or(standardTypes[c.Kind], c.Kind)
		out[i].Columns = append(out[i].Columns, c)
		if key {
			out[i].Key = append(out[i].Key, c.Name)
		}
		return none, nil
	}, mysqlTables)
	if err != nil {
		return nil, err
	}
	_, err = all(t, func(r *sql.Rows) (none struct{}, err error) {
		var name, column, to string
		if err := r.Scan(&name, &column, &to); err != nil {
			return none, err
		}
		if i, ok := places[name]; ok {
			out[i].Refers[column] = to
		}
		return none, nil
	}, mysqlRefers)
	return out, err
}

// own reports whether a table belongs to Lethe.
func (m mysql) own(name string) bool {
	rest, ok := strings.CutPrefix(name, m.o.Schema+"_")
	return ok && (slices.Contains(tables, rest) || rest == "guards")
}

// readsWhole looks for a table for which no index is possible: a small one is
// scanned although an index fits. A list of keys must not be empty, or nothing
// is planned.
func (mysql) readsWhole(t *tx, tr trial) (bool, error) {
	args := slices.Clone(tr.args)
	for i, a := range args {
		if a == sqldb.JSON([]string{}) {
			args[i] = sqldb.JSON([]string{"0", "1"})
		}
	}
	rows, err := t.s.Ask(t.ctx, "EXPLAIN "+tr.text, args)
	if err != nil {
		return false, err
	}
	columns, err := rows.Columns()
	if err != nil {
		return false, err
	}
	whole := false
	_, err = sqldb.Collect(rows, func(r *sql.Rows) (none struct{}, err error) {
		values := make([]sql.NullString, len(columns))
		dest := make([]any, len(columns))
		for i := range dest {
			dest[i] = &values[i]
		}
		err = r.Scan(dest...)
		of := func(name string) sql.NullString { return values[slices.Index(columns, name)] }
		whole = whole || (of("type").String == "ALL" || of("type").String == "index") && !of("possible_keys").Valid
		return none, err
	})
	return whole && tr.table != "", err
}
