package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

var (
	serverPlace = RegisterFor(sqldb.PostgresName, `SELECT d.oid::text, to_regclass('store')::oid::text FROM pg_database d
		WHERE d.datname = current_database()`)
	mayAskServer = RegisterFor(sqldb.PostgresName, `SELECT has_function_privilege('pg_catalog.pg_control_system()', 'execute')`)
	whichServer  = RegisterFor(sqldb.PostgresName, `SELECT system_identifier::text FROM pg_catalog.pg_control_system()`)
)

// Site identifies where a ledger is, by marks that a copy does not share. A file has its
// creation time (born), where the file system knows it, and its number (inode). A PostgreSQL
// database has those of its cluster ("server"), itself ("database") and the table of the
// store ("table").
type Site map[string]string

// The marks of a file.
const (
	Born  = "born"
	Inode = "inode"
)

// Other returns a mark that is known in both and differs, "" if none. The number of a file
// may change under it, so it counts only if the creation time is not known in both.
func (p Site) Other(o Site) string {
	for _, mark := range slices.Sorted(maps.Keys(p)) {
		if mark == Inode && p[Born] != "" && o[Born] != "" {
			continue
		}
		if o[mark] != "" && p[mark] != o[mark] {
			return mark
		}
	}
	return ""
}

// With adds the marks that only the other knows of the same place, so that a mark that
// cannot be read for a while is kept.
func (p Site) With(o Site) Site {
	out := maps.Clone(o)
	maps.Copy(out, p)
	return out
}

// ParseSite parses a recorded site: ErrCorrupt.
func ParseSite(text string) (Site, error) {
	p := Site{}
	if text == "" {
		return p, nil
	}
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return nil, fmt.Errorf("%w: the place of the store: %w", lethe.ErrCorrupt, err)
	}
	return p, nil
}

// Marked names what each mark identifies.
var Marked = map[string]string{Born: "file", Inode: "file", "server": "PostgreSQL cluster", "database": "database", "table": "table"}

// Site returns where the ledger is; nil if that is not known.
func (e *Engine) Site(ctx context.Context) (Site, error) {
	switch {
	case e.Server != nil:
		return e.serverSite(ctx)
	case e.File.path == Memory:
		return nil, nil
	}
	return FileSite(e.File.path)
}

// FileSite returns the marks of a file; nil if none are known.
func FileSite(path string) (Site, error) {
	born, inode, err := sqldb.FileMarks(path)
	p := Site{}
	for mark, value := range map[string]string{Born: born, Inode: inode} {
		if value != "" {
			p[mark] = value
		}
	}
	return p, err
}

// serverSite returns the marks from PostgreSQL. Some managed servers do not give the server's
// own mark, which is left out then.
func (e *Engine) serverSite(ctx context.Context) (Site, error) {
	var database, table, server string
	err := e.View(ctx, Request, func(t *Tx) error { return t.Row(serverPlace).Scan(&database, &table) })
	if err != nil {
		return nil, err
	}
	err = e.View(ctx, Request, func(t *Tx) error {
		var may bool
		if err := t.Row(mayAskServer).Scan(&may); err != nil || !may {
			return err
		}
		return t.Row(whichServer).Scan(&server)
	})
	if errors.Is(err, lethe.ErrUnavailable) || ctx.Err() != nil {
		return nil, err
	}
	p := Site{"database": database, "table": table}
	if err == nil && server != "" {
		p["server"] = server
	}
	return p, nil
}
