package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	// cascadeKeys lists the column pairs of foreign keys with ON DELETE CASCADE: the table above,
	// the one below, the name, the columns.
	cascadeKeys = `SELECT DISTINCT ` + placeOf + `, k.conname, c.attname, d.attname FROM pg_constraint k
		JOIN pg_class a ON a.oid = coalesce(pg_partition_root(k.confrelid), CAST(k.confrelid AS regclass)) JOIN pg_namespace m ON m.oid = a.relnamespace
		JOIN pg_class b ON b.oid = coalesce(pg_partition_root(k.conrelid), CAST(k.conrelid AS regclass)) JOIN pg_namespace n ON n.oid = b.relnamespace
		CROSS JOIN LATERAL unnest(k.confkey, k.conkey) AS u (above, below)
		JOIN pg_attribute c ON c.attrelid = k.confrelid AND c.attnum = u.above
		JOIN pg_attribute d ON d.attrelid = k.conrelid AND d.attnum = u.below
		WHERE k.contype = 'f' AND k.confdeltype = 'c' ORDER BY 1, 2, 3`
	sqliteCascadeKeys = `SELECT '"' || a.name || '"', '"' || b.name || '"', CAST(f.id AS TEXT),
			coalesce(f."to", (SELECT i.name FROM pragma_table_info(a.name) i WHERE i.pk = f.seq + 1)), f."from"
		FROM sqlite_schema b, pragma_foreign_key_list(b.name) f
		JOIN sqlite_schema a ON a.type = 'table' AND a.name = f."table" COLLATE NOCASE WHERE b.type = 'table' AND f.on_delete = 'CASCADE' ORDER BY 1, 2, 3`
	mysqlCascadeKeys = `SELECT '"' || f.unique_constraint_schema || '"."' || f.referenced_table_name || '"', '"' || f.constraint_schema || '"."' || f.table_name || '"',
			f.constraint_name, u.referenced_column_name, u.column_name
		FROM information_schema.referential_constraints f JOIN information_schema.key_column_usage u
			ON u.constraint_schema = f.constraint_schema AND u.constraint_name = f.constraint_name AND u.table_name = f.table_name
		WHERE f.delete_rule = 'CASCADE' ORDER BY 1, 2, 3`
)

// rowsAbove joins rows with those below them, and these with what is held.
const rowsAbove = `SELECT DISTINCT {r key} FROM {rows} r%s JOIN ` + heldIDs + ` ON %s.%s = %s`

// cascade is a foreign key by which rows below go with those above.
type cascade struct {
	above, below, name string
	pairs              []pair
}

// cascadesOf returns all of them.
func cascadesOf(t *tx) (out []cascade, err error) {
	_, err = all(t, func(r *sql.Rows) (k cascade, err error) {
		var p pair
		if err := r.Scan(&k.above, &k.below, &k.name, &p.to, &p.column); err != nil {
			return k, err
		}
		if i := len(out) - 1; i >= 0 && out[i].above == k.above && out[i].below == k.below && out[i].name == k.name {
			out[i].pairs = append(out[i].pairs, p)
			return k, nil
		}
		k.pairs = []pair{p}
		out = append(out, k)
		return k, nil
	}, cascadeKeys)
	return out, err
}

// ways returns the chains of foreign keys from a table down to another, each key at most once
// in a chain.
func ways(list []cascade, from, to string, before []cascade) (out [][]cascade) {
	for _, k := range list {
		used := slices.ContainsFunc(before, func(b cascade) bool { return b.below == k.below && b.name == k.name })
		if used || !strings.EqualFold(k.above, from) {
			continue
		}
		way := append(slices.Clone(before), k)
		if strings.EqualFold(k.below, to) {
			out = append(out, way)
		}
		out = append(out, ways(list, k.below, to, way)...)
	}
	return out
}

// leading returns the cascades from which a table is reached.
func leading(list []cascade, to string) (out []cascade) {
	ends := []string{to}
	for i := 0; i < len(ends); i++ {
		for _, k := range list {
			if !strings.EqualFold(k.below, ends[i]) {
				continue
			}
			out = append(out, k)
			if !slices.ContainsFunc(ends, func(e string) bool { return strings.EqualFold(e, k.above) }) {
				ends = append(ends, k.above)
			}
		}
	}
	return out
}

// heldAbove returns the keys of the rows with which held ones would go, and whether all rows
// stay for that. It knows a held row of the same table as far as one foreign key down.
func (c *Collection) heldAbove(ctx context.Context) (keys map[string]bool, everything bool, err error) {
	keys = map[string]bool{}
	if c.endRows() == keepRows {
		return keys, false, nil
	}
	err = c.read(ctx, "look for held rows below others", func(t *tx) error {
		if err := c.db.engine.allow(t, 0); err != nil {
			return err
		}
		there, err := c.db.engine.has(t, "collections")
		if err != nil || !there {
			return err
		}
		h := holding{t: t, name: c.name, anywhere: true}
		if h.below, err = c.heldBelow(t, h); err != nil || len(h.below) == 0 {
			return err
		}
		if everything = h.allBelow(); everything {
			return nil
		}
		links, err := cascadesOf(t)
		if err != nil {
			return err
		}
		for _, b := range h.below {
			for _, way := range ways(leading(links, b.place), c.place, b.place, nil) {
				if err := c.keysAbove(t, b, way, keys); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return keys, everything, err
}

// keysAbove adds the keys of the rows from which a way leads to a held one.
func (c *Collection) keysAbove(t *tx, b below, way []cascade, keys map[string]bool) error {
	of, err := c.db.engine.look(t, strings.ReplaceAll(b.place, `"`, ""))
	if err != nil {
		return err
	}
	joins, last := "", "r"
	for i, k := range way {
		next := fmt.Sprintf("b%d", i)
		var on []string
		for _, p := range k.pairs {
			on = append(on, fmt.Sprintf("%s.%s = %s.%s", next, sqldb.Quoted(p.column), last, sqldb.Quoted(p.to)))
		}
		joins, last = joins+" JOIN "+k.below+" "+next+" ON "+strings.Join(on, " AND "), next
	}
	key := of.columns[b.key]
	found, err := all(t, text, fmt.Sprintf(rowsAbove, joins, last, sqldb.Quoted(b.key), c.heldID(key)), b.name, t.now)
	for _, k := range found {
		keys[k] = true
	}
	return err
}
