package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// trial is a statement that a collection runs, explained instead: the database then
// checks names, types and privileges, and tells which index it would use.
type trial struct {
	what  string
	text  string
	args  []any
	table string // that it must not read whole; empty: it does not matter
	index string // that helps it
}

// trials are the statements on the application's tables.
func (c *Collection) trials() []trial {
	none, at := asJSON([]string{}), lethe.Time(0)
	rows, contents := c.c.Rows, c.c.Contents
	var out []trial
	live, claimed := "", ""
	if st := rows.Status; st != nil {
		live = fmt.Sprintf(" WHERE %s = %s AND %s IS NOT NULL", ident(st.Column), literal(st.Live), ident(rows.End))
		claimed = fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s (%s) WHERE %s = %s", table(rows.Table), ident(rows.Initiated), ident(st.Column), literal(st.Claimed))
		out = append(out,
			trial{what: "mark rows as claimed", text: stampRows, args: []any{at, none}},
			trial{what: "give rows back", text: returnRows, args: []any{none}},
			trial{what: "find rows of dead workers", text: stuckRows, args: []any{at, 1}, table: rows.Table, index: claimed},
			trial{what: "settle rows", text: claimedRows, args: []any{at, none, at}},
		)
	}
	out = append(out,
		trial{what: "find due rows", text: dueRows, args: []any{at, 1}, table: rows.Table,
			index: fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s (%s)%s", table(rows.Table), ident(rows.End), live)},
		trial{what: "remove rows", text: c.endRows(), args: []any{none}},
	)
	if contents == nil {
		return append(out, c.ownedTrials()...)
	}
	byContent := fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s (%s)", table(rows.Table), ident(rows.Content))
	out = append(out,
		trial{what: "look whether rows refer to contents", text: lookAgain, args: []any{none}, table: rows.Table, index: byContent},
		trial{what: "lock contents", text: freeContents, args: []any{none}},
		trial{what: "remove contents", text: deleteContents, args: []any{none}},
	)
	if contents.Count == "" {
		return out
	}
	return append(out,
		trial{what: "count references down", text: countDown, args: []any{none, 1}},
		trial{what: "find contents without references", text: unreferencedContents, args: []any{1}, table: contents.Table,
			index: fmt.Sprintf("CREATE INDEX CONCURRENTLY ON %s (%s) WHERE %s = 0", table(contents.Table), ident(contents.Key), ident(contents.Count))},
	)
}

const unreferencedContents = `SELECT c.{ckey} FROM {contents} c WHERE {unreferenced} ORDER BY c.{ckey} LIMIT ?1`

// Check tries every statement without running it, and looks at what the collection
// relies on. Its findings say what to do; the error is one of the database as a whole.
func (c *Collection) Check(ctx context.Context) (out []adopt.Finding, err error) {
	for _, tr := range c.trials() {
		plan, err := c.explain(ctx, tr)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			out = append(out, adopt.Finding{Problem: true, What: fmt.Sprintf("cannot %s: %v", tr.what, err), Do: "correct the description, or grant the privilege"})
		case tr.table != "" && readsWhole(plan, tr.table):
			out = append(out, adopt.Finding{What: fmt.Sprintf("to %s the whole table %s is read: no index fits", tr.what, tr.table), Do: tr.index})
		}
	}
	if c.c.HasObjects() && c.c.Guard == adopt.TriggerGuard {
		guarded, err := c.Guarded(ctx)
		if err != nil {
			return nil, err
		}
		if !guarded {
			out = append(out, adopt.Finding{Problem: true, What: "its guard is not installed", Do: "lethe adopt guard install"})
		}
	}
	if c.c.HasObjects() && !c.c.Cleans() {
		out = append(out, adopt.Finding{What: "without a guard objects stay: a row might refer to one while it is deleted", Do: "guard: trigger, or guard: quarantine"})
	}
	return out, nil
}

// explain returns the plan of a statement, one that reads tables whole only where no
// index fits.
func (c *Collection) explain(ctx context.Context, tr trial) (plan string, err error) {
	err = c.write(ctx, "try to "+tr.what, func(t *tx) error {
		if _, err := t.s.Simple(t.ctx, "SET LOCAL enable_seqscan = off; SET LOCAL transaction_read_only = on"); err != nil {
			return err
		}
		lines, err := all(t, text, "EXPLAIN "+tr.text, tr.args...)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// readsWhole reports whether a plan reads a table from its beginning to its end.
func readsWhole(plan, name string) bool {
	parts := strings.Split(name, ".")
	last := parts[len(parts)-1]
	return strings.Contains(plan, "Seq Scan on "+last+" ") || strings.Contains(plan, `Seq Scan on "`+last+`" `)
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

// Now returns the database's time.
func (db *DB) Now(ctx context.Context) (now lethe.Time, err error) {
	err = db.read(ctx, "ask for the time", func(t *tx) error {
		now = t.now
		return nil
	})
	return now, err
}
