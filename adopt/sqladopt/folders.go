package sqladopt

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Folders are the rows that name the folders of one collection, and the record
// of folders without one.
type Folders struct {
	scope
}

var _ adopt.FolderRows = (*Folders)(nil)

// {live} is the query of live folders, with one column: live(name).
const (
	noFolders = `SELECT * FROM {live query} LIMIT 0`
	liveNames = `SELECT {live name} FROM {live}`
	// lookLive counts rows, those without a name, and returns which of a list
	// are live.
	lookLive = `SELECT count(*), count(*) FILTER (WHERE live.name IS NULL),
		coalesce(jsonb_agg(DISTINCT {live name}) FILTER (WHERE {live name} IN (SELECT id FROM {ids 1})), '[]')
		FROM {live}`

	lastRows = `SELECT coalesce(max(live), 0) FROM {lethe}live_rows WHERE collection = ?1`
	// noteRows keeps a newer count (?3), unless it is from the future (?4 is
	// now) because a clock was set back.
	noteRows = `INSERT INTO {lethe}live_rows AS o (collection, live, at) VALUES (?1, ?2, ?3)
		ON CONFLICT (collection) DO UPDATE SET live = CASE WHEN o.at <= excluded.at OR o.at > ?4 THEN excluded.live ELSE o.live END,
			at = CASE WHEN o.at <= excluded.at OR o.at > ?4 THEN excluded.at ELSE o.at END`
	knownRows  = `SELECT name, state, marked_at, marker_at, purged FROM {lethe}folders WHERE collection = ?1`
	insertSeen = `INSERT INTO {lethe}folders (collection, name, state, seen_at)
		SELECT ?2, t.id, 1, ?3 FROM {ids 1} WHERE TRUE ON CONFLICT DO NOTHING`
	seenFolders = `SELECT name FROM {lethe}folders WHERE collection = ?2 AND state IN (1, 2)
		AND name IN (SELECT id FROM {ids 1}) ORDER BY name ` + sqldb.Exclusive
	condemnSeen  = `UPDATE {lethe}folders SET state = 2 WHERE collection = ?2 AND name IN (SELECT id FROM {ids 1})`
	recordMarker = `UPDATE {lethe}folders AS f SET state = 3, marked_at = ?3, marker_at = t.at
		FROM {rows 1: name text, at bigint} WHERE f.collection = ?2 AND f.name = t.name AND f.state = 2`
	proceedMarked = `UPDATE {lethe}folders SET state = 4, allowed_at = ?3 WHERE collection = ?1 AND name = ?2`
	countPurged   = `UPDATE {lethe}folders SET purged = ?5 WHERE collection = ?1 AND name = ?2 AND state = 4
		AND marked_at = ?3 AND marker_at = ?4`
	forgetKnown = `DELETE FROM {lethe}folders WHERE collection = ?1 AND name = ?2 AND state = ?3
		AND marked_at = ?4 AND marker_at = ?5`
	markedFolder = `SELECT name FROM {lethe}folders WHERE collection = ?1 AND name = ?2
		AND state IN (3, 4) AND marked_at = ?3 AND marker_at = ?4 ` + sqldb.Exclusive
	countPending = `SELECT count(*), coalesce(min(marked_at), 0) FROM {lethe}folders
		WHERE collection = ?1 AND state IN (3, 4) AND marked_at <= ?2`
)

// Folders prepares a collection of folders, and tests its query.
func (db *DB) Folders(ctx context.Context, name string, c adopt.Collection) (*Folders, error) {
	live := c.Folders.Live.Query
	if c.Folders.Live.Table != "" {
		t, err := adopt.ParseTemplate(c.Folders.Live.Name)
		if err != nil {
			return nil, fmt.Errorf("collection %s: %w", name, err)
		}
		live = fmt.Sprintf("SELECT %s || '' FROM %s r", db.concatenation(t, "r", nil), table(c.Folders.Live.Table))
	}
	f := &Folders{db.scope(name, c, foldingWords(live).with(words{
		"{live query}": "(" + live + "\n) AS live", "{live}": source(live, "live", "name"), "{live name}": db.engine.text("live.name", column{}),
	}))}
	return f, f.try(ctx)
}

// try returns an error unless the query of live folders runs and has one
// column.
func (f *Folders) try(ctx context.Context) error {
	return f.read(ctx, "try folders.live", func(t *tx) error {
		if err := t.oneColumn(noFolders, "the names of folders below the prefix"); err != nil {
			return err
		}
		return t.apart()
	})
}

// oneColumn returns an error unless a query runs and has one column: PostgreSQL
// would take the first of several.
func (t *tx) oneColumn(query, of string) error {
	rows, err := t.s.Ask(t.ctx, query, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err == nil && len(columns) != 1 {
		err = fmt.Errorf("the query has %d columns: it has to return one, %s", len(columns), of)
	}
	return errors.Join(err, rows.Err())
}

// Look implements adopt.FolderMarks. Nothing is recorded before Lethe's tables
// exist.
func (f *Folders) Look(ctx context.Context) (v adopt.FolderView, err error) {
	err = f.read(ctx, "read folders", func(t *tx) error {
		v = adopt.FolderView{Now: t.now, Prefix: f.prefix}
		if err := f.lookLive(t, &v); err != nil {
			return err
		}
		if installed, err := f.db.engine.has(t, "folders"); err != nil || !installed {
			return err
		}
		if err := t.row(lastRows, f.name).Scan(&v.Last); err != nil {
			return err
		}
		if v.Known, err = all(t, scanFolder, knownRows, f.name); err != nil {
			return err
		}
		v.Holds, err = t.holds(f.db.engine, f.name)
		return err
	})
	return v, err
}

func scanFolder(r *sql.Rows) (k adopt.KnownFolder, err error) {
	err = r.Scan(&k.Name, &k.State, &k.MarkedAt, &k.MarkerAt, &k.Purged)
	return k, err
}

// errNoName ends a run: the row's folder is unknown.
var errNoName = errors.New("a row has no name (NULL), so that its folder would go: leave such rows out of folders.live, or give them one")

func (f *Folders) lookLive(t *tx, v *adopt.FolderView) error {
	v.Live = map[string]bool{}
	rows, err := t.s.Ask(t.ctx, liveNames, nil)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name sql.NullString
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if !name.Valid {
			return errNoName
		}
		v.Live[name.String] = true
		v.Rows++
	}
	return rows.Err()
}

// again returns which of some names are live now, right before a change.
func (f *Folders) again(t *tx, names []string, floor int64) (map[string]bool, error) {
	var rows, unnamed int64
	var found string
	if err := t.row(lookLive, sqldb.JSON(names)).Scan(&rows, &unnamed, &found); err != nil {
		return nil, err
	}
	switch {
	case unnamed > 0:
		return nil, errNoName
	case rows < floor:
		return nil, fmt.Errorf("%w: %d, and %d have to: rows have gone since this run began", adopt.ErrFewRows, rows, floor)
	}
	var list []string
	if err := json.Unmarshal([]byte(found), &list); err != nil {
		return nil, err
	}
	live := make(map[string]bool, len(list))
	for _, name := range list {
		live[name] = true
	}
	return live, nil
}

// held returns the holds of the collection, locked.
func (f *Folders) held(t *tx) (adopt.Holds, error) {
	h, err := f.holding(t)
	if err != nil {
		return nil, err
	}
	return h.all()
}

// Note implements adopt.FolderMarks.
func (f *Folders) Note(ctx context.Context, v adopt.FolderView, names []string) error {
	return f.write(ctx, "note folders", func(t *tx) error {
		if _, err := t.exec(noteRows, f.name, v.Rows, v.Now, t.now); err != nil || len(names) == 0 {
			return err
		}
		_, err := t.exec(insertSeen, sqldb.JSON(names), f.name, t.now)
		return err
	})
}

// Condemn implements adopt.FolderMarks.
func (f *Folders) Condemn(ctx context.Context, names []string, floor int64) (out []string, err error) {
	err = f.write(ctx, "condemn folders", func(t *tx) error {
		holds, err := f.held(t)
		if err != nil {
			return err
		}
		// Another worker may have advanced some by now.
		seen, err := all(t, text, seenFolders, sqldb.JSON(names), f.name)
		if err != nil {
			return err
		}
		live, err := f.again(t, seen, floor)
		if err != nil {
			return err
		}
		out = slices.DeleteFunc(seen, func(name string) bool { return live[name] || holds.Folder(f.prefix+name+"/") != nil })
		_, err = t.exec(condemnSeen, sqldb.JSON(out), f.name)
		return err
	})
	return out, err
}

// Marked implements adopt.FolderMarks.
func (f *Folders) Marked(ctx context.Context, folders []adopt.KnownFolder) error {
	type marker struct {
		Name string `json:"name"`
		At   int64  `json:"at"`
	}
	var list []marker
	for _, k := range folders {
		list = append(list, marker{k.Name, int64(k.MarkerAt)})
	}
	return f.write(ctx, "record markers", func(t *tx) error {
		_, err := t.exec(recordMarker, sqldb.JSON(list), f.name, t.now)
		return err
	})
}

// Forget implements adopt.FolderMarks.
func (f *Folders) Forget(ctx context.Context, k adopt.KnownFolder) error {
	return f.write(ctx, "forget folder", func(t *tx) error {
		_, err := t.exec(forgetKnown, f.name, k.Name, int(k.State), k.MarkedAt, k.MarkerAt)
		return err
	})
}

// Proceed implements adopt.FolderPurges.
func (f *Folders) Proceed(ctx context.Context, k adopt.KnownFolder, floor int64) (out adopt.Verdict, err error) {
	err = f.write(ctx, "purge folder", func(t *tx) error {
		out = adopt.Changed
		holds, err := f.held(t)
		if err != nil {
			return err
		}
		found, err := all(t, text, markedFolder, f.name, k.Name, k.MarkedAt, k.MarkerAt)
		if err != nil || len(found) == 0 {
			return err
		}
		live, err := f.again(t, []string{k.Name}, floor)
		if err != nil {
			return err
		}
		if out = adopt.HasRow; live[k.Name] {
			return nil
		}
		if out = adopt.OnHold; holds.Folder(f.prefix+k.Name+"/") != nil {
			return nil
		}
		out = adopt.Orphan
		_, err = t.exec(proceedMarked, f.name, k.Name, t.now)
		return err
	})
	return out, err
}

// Purged implements adopt.FolderPurges.
func (f *Folders) Purged(ctx context.Context, k adopt.KnownFolder, keys []string) error {
	return f.write(ctx, "record purged objects", func(t *tx) error {
		if len(keys) == 0 {
			return nil
		}
		if _, err := t.exec(countPurged, f.name, k.Name, k.MarkedAt, k.MarkerAt, k.Purged); err != nil {
			return err
		}
		_, err := t.exec(insertReceipt, f.name, "objects", t.now, sqldb.JSON(keys))
		return err
	})
}

// Gone implements adopt.FolderPurges.
func (f *Folders) Gone(ctx context.Context, k adopt.KnownFolder) error {
	return f.write(ctx, "end folder", func(t *tx) error {
		if _, err := t.exec(forgetKnown, f.name, k.Name, int(adopt.FolderPurging), k.MarkedAt, k.MarkerAt); err != nil {
			return err
		}
		_, err := t.exec(insertReceipt, f.name, "folders", t.now, sqldb.JSON([]string{k.Name}))
		return err
	})
}

// Pending implements adopt.FolderPurges.
func (f *Folders) Pending(ctx context.Context, retention time.Duration) (out adopt.Backlog, err error) {
	err = f.read(ctx, "count marked folders", func(t *tx) error {
		return t.row(countPending, f.name, t.now.Add(-retention)).Scan(&out.Due, &out.Oldest)
	})
	return out, err
}
