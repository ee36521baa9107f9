package sqladopt

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
)

const tableColumns = `SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull,
		format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL),
		EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indisvalid AND i.indimmediate
			AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum),
		EXISTS (SELECT 1 FROM pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic)
	FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = to_regclass(?1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`

// postgresReferences are foreign keys to contents and their partitions. One of a partition
// is one of the whole table: a column means the same in all partitions.
const postgresReferences = `SELECT CASE w.id WHEN to_regclass(?2) THEN 'rows' WHEN to_regclass(?1) THEN 'contents' ELSE '' END,
		CAST(w.id AS TEXT), CAST(k.oid AS TEXT), a.attname, f.attname, k.confrelid <> to_regclass(?1),
		(WITH RECURSIVE up(id) AS (SELECT inhparent FROM pg_inherits WHERE inhrelid = w.id
				UNION SELECT i.inhparent FROM pg_inherits i JOIN up u ON i.inhrelid = u.id)
			SELECT coalesce(json_agg(CAST(CAST(id AS regclass) AS TEXT)), '[]') FROM up)
	FROM pg_constraint k
	CROSS JOIN LATERAL (SELECT coalesce(pg_partition_root(k.conrelid), CAST(k.conrelid AS regclass)) AS id) w
	CROSS JOIN LATERAL unnest(k.conkey, k.confkey) WITH ORDINALITY AS p(num, refers, n)
	JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = p.num
	JOIN pg_attribute f ON f.attrelid = k.confrelid AND f.attnum = p.refers
	WHERE k.contype = 'f' AND k.conparentid = 0
		AND (k.confrelid = to_regclass(?1) OR k.confrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(?1))))
	ORDER BY 2, k.oid, p.n`

const qualified = `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname) FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass(?1)`

// relatives reports whether a table is a partition of another, whether it has partitions, and
// whether tables other than partitions inherit from it: its triggers and unique indexes
// do not cover those.
const relatives = `SELECT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(?1)),
	(SELECT relkind = 'p' FROM pg_class WHERE oid = to_regclass(?1)),
	EXISTS (SELECT 1 FROM pg_inherits i JOIN pg_class k ON k.oid = i.inhrelid WHERE i.inhparent = to_regclass(?1) AND NOT k.relispartition)`

// keyTypes have equal values only for equal texts.
var keyTypes = []string{"text", "character varying", "character", "uuid", "smallint", "integer", "bigint", "bytea"}

// sessionTypes are those whose text depends on the session.
var sessionTypes = []string{"date", "timestamp without time zone", "timestamp with time zone", "time with time zone",
	"interval", "money", "real", "double precision"}

func (p postgres) look(t *tx, name string) (out relation, err error) {
	list, err := all(t, func(r *sql.Rows) (c column, err error) {
		err = r.Scan(&c.name, &c.kind, &c.notNull, &c.base, &c.unique, &c.folding)
		return c, err
	}, tableColumns, table(name))
	if err != nil {
		return out, err
	}
	if len(list) == 0 {
		return out, p.unseen(t, name)
	}
	var part, parent bool
	switch err := t.row(relatives, table(name)).Scan(&part, &out.parted, &parent); {
	case err != nil:
		return out, err
	case part:
		return out, fmt.Errorf("table %s is a part of another, whose other parts may refer to the same objects: name the whole", name)
	case parent:
		return out, fmt.Errorf("other tables inherit from %s: its keys are not unique among their rows, and a guard does not see those; only partitions can be adopted", name)
	}
	out.columns = make(map[string]column, len(list))
	for _, c := range list {
		if !slices.Contains(keyTypes, c.base) {
			c.noKey = strings.Join(keyTypes, ", ")
		}
		c.fickle, c.coarse = slices.Contains(sessionTypes, c.base), c.base == "date"
		out.columns[c.name] = c
	}
	return out, t.row(qualified, table(name)).Scan(&out.place)
}

// unseen returns the error of a table that is not found. It may be in a schema
// that the description does not name.
func (postgres) unseen(t *tx, name string) error {
	var of, place, lacking, owner string
	var uses bool
	schema, bare := split(name)
	switch err := t.row(tableRights, schema, bare, "SELECT").Scan(&of, &place, &uses, &lacking, &owner); {
	case errors.Is(err, sql.ErrNoRows):
		return noTable("there is no table %s in the database: correct its name", name)
	case err != nil:
		return err
	case uses:
		return noTable("there is no table %s in the search path of its user, but there is %s: write that", name, place)
	}
	return fmt.Errorf("table %s lies in the schema %s: %w", name, of, errUnseen)
}

// postgresTables is the fingerprint of the tables; others may have taken their names. Partitions and indexes
// come and go without a change, if the same columns stay unique. Where contents go with something
// by a cascade, all cascades matter: they may go with rows.
var postgresTables = strings.ReplaceAll(`concat_ws(';', CAST(to_regclass(nullif(?1, '')) AS oid), CAST(to_regclass(?2) AS oid),
	(SELECT string_agg(concat_ws(' ', n.nspname, k.relname, k.relkind), ',' ORDER BY k.oid)
		FROM pg_class k JOIN pg_namespace n ON n.oid = k.relnamespace WHERE k.oid {them}),
	(SELECT string_agg(concat_ws(' ', a.attrelid, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attcollation), ',' ORDER BY a.attrelid, a.attnum)
		FROM pg_attribute a WHERE a.attrelid {them} AND a.attnum > 0 AND NOT a.attisdropped),
	(SELECT string_agg(DISTINCT concat_ws(' ', i.indrelid, i.indkey[0]), ',') FROM pg_index i
		WHERE i.indrelid {them} AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indnkeyatts = 1),
	EXISTS (SELECT 1 FROM pg_inherits h JOIN pg_class k ON k.oid = h.inhrelid
		WHERE h.inhrelid {them} OR h.inhparent {them} AND NOT k.relispartition),
	CASE WHEN EXISTS (SELECT 1 FROM pg_constraint k WHERE k.contype = 'f' AND k.confdeltype = 'c' AND (k.conrelid = to_regclass(nullif(?1, ''))
			OR k.conrelid IN (SELECT relid FROM pg_partition_tree(to_regclass(nullif(?1, ''))))))
		THEN (SELECT string_agg(CAST(k.oid AS TEXT), ',' ORDER BY k.oid) FROM pg_constraint k WHERE k.contype = 'f' AND k.confdeltype = 'c') END)`,
	"{them}", "IN (to_regclass(nullif(?1, '')), to_regclass(?2))")

// postgresRefers is the fingerprint of the foreign keys.
var postgresRefers = "coalesce((SELECT string_agg(CAST(x AS TEXT), ',') FROM (" +
	strings.ReplaceAll(postgresReferences, "to_regclass(?1)", "to_regclass(nullif(?1, ''))") + ") x), '')"

// fingerprintArgs returns the parameters of both.
func fingerprintArgs(c adopt.Collection) []any {
	rows, contents := tablesOf(c)
	if contents != "" {
		contents = table(contents)
	}
	return []any{contents, table(rows)}
}

func (postgres) fingerprint(t *tx, c adopt.Collection) (s fingerprint, err error) {
	err = t.row("SELECT "+postgresTables+", "+postgresRefers, fingerprintArgs(c)...).Scan(&s.tables, &s.references)
	return s, err
}

// expect goes with COMMIT.
func (postgres) expect(t *tx, m *prepared) error {
	text, args := "SELECT 1 WHERE "+postgresTables+" = ?3", append(fingerprintArgs(m.c), m.fingerprint.tables)
	if t.looked {
		text, args = text+" AND "+postgresRefers+" = ?4", append(args, m.fingerprint.references)
	}
	return t.s.Guard(1, adopt.ErrChanged, text, args)
}

func (postgres) references(t *tx, c adopt.Collection) ([]keyColumn, error) {
	return all(t, scanKeyColumn, postgresReferences, table(c.Contents.Table), table(c.Rows.Table))
}

func (p postgres) has(t *tx, name string) (yes bool, err error) {
	err = t.row("SELECT to_regclass(?1) IS NOT NULL", p.schema()+"."+name).Scan(&yes)
	return yes, err
}

const (
	postgresPlace = `SELECT CONCAT(d.oid, ' ', to_regclass(?1)::oid), has_function_privilege('pg_catalog.pg_control_system()', 'execute')
		FROM pg_database d WHERE d.datname = current_database()`
	postgresServer = `SELECT ' ' || system_identifier FROM pg_catalog.pg_control_system()`
)

// marks returns one: numbers of database and table, which VACUUM FULL keeps, and that of the
// cluster, which its standbys share. Some managed servers do not give that.
func (p postgres) marks(t *tx) ([]string, error) {
	var place, server string
	var may bool
	err := t.row(postgresPlace, p.schema()+".pairings").Scan(&place, &may)
	if err == nil && may {
		err = t.row(postgresServer).Scan(&server)
	}
	return []string{place + server}, err
}

// allTables lists the application's tables, each with its columns, its primary key and
// its foreign keys of one column as JSON.
const allTables = `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END,
	c.relkind = 'p', (position('.' IN c.relname) > 0 OR position('.' IN n.nspname) > 0 AND NOT pg_table_is_visible(c.oid)),
	(SELECT json_agg(json_build_object('Name', a.attname, 'Kind', format_type(coalesce(nullif(t.typbasetype, 0), t.oid), NULL)) ORDER BY a.attnum)
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	(SELECT coalesce(json_agg(a.attname), '[]') FROM pg_constraint k
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey) WHERE k.conrelid = c.oid AND k.contype = 'p'),
	(SELECT coalesce(json_object_agg(a.attname, CASE WHEN pg_table_is_visible(f.oid) THEN f.relname ELSE m.nspname || '.' || f.relname END), '{}')
		FROM pg_constraint k
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
		JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace m ON m.oid = f.relnamespace
		WHERE k.conrelid = c.oid AND k.contype = 'f' AND cardinality(k.conkey) = 1)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p', 'f') AND NOT c.relispartition AND n.nspname <> ?1
		AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	ORDER BY 1`

func (p postgres) tables(t *tx) ([]adopt.TableInfo, error) {
	return all(t, func(r *sql.Rows) (x adopt.TableInfo, err error) {
		var columns, key, refers []byte
		if err := r.Scan(&x.Name, &x.Parted, &x.Dotted, &columns, &key, &refers); err != nil {
			return x, err
		}
		for _, part := range []struct {
			text []byte
			into any
		}{{columns, &x.Columns}, {key, &x.Key}, {refers, &x.Refers}} {
			if len(part.text) > 0 {
				if err := json.Unmarshal(part.text, part.into); err != nil {
					return x, err
				}
			}
		}
		return x, nil
	}, allTables, p.o.Schema)
}

func (postgres) readsWhole(t *tx, tr trial) (bool, error) {
	if err := t.script("SET LOCAL enable_seqscan = off; SET LOCAL transaction_read_only = on"); err != nil {
		return false, err
	}
	lines, err := all(t, text, "EXPLAIN "+tr.text, tr.args...)
	return slices.ContainsFunc(lines, wholeScan.MatchString), err
}

// wholeScan is a scan of rows or contents, or of a partition of theirs, in a plan.
var wholeScan = regexp.MustCompile(`Seq Scan on .* [rc](_\d+)?  \(`)
