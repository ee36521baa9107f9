package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Rows of other tables, or of the same, go with a row by foreign keys with ON DELETE CASCADE.
// A held row among them keeps the row above.

const (
	// cascades lists such foreign keys: the table above, and the one below.
	cascades = `SELECT DISTINCT ` + placeOf + ` FROM pg_constraint k
		JOIN pg_class a ON a.oid = coalesce(pg_partition_root(k.confrelid), CAST(k.confrelid AS regclass)) JOIN pg_namespace m ON m.oid = a.relnamespace
		JOIN pg_class b ON b.oid = coalesce(pg_partition_root(k.conrelid), CAST(k.conrelid AS regclass)) JOIN pg_namespace n ON n.oid = b.relnamespace
		WHERE k.contype = 'f' AND k.confdeltype = 'c'`
	placeOf        = `quote_ident(m.nspname) || '.' || quote_ident(a.relname), quote_ident(n.nspname) || '.' || quote_ident(b.relname)`
	sqliteCascades = `SELECT DISTINCT '"' || a.name || '"', '"' || b.name || '"' FROM sqlite_schema b, pragma_foreign_key_list(b.name) f
		JOIN sqlite_schema a ON a.type = 'table' AND a.name = f."table" COLLATE NOCASE WHERE b.type = 'table' AND f.on_delete = 'CASCADE'`
	mysqlCascades = `SELECT DISTINCT '"' || f.unique_constraint_schema || '"."' || f.referenced_table_name || '"' AS above, '"' || f.constraint_schema || '"."' || f.table_name || '"' AS below
		FROM information_schema.referential_constraints f WHERE f.delete_rule = 'CASCADE'`

	heldPlaces = `SELECT c.name, c.place, c.key_column, CASE WHEN EXISTS (SELECT 1 FROM {lethe}holds h WHERE h.collection = c.name AND h.scope = 1 AND ` + stands + `) THEN 1 ELSE 0 END
		FROM {lethe}collections c WHERE c.holds <> 0 AND c.place <> ?1
		AND EXISTS (SELECT 1 FROM {lethe}holds h WHERE h.collection = c.name AND h.scope IN (1, 2) AND ` + stands + `)`
	// movedPlace finds a held collection whose rows lie in another table now, or any whose holds
	// countAnywhere has not counted.
	movedPlace = `SELECT name FROM {lethe}collections WHERE name = ?1 AND holds <> 0 AND (place <> ?2 OR key_column <> ?3)
		UNION SELECT collection FROM {lethe}holds WHERE scope IN (1, 2)
			AND NOT EXISTS (SELECT 1 FROM {lethe}collections a WHERE a.name = '' AND a.holds <> 0)`
	// removalHolds locks the row that stands for all collections, and then the collection's.
	removalHolds = `SELECT holds FROM {lethe}collections WHERE name IN ('', ?1) ORDER BY name ` + sqldb.Shared
	// countAnywhere records in the former whether rows are held, in whichever collection.
	countAnywhere = `UPDATE {lethe}collections SET holds = CASE WHEN EXISTS (SELECT 1 FROM {lethe}holds WHERE scope IN (1, 2)) THEN 1 ELSE 0 END WHERE name = ''`
	// heldRows counts the rows of a table that are there and held.
	heldRows = `SELECT count(*) FROM ` + heldIDs + ` JOIN %s r ON r.%s = %s`
	heldIDs  = `(SELECT {held key} AS id FROM {lethe}holds WHERE collection = ?1 AND scope = 2 AND ` + stands + `) AS t`
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

// TakesBelow reports whether rows of another collection go with rows that this one takes away.
func (c *Collection) TakesBelow(ctx context.Context, other *Collection) (yes bool, err error) {
	if c.endRows() == keepRows {
		return false, nil
	}
	err = c.read(ctx, "look for foreign keys", func(t *tx) error {
		tables, err := tablesBelow(t, c.place)
		yes = slices.ContainsFunc(tables, func(place string) bool { return strings.EqualFold(place, other.place) })
		return err
	})
	return yes, err
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

// holdsRows reports whether holds of a kind keep rows, with which others may go.
func (s scope) holdsRows(kind adopt.HoldScope) bool {
	return s.place != "" && (kind == adopt.HoldCollection || kind == adopt.HoldRow)
}

// lockAbove waits for removals of rows with which others go. It is the first lock of a
// transaction that sets or releases a hold on rows.
func (s scope) lockAbove(t *tx) error {
	_, err := s.theRest().lock(t, lockAlone)
	return err
}

// countHeld records whether the collection has holds, and after lockAbove whether rows are held
// anywhere.
func (s scope) countHeld(t *tx, rows bool) error {
	if _, err := t.exec(countHolds, s.name, s.place, s.key); err != nil || !rows {
		return err
	}
	_, err := t.exec(countAnywhere)
	return err
}

// Locate records where the rows of a held collection lie, which a migration may have moved, and
// whether rows are held anywhere.
func (c *Collection) Locate(ctx context.Context) error {
	moved := false
	err := c.read(ctx, "look where held rows lie", func(t *tx) error {
		found, err := all(t, text, movedPlace, c.name, c.place, c.key)
		moved = len(found) > 0
		return err
	})
	if err != nil || !moved {
		return err
	}
	return c.write(ctx, "record where held rows lie", func(t *tx) error {
		if err := c.lockAbove(t); err != nil {
			return err
		}
		return c.countHeld(t, true)
	})
}

// removing is holding for a transaction that removes rows.
func (c *Collection) removing(t *tx) (h holding, err error) {
	if c.endRows() == keepRows {
		return c.holding(t)
	}
	locked, err := all(t, sqldb.One[int64], removalHolds, c.name)
	if err == nil && len(locked) < 2 { // the first time
		if _, err = c.theRest().lock(t, lockShared); err == nil {
			_, err = c.lock(t, lockShared)
		}
		if err == nil {
			locked, err = all(t, sqldb.One[int64], removalHolds, c.name)
		}
	}
	if err != nil {
		return h, err
	}
	h = holding{t: t, name: c.name, n: locked[1], anywhere: locked[0] != 0}
	h.below, err = c.heldBelow(t, h)
	return h, err
}

// heldBelow returns the held collections whose rows may go with those of this one, as the
// foreign keys are now: migrations add some, and drop tables that have holds.
func (c *Collection) heldBelow(t *tx, h holding) ([]below, error) {
	if !h.anywhere {
		return nil, nil
	}
	held, err := all(t, func(r *sql.Rows) (b below, err error) {
		err = r.Scan(&b.name, &b.place, &b.key, &b.all)
		return b, err
	}, heldPlaces, "", t.now)
	if err != nil || len(held) == 0 {
		return nil, err
	}
	tables, err := tablesBelow(t, c.place)
	return slices.DeleteFunc(held, func(b below) bool {
		return !slices.ContainsFunc(tables, func(place string) bool { return strings.EqualFold(place, b.place) })
	}), err
}

// errHeldBelow reports that held rows would have gone with others. Nothing was done.
var errHeldBelow = errors.New("what is held would go with it, by a foreign key with ON DELETE CASCADE")

// endAll ends rows. It fails with errKept if some are still there, and with errHeldBelow if
// held ones have gone with them.
func (c *Collection) endAll(t *tx, r removal, keys any) error {
	counts, err := c.heldCounts(t, r.holds.below)
	if err != nil {
		return err
	}
	before, err := stillHeld(t, counts)
	if err != nil {
		return err
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
	after, err := stillHeld(t, counts)
	if err == nil && c.endRows() == deleteRows {
		err = c.sameBelow(t, r.holds)
	}
	for i, b := range r.holds.below {
		if err == nil && after[i] < before[i] {
			err = fmt.Errorf("%w: rows of %s", errHeldBelow, b.name)
		}
	}
	return err
}

// sameBelow fails with adopt.ErrChanged if more is below rows that have gone than before: no
// foreign key to their table comes from here on.
func (c *Collection) sameBelow(t *tx, h holding) error {
	now, err := c.heldBelow(t, h)
	if err == nil && slices.ContainsFunc(now, func(b below) bool { return !slices.Contains(h.below, b) }) {
		err = adopt.ErrChanged
	}
	return err
}

// heldCount is the statement that counts the held rows of a collection.
type heldCount struct{ text, name string }

// heldCounts returns those of collections.
func (c *Collection) heldCounts(t *tx, held []below) (counts []heldCount, err error) {
	for _, b := range held {
		of, err := c.db.engine.look(t, strings.ReplaceAll(b.place, `"`, ""))
		if err != nil {
			return nil, err
		}
		key := of.columns[b.key]
		text := fmt.Sprintf(heldRows, b.place, sqldb.Quoted(b.key), c.heldID(key))
		counts = append(counts, heldCount{text, b.name})
	}
	return counts, nil
}

// heldID returns the value of a held key.
func (c *Collection) heldID(key column) string {
	return cmp.Or(key.seek, c.db.engine.value("t.id", key))
}

// stillHeld returns the counts.
func stillHeld(t *tx, counts []heldCount) (n []int64, err error) {
	n = make([]int64, len(counts))
	for i, count := range counts {
		if err := t.row(count.text, count.name, t.now).Scan(&n[i]); err != nil {
			return nil, err
		}
	}
	return n, nil
}
