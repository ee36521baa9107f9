package sqladopt

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	endedRows   = `SELECT {r key}, {micros}{r end}{close micros} FROM {rows} r WHERE ` + due + ` ORDER BY {r end}`
	goingRows   = `SELECT d.content, d.object, d.due_at, d.state, d.attempts FROM {lethe}condemned d WHERE d.collection = ?1 AND d.state IN (1, 2) AND d.due_at <= ?2 ORDER BY d.due_at`
	ripeOrphans = `SELECT "key", size, since_at FROM {lethe}orphans WHERE collection = ?1 AND since_at <= ?2 ORDER BY "key"`
	madeAt      = `SELECT created_at FROM {lethe}adoption`
)

// Planned is one thing that a run would take now.
type Planned struct {
	ID     string     // of a row, a content, an orphan
	Object string     // whole key; empty if it has none
	Size   int64      // bytes; 0 if unknown
	Due    lethe.Time // since when

	state, attempts int // of a content
}

// plannedAtOnce is how many things are looked at again in one statement.
const plannedAtOnce = 1000

// again passes on what is still to go, by another look at what was read: rows may have come
// since it was recorded.
func again(list []Planned, stays func(keys []string) (func(Planned) bool, error), fn func(Planned) error) error {
	for page := range slices.Chunk(list, plannedAtOnce) {
		keys := make([]string, len(page))
		for i, p := range page {
			keys[i] = p.ID
		}
		stay, err := stays(keys)
		if err != nil {
			return err
		}
		for _, p := range page {
			if stay(p) {
				continue
			}
			if err := fn(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// collect appends to a list.
func collect(list *[]Planned) func(Planned) error {
	return func(p Planned) error {
		*list = append(*list, p)
		return nil
	}
}

// Only returns the collection restricted to the rows, or the contents, with
// these keys.
func (c *Collection) Only(keys []string) *Collection {
	view := *c
	view.only = sqldb.JSON(keys)
	return &view
}

// each calls fn for the results of a query that are not held, without a time
// limit.
func (s scope) each(ctx context.Context, what string, q query, fn func(Planned) error) error {
	return s.read(ctx, what, func(t *tx) error {
		if err := s.db.engine.allow(t, 0); err != nil {
			return err
		}
		holds, err := t.holds(s.db.engine, s.name)
		if err != nil {
			return err
		}
		rows, err := t.s.Ask(t.ctx, q.text, q.args(t))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var p Planned
			if err := q.scan(rows, &p); err != nil {
				return err
			}
			held := holds.Object(p.Object)
			if p.Object == "" {
				held = holds.Row(p.ID)
			}
			if held != nil {
				continue
			}
			if err := fn(p); err != nil {
				return err
			}
		}
		return rows.Err()
	})
}

// query is a statement, its parameters, and how its rows are read.
type query struct {
	text string
	args func(*tx) []any
	scan func(*sql.Rows, *Planned) error
}

// Ended calls fn for each expired row, the oldest first, unless held ones would go with it.
func (c *Collection) Ended(ctx context.Context, fn func(Planned) error) error {
	above, everything, err := c.heldAbove(ctx)
	if err != nil || everything {
		return err
	}
	free := func(p Planned) error {
		if above[p.ID] {
			return nil
		}
		return fn(p)
	}
	return c.each(ctx, "list rows", query{endedRows, func(t *tx) []any { return []any{c.end(t)} },
		func(r *sql.Rows, p *Planned) error { return r.Scan(&p.ID, &p.Due) }}, free)
}

// Going calls fn for each content that would be condemned now: none of what waits by another
// description.
func (c *Collection) Going(ctx context.Context, fn func(Planned) error) error {
	var list []Planned
	was := ""
	err := c.read(ctx, "look under which description contents wait", func(t *tx) (err error) {
		was, err = c.recorded(t)
		return err
	})
	if err != nil || was != "" && was != c.meaning() {
		return err
	}
	err = c.each(ctx, "list contents", query{goingRows, func(t *tx) []any { return []any{c.name, t.now} },
		func(r *sql.Rows, p *Planned) error { return r.Scan(&p.ID, &p.Object, &p.Due, &p.state, &p.attempts) }}, collect(&list))
	if err != nil {
		return err
	}
	return again(list, func(keys []string) (func(Planned) bool, error) {
		var seen map[string]look
		err := c.read(ctx, "look at contents", func(t *tx) (err error) {
			seen, err = c.look(t, keys)
			return err
		})
		return func(p Planned) bool { return c.stay(p, seen) }, err
	}, fn)
}

// stay reports whether Mark would let a content be.
func (c *Collection) stay(p Planned, seen map[string]look) bool {
	l, exists := seen[p.ID]
	switch exists = exists && l.object == p.Object; {
	case !c.c.Reaches(p.Object):
		return true
	case exists:
		return !l.unreferenced || l.referenced
	}
	return p.state == waiting && p.attempts == 0
}

// Ripe calls fn for each orphan that has been known for the retention, and still is one.
func (k *Keys) Ripe(ctx context.Context, retention time.Duration, fn func(Planned) error) error {
	var list []Planned
	err := k.each(ctx, "list orphans", query{ripeOrphans, func(t *tx) []any { return []any{k.name, t.now.Add(-retention)} },
		func(r *sql.Rows, p *Planned) error {
			err := r.Scan(&p.ID, &p.Size, &p.Due)
			p.Object = p.ID
			return err
		}}, collect(&list))
	if err != nil {
		return err
	}
	return again(list, func(keys []string) (func(Planned) bool, error) {
		named, err := k.Named(ctx, keys)
		return func(p Planned) bool { return slices.Contains(named, p.ID) }, err
	}, fn)
}

// MadeAt returns when Lethe's tables were created, which identifies them, and
// the time.
func (db *DB) MadeAt(ctx context.Context) (made, now lethe.Time, err error) {
	err = db.read(ctx, "look when Lethe's tables were made", func(t *tx) error {
		now = t.now
		return t.row(madeAt).Scan(&made)
	})
	return made, now, err
}
