package sqlledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	selectPlace = register(`SELECT place FROM store WHERE one = 1`)
	setPlace    = register(`UPDATE store SET place = ?1 WHERE one = 1 AND place = ?2`)

	serverPlace = registerFor(sqldb.PostgresName, `SELECT d.oid::text, to_regclass('store')::oid::text FROM pg_database d
		WHERE d.datname = current_database()`)
	mayAskServer = registerFor(sqldb.PostgresName, `SELECT has_function_privilege('pg_catalog.pg_control_system()', 'execute')`)
	whichServer  = registerFor(sqldb.PostgresName, `SELECT system_identifier::text FROM pg_catalog.pg_control_system()`)
)

// site identifies where a ledger is, by marks that a copy does not share. A file has its
// creation time (born), where the file system knows it, and its number (inode). A PostgreSQL
// database has those of its cluster ("server"), itself ("database") and the table of the
// store ("table").
type site map[string]string

const (
	born  = "born"
	inode = "inode"
)

// other returns a mark that is known in both and differs, "" if none. The number of a file
// may change under it, so it counts only if the creation time is not known in both.
func (p site) other(o site) string {
	for _, mark := range slices.Sorted(maps.Keys(p)) {
		if mark == inode && p[born] != "" && o[born] != "" {
			continue
		}
		if o[mark] != "" && p[mark] != o[mark] {
			return mark
		}
	}
	return ""
}

// with adds the marks that only the other knows of the same place, so that a mark that
// cannot be read for a while is kept.
func (p site) with(o site) site {
	out := maps.Clone(o)
	maps.Copy(out, p)
	return out
}

func siteOf(text string) (site, error) {
	p := site{}
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("%w: the place of the store: %w", lethe.ErrCorrupt, err)
	}
	return p, nil
}

// settlePlace compares the ledger's place with the recorded one. In another place the ledger
// is a copy, or was moved. It gets a new identity and holds the deletes on all backends
// until a person decides (docs/protocol.md, rule 13).
func (db *DB) settlePlace(ctx context.Context) error {
	here, err := db.here(ctx)
	if err != nil || len(here) == 0 {
		return err
	}
	var before string
	err = db.read(ctx, "place", func(t *tx) error { return t.row(selectPlace).Scan(&before) })
	if err != nil {
		return err
	}
	lay, err := siteOf(before)
	if err != nil {
		return err
	}
	mark := here.other(lay)
	if mark == "" {
		here = here.with(lay)
	}
	if now := sqldb.JSON(here); before != now {
		err = db.write(ctx, "settle the ledger's place", func(t *tx) error { return t.moveTo(mark, before, now) })
	}
	return err
}

// Strayed returns why the ledger was found relocated when it was opened, and holds the
// deletes on all backends; "" if it was not.
func (db *DB) Strayed() string { return db.strayed }

// moveTo records another place. mark is the mark that differs; empty: the place is the same,
// and more of it is known.
func (t *tx) moveTo(mark, before, now string) error {
	t.db.strayed = ""
	n, err := t.exec(setPlace, now, before)
	if err != nil || n == 0 || mark == "" {
		return err // without rows, another instance has just done it
	}
	t.db.strayed = fmt.Sprintf("%s (its %s is another one): one of the two is a copy", ledger.Moved, places[mark])
	return t.anew(t.db.strayed)
}

// places names what each mark identifies.
var places = map[string]string{born: "file", inode: "file", "server": "PostgreSQL cluster", "database": "database", "table": "table"}

// anew gives the ledger a new identity and holds the deletes on all backends.
func (t *tx) anew(why string) error {
	if err := t.must(1, lethe.ErrCorrupt, renameStore, lethe.NewID(t.now, t.random)); err != nil {
		return err
	}
	if _, err := t.exec(holdAllBackends, why, ledger.HeldForLedger); err != nil {
		return err
	}
	_, err := t.exec(distrust, "", t.now)
	return err
}

// here returns the ledger's present place; nil if it is not known.
func (db *DB) here(ctx context.Context) (site, error) {
	switch {
	case db.pg != nil:
		return db.onServer(ctx)
	case db.path == Memory:
		return nil, nil
	}
	return fileMarks(db.path)
}

// onServer returns the marks from PostgreSQL. Some managed servers do not give the server's
// own mark, which is left out then.
func (db *DB) onServer(ctx context.Context) (site, error) {
	var database, table, server string
	err := db.read(ctx, "place on the server", func(t *tx) error { return t.row(serverPlace).Scan(&database, &table) })
	if err != nil {
		return nil, err
	}
	err = db.read(ctx, "which server", func(t *tx) error {
		var may bool
		if err := t.row(mayAskServer).Scan(&may); err != nil || !may {
			return err
		}
		return t.row(whichServer).Scan(&server)
	})
	if errors.Is(err, lethe.ErrUnavailable) || ctx.Err() != nil {
		return nil, err
	}
	p := site{"database": database, "table": table}
	if err == nil && server != "" {
		p["server"] = server
	}
	return p, nil
}
