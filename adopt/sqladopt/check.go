package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// trial is a statement of a collection that is explained instead of run. The
// database checks names, types and privileges, and shows the index that it
// would use.
type trial struct {
	what  string
	text  string
	args  []any
	table string // the table that it must not scan; empty if that does not matter
	index string // the index that helps
	must  bool   // without it nothing is reclaimed
}

// trials are the statements on the application's tables.
func (c *Collection) trials() []trial {
	none, at := sqldb.JSON([]string{}), lethe.Time(0)
	rows, contents, index := c.c.Rows, c.c.Contents, c.index
	var out []trial
	if st := rows.Status; st != nil {
		claimed := index(table(rows.Table), sqldb.Quoted(rows.Initiated), fmt.Sprintf(" WHERE %s = %s", sqldb.Quoted(st.Column), sqldb.Literal(st.Claimed)))
		out = append(out,
			trial{what: "mark rows as claimed", text: stampRows, args: []any{at, none}},
			trial{what: "give rows back", text: returnRows, args: []any{none}},
			trial{what: "find rows of dead workers", text: stuckRows, args: []any{at, 1}, table: rows.Table, index: claimed},
			trial{what: "settle rows", text: c.claimedText(), args: []any{at, none, at}},
		)
	}
	out = append(out,
		c.dueTrial(),
		trial{what: "remove rows", text: c.endRows(), args: []any{none}},
	)
	if contents == nil {
		return append(out, c.ownedTrials()...)
	}
	out = append(out, c.lookups()...)
	out = append(out,
		trial{what: "lock contents", text: freeContents, args: []any{none}},
		trial{what: "remove contents", text: deleteContents, args: []any{none}},
	)
	if contents.Count == "" {
		return out
	}
	return append(out,
		trial{what: "count references down", text: countDown, args: []any{none, 1}},
		trial{what: "find contents without references", text: unreferencedContents, args: []any{1}, table: contents.Table,
			index: index(table(contents.Table), sqldb.Quoted(contents.Key), fmt.Sprintf(" WHERE %s = 0", sqldb.Quoted(contents.Count)))},
	)
}

// dueTrial is the statement that finds due rows.
func (c *Collection) dueTrial() trial {
	rows, live := c.c.Rows, ""
	if st := rows.Status; st != nil {
		live = fmt.Sprintf(" WHERE %s = %s", sqldb.Quoted(st.Column), sqldb.Literal(st.Live))
		if c.s.end.of == nil { // the column itself is compared
			live += fmt.Sprintf(" AND %s IS NOT NULL", sqldb.Quoted(rows.End))
		}
	}
	return trial{what: "find due rows", text: dueRows, args: []any{implausible.Add(time.Hour), 1}, table: rows.Table,
		index: c.index(table(rows.Table), c.s.end.compared(sqldb.Quoted(rows.End)), live)}
}

// index returns the statement that creates an index. PostgreSQL creates none of a
// table with partitions concurrently.
func (c *Collection) index(of, columns, where string) string {
	text := c.db.engine.index(of, columns, where)
	if of == table(c.c.Rows.Table) && c.s.rows.parted || c.c.Contents != nil && of == table(c.c.Contents.Table) && c.s.contents.parted {
		text = strings.Replace(text, " CONCURRENTLY ", " ", 1)
	}
	return text
}

// references are all by which rows refer to contents.
func (c *Collection) references() []reference { return c.s.references(c.c) }

// lookups are the parts of lookAgain, by references. None may read another table whole
// for each batch.
func (c *Collection) lookups() (out []trial) {
	for i, r := range c.references() {
		out = append(out, trial{
			must: i > 0,
			what: "look whether rows of " + r.name() + " refer to contents", args: []any{sqldb.JSON([]string{})}, table: r.name(),
			text: `SELECT {c key}, CASE WHEN ` + r.exists(c.c) + ` THEN 1 ELSE 0 END
				FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`,
			index: c.index(r.table, r.columns(), ""),
		})
	}
	return out
}

const unreferencedContents = `SELECT c.{ckey} FROM {contents} c WHERE {unreferenced} ORDER BY c.{ckey} LIMIT ?1`

// Check explains every statement without running it, and checks what the
// collection relies on. Its findings describe what to do; the error concerns
// the database as a whole.
func (c *Collection) Check(ctx context.Context) (out []adopt.Finding, err error) {
	denied := ""
	for _, tr := range c.trials() {
		var whole bool
		err := c.db.writeOn(ctx, c.runner, "try to "+tr.what+" of "+c.name, func(t *tx) error {
			whole, err = c.db.engine.readsWhole(t, tr)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case sqldb.Denied(err):
			denied = cmp.Or(denied, fmt.Sprintf("cannot %s: %v", tr.what, Reason(err)))
		case err != nil:
			out = append(out, adopt.Finding{Problem: true, What: fmt.Sprintf("cannot %s: %v", tr.what, Reason(err)), Do: "correct the description"})
		case tr.table != "" && whole:
			out = append(out, adopt.Finding{Problem: tr.must, What: fmt.Sprintf("to %s the whole table %s is read: no index fits", tr.what, tr.table), Do: tr.index})
		}
	}
	if denied == "" && !adopt.Problems(out) {
		for _, look := range []func(context.Context) ([]adopt.Finding, error){c.strayStates, c.mixed, c.counting, c.oddEnds, c.allEnded, c.oddContents, c.oddCounts, c.nested} {
			found, err := look(ctx)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
	}
	rights, err := c.lacking(ctx, denied)
	if err != nil {
		return nil, err
	}
	out = append(rights, out...)
	if c.c.HasObjects() && c.c.Guard == adopt.TriggerGuard {
		what, err := c.unguarded(ctx)
		if err != nil {
			return nil, err
		}
		if what != "" {
			out = append(out, adopt.Finding{Problem: true, What: what, Do: "lethe adopt guard install"})
		}
		others, err := c.otherGuards(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, others...)
	}
	if c.c.Cleans() {
		waits, err := c.otherMeaning(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, waits...)
	}
	if c.c.HasObjects() && !c.c.Cleans() {
		out = append(out, adopt.Finding{What: "without a guard objects stay: a row might refer to one while it is deleted", Do: "guard: trigger, or guard: quarantine"})
	}
	return out, nil
}

const (
	// sampledStates is the number of rows that are checked for states missing
	// in the description.
	sampledStates = 1000
	strayStates   = `SELECT s.state, count(*) FROM (
		SELECT coalesce({state}, 'NULL') AS state, CASE WHEN {is known} THEN 1 ELSE 0 END AS known FROM {rows} r ORDER BY r.{key} DESC LIMIT ?1) AS s
		WHERE s.known = 0 GROUP BY s.state ORDER BY s.state LIMIT 5`
)

// strayStates finds states of rows that the description does not name: such
// rows are neither live nor in progress, and would stay unnoticed.
func (c *Collection) strayStates(ctx context.Context) (out []adopt.Finding, err error) {
	st := c.c.Rows.Status
	if st == nil {
		return nil, nil
	}
	err = c.read(ctx, "look at the states of rows", func(t *tx) error {
		out, err = all(t, func(r *sql.Rows) (f adopt.Finding, err error) {
			var state string
			var n int64
			err = r.Scan(&state, &n)
			f.What = fmt.Sprintf("in %d of the last %d rows of %s at most, %s is %s, which the description does not name: such rows stay",
				n, sampledStates, c.c.Rows.Table, st.Column, state)
			f.Do = "correct rows.status (live, claimed, deleted) if they are to go, or the rows"
			return f, err
		}, strayStates, sampledStates)
		return err
	})
	return out, err
}

// lacking finds all missing rights at once: on the application's tables if a
// trial was denied, and on Lethe's own and for a guard that is not installed.
func (c *Collection) lacking(ctx context.Context, denied string) ([]adopt.Finding, error) {
	view := c.scope
	if len(view.needs.guarded) > 0 {
		guarded, err := c.Guarded(ctx)
		if err != nil {
			return nil, err
		}
		if guarded {
			view.needs.guarded, view.needs.counted = nil, false
		}
	}
	return view.rights(ctx, denied)
}

const sampleObjects = `SELECT {object} FROM {contents} c ORDER BY c.{ckey} DESC LIMIT ?1`

// Sample returns the keys of up to limit objects that contents name.
func (c *Collection) Sample(ctx context.Context, limit int) (keys []string, err error) {
	if !c.c.HasObjects() {
		return nil, nil
	}
	err = c.read(ctx, "sample contents", func(t *tx) error {
		keys, err = all(t, func(r *sql.Rows) (string, error) {
			var s sql.NullString
			err := r.Scan(&s)
			return s.String, err
		}, c.texts().sample, limit)
		return err
	})
	return keys, err
}

// Remarks returns findings about the database for the owner of a collection.
func (db *DB) Remarks(ctx context.Context) (out []adopt.Finding, err error) {
	err = db.read(ctx, "look at the database", func(t *tx) error {
		out, err = db.engine.remarks(t)
		return err
	})
	return out, err
}

// Now returns the database's time.
func (db *DB) Now(ctx context.Context) (now lethe.Time, err error) {
	err = db.read(ctx, "ask for the time", func(t *tx) error {
		now = t.now
		return nil
	})
	return now, err
}
