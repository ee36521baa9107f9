package sqladopt

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/lethe-storage/lethe/adopt"
)

// allTables lists the application's tables, each with its columns, its primary key and
// its foreign keys of one column as JSON.
const allTables = `SELECT CASE WHEN pg_table_is_visible(c.oid) THEN c.relname ELSE n.nspname || '.' || c.relname END,
	(SELECT json_agg(json_build_object('Name', a.attname, 'Kind', format_type(a.atttypid, NULL)) ORDER BY a.attnum)
		FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
	(SELECT coalesce(json_agg(a.attname), '[]') FROM pg_constraint k
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (k.conkey) WHERE k.conrelid = c.oid AND k.contype = 'p'),
	(SELECT coalesce(json_object_agg(a.attname, CASE WHEN pg_table_is_visible(f.oid) THEN f.relname ELSE m.nspname || '.' || f.relname END), '{}')
		FROM pg_constraint k
		JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.conkey[1]
		JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace m ON m.oid = f.relnamespace
		WHERE k.conrelid = c.oid AND k.contype = 'f' AND cardinality(k.conkey) = 1)
	FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname <> ?1
		AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
	ORDER BY 1`

// Tables returns the application's tables.
func (db *DB) Tables(ctx context.Context) (out []adopt.TableInfo, err error) {
	err = db.read(ctx, "list the tables", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (x adopt.TableInfo, err error) {
			var columns, key, refers []byte
			if err := r.Scan(&x.Name, &columns, &key, &refers); err != nil {
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
		}, allTables, db.o.Schema)
		return err
	})
	return out, err
}
