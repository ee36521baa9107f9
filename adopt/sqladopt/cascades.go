package sqladopt

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Rows of other tables, or of the same, go with a row by foreign keys with ON DELETE CASCADE.
// What is held among them keeps the row above.

const (
	// cascades lists such foreign keys: the table above, and the one below.
	cascades = `SELECT DISTINCT ` + placeOf + ` FROM pg_constraint k
		JOIN pg_class a ON a.oid = coalesce(pg_partition_root(k.confrelid), CAST(k.confrelid AS regclass)) JOIN pg_namespace m ON m.oid = a.relnamespace
		JOIN pg_class b ON b.oid = coalesce(pg_partition_root(k.conrelid), CAST(k.conrelid AS regclass)) JOIN pg_namespace n ON n.oid = b.relnamespace
		WHERE k.contype = 'f' AND k.confdeltype = 'c'`
	placeOf        = `quote_ident(m.nspname) || '.' || quote_ident(a.relname), quote_ident(n.nspname) || '.' || quote_ident(b.relname)`
	sqliteCascades = `SELECT DISTINCT '"' || a.name || '"', '"' || b.name || '"' FROM sqlite_schema b, pragma_foreign_key_list(b.name) f
		JOIN sqlite_schema a ON a.type = 'table' AND a.name = f."table" COLLATE NOCASE WHERE b.type = 'table' AND f.on_delete = 'CASCADE'`
	mysqlCascades = `SELECT DISTINCT '"' || f.unique_constraint_schema || '"."' || f.referenced_table_name || '"', '"' || f.constraint_schema || '"."' || f.table_name || '"'
		FROM information_schema.referential_constraints f WHERE f.delete_rule = 'CASCADE'`

	heldPlaces = `SELECT c.name, c.place, c.key_column, CASE WHEN EXISTS (SELECT 1 FROM {lethe}holds h WHERE h.collection = c.name AND h.scope = 1 AND ` + stands + `) THEN 1 ELSE 0 END
		FROM {lethe}collections c WHERE c.holds <> 0 AND c.place <> ?1
		AND EXISTS (SELECT 1 FROM {lethe}holds h WHERE h.collection = c.name AND h.scope IN (1, 2) AND ` + stands + `)`
	heldKeys = `SELECT "key" FROM {lethe}holds WHERE collection = ?1 AND scope = 2 AND ` + stands
	// remaining counts rows.
	remaining = `SELECT count(*) FROM {rows} r WHERE r.{key} IN (SELECT {key of id} FROM {ids 1})`
)

// tablesBelow returns the places of the tables whose rows go with those of a table.
func tablesBelow(t *tx, place string) (found []string, err error) {
	list, err := all(t, func(r *sql.Rows) (k [2]string, err error) {
		err = r.Scan(&k[0], &k[1])
		return k, err
	}, cascades)
	above := []string{place}
	for len(above) > 0 {
		next := above[0]
		above = above[1:]
		for _, k := range list {
			if strings.EqualFold(k[0], next) && !slices.Contains(found, k[1]) {
				found, above = append(found, k[1]), append(above, k[1])
			}
		}
	}
	return found, err
}

// below is a collection of held rows which may go with others.
type below struct {
	name, place, key string
	all              bool // each of its rows is held
}

// allBelow reports whether everything is held that may go with rows: then they all stay.
func (h holding) allBelow() bool {
	return slices.ContainsFunc(h.below, func(b below) bool { return b.all })
}

// theRest is the scope whose lock keeps holds from being set on what goes with rows: also
// of collections that have no holds yet, or another description file.
func (s scope) theRest() scope { return scope{db: s.db, runner: s.runner} }

// lockAbove waits for removals of rows with which others go. It is the first lock of a
// transaction that sets a hold on rows.
func (s scope) lockAbove(t *tx) error {
	if s.place == "" {
		return nil
	}
	_, err := s.theRest().lock(t, lockAlone)
	return err
}

// removing is holding for a transaction that removes rows.
func (c *Collection) removing(t *tx) (holding, error) {
	var held []below
	if len(c.s.below) > 0 && c.endRows() != keepRows {
		if _, err := c.theRest().lock(t, lockShared); err != nil {
			return holding{}, err
		}
		found, err := all(t, func(r *sql.Rows) (b below, err error) {
			err = r.Scan(&b.name, &b.place, &b.key, &b.all)
			return b, err
		}, heldPlaces, "", t.now)
		if err != nil {
			return holding{}, err
		}
		held = slices.DeleteFunc(found, func(b below) bool {
			return !slices.ContainsFunc(c.s.below, func(place string) bool { return strings.EqualFold(place, b.place) })
		})
	}
	h, err := c.holding(t)
	h.below = held
	return h, err
}

// errHeldBelow reports that held rows would have gone with others. Nothing was done.
var errHeldBelow = errors.New("what is held would go with it, by a foreign key with ON DELETE CASCADE")

// endAll ends rows. It fails with errKept if some are still there, and with errHeldBelow if
// held ones have gone with them.
func (c *Collection) endAll(t *tx, r removal, keys any) error {
	var counts []func() (int64, error)
	var before []int64
	for _, b := range r.below {
		count, err := c.heldRows(t, b)
		if err != nil {
			return err
		}
		n, err := count()
		if err != nil {
			return err
		}
		counts, before = append(counts, count), append(before, n)
	}
	n, err := t.exec(c.endRows(), keys)
	if err != nil {
		return err
	}
	if n != int64(len(r.rows)) { // they would be counted down repeatedly, unless a cascade has removed some
		left := int64(1)
		if c.endRows() == deleteRows {
			err = t.row(remaining, keys).Scan(&left)
		}
		if err != nil || left > 0 || n > int64(len(r.rows)) {
			return cmp.Or(err, errKept)
		}
	}
	for i, b := range r.below {
		if after, err := counts[i](); err != nil || after < before[i] {
			return cmp.Or(err, fmt.Errorf("%w: rows of %s", errHeldBelow, b.name))
		}
	}
	return nil
}

// heldRows returns a function that counts the rows of a collection that are there and held.
func (c *Collection) heldRows(t *tx, b below) (func() (int64, error), error) {
	keys, err := all(t, text, heldKeys, b.name, t.now)
	if err != nil {
		return nil, err
	}
	of, err := c.db.engine.look(t, strings.ReplaceAll(b.place, `"`, ""))
	if err != nil {
		return nil, err
	}
	held := fmt.Sprintf("SELECT count(*) FROM %s r WHERE r.%s IN (SELECT %s FROM {ids 1})", b.place, sqldb.Quoted(b.key), c.db.engine.value("id", of.columns[b.key]))
	return func() (n int64, err error) {
		err = t.row(held, sqldb.JSON(keys)).Scan(&n)
		return n, err
	}, nil
}
