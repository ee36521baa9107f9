package interleave_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/internal/clocktest"
	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/metatest"
)

// most is how many methods run beside each other.
const most = 4

// The limits of the ledgers under test.
const (
	maxRefs    = 3
	readGrace  = 10 * time.Minute
	lateWindow = time.Hour
	opsKept    = 24 * time.Hour
)

// actor is who runs a method.
type actor struct {
	db   *meta.DB
	gate *gate
	ids  *metatest.IDs // the ledger's source
}

// world is a ledger in a database of its own, with as many actors as may meet, each
// with connections of its own, and the rows that they meet on.
type world struct {
	testing.TB
	ctx    context.Context
	clock  *clocktest.Clock
	actors [most]actor
	events chan event
	direct *pgx.Conn // past the gates
	tables []table
	f      *fixture
	before map[string]string // what the tables hold before a schedule
	known  map[string][]outcome
}

// newWorld makes a world in an empty database.
func newWorld(t testing.TB, database string) *world {
	t.Helper()
	w := &world{TB: t, ctx: context.Background(), clock: clocktest.New(), events: make(chan event, 4*most), known: map[string][]outcome{}}
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.actors {
		g := &gate{actor: i, to: u.Host, events: w.events}
		via := *u
		via.Host = g.listen(t)
		a := actor{gate: g, ids: metatest.NewIDs(uint64(i))}
		a.db, err = meta.OpenPostgres(w.ctx, via.String(), meta.Options{
			Clock: w.clock, Random: a.ids, MaxRefs: maxRefs,
			ReadGrace: readGrace, LateWindow: lateWindow, OpsKept: opsKept,
			Postgres: meta.PostgresOptions{Pooler: meta.PoolerNone, Requests: 2, Engine: 2, IdleTime: stuck, LockTime: stuck},
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.db.Close() })
		w.actors[i] = a
	}
	if w.direct, err = pgx.Connect(w.ctx, database+"&search_path=lethe"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.direct.Close(w.ctx) })
	w.f = w.build()
	w.keep()
	return w
}

// waitingForLocks answers the processes of the server that wait for locks.
func (w *world) waitingForLocks() (map[uint32]bool, error) {
	rows, err := w.direct.Query(w.ctx, `SELECT pid FROM pg_locks WHERE NOT granted AND pid IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	held := map[uint32]bool{}
	for _, pid := range list {
		held[uint32(pid)] = true
	}
	return held, err
}

// table is a table of the ledger, with the query that answers what it holds.
type table struct{ name, holds string }

// notCompared are columns that tell how often something was tried, and in which order
// what came to the same happened: a content that had as many references as it may, and
// then fewer, is closed, and one that had fewer first is not (an invariant checks it).
var notCompared = map[string][]string{"store": {"clock_high"}, "receipts": {"id"}, "contents": {"closed"}}

// keep remembers what the tables hold, to return to it.
func (w *world) keep() {
	w.Helper()
	rows, err := w.direct.Query(w.ctx, `SELECT c.table_name::text, bool_or(c.column_name = 'fence') FROM information_schema.columns c
		JOIN information_schema.tables t ON t.table_schema = c.table_schema AND t.table_name = c.table_name AND t.table_type = 'BASE TABLE'
		WHERE c.table_schema = 'lethe' GROUP BY 1 ORDER BY 1`)
	if err != nil {
		w.Fatal(err)
	}
	var name string
	var fenced bool
	_, err = pgx.ForEachRow(rows, []any{&name, &fenced}, func() error {
		row := "to_jsonb(t)"
		for _, column := range notCompared[name] {
			row += " - '" + column + "'"
		}
		from := "lethe." + name + " t"
		switch {
		case strings.HasSuffix(name, "_counters"): // slots are added up
			from = "(SELECT " + map[string]string{"blob_counters": "backend, state", "bucket_counters": "bucket_id"}[name] +
				", sum(n) AS n, sum(bytes) AS bytes FROM " + from + " GROUP BY " + map[string]string{"blob_counters": "1, 2", "bucket_counters": "1"}[name] + ") t WHERE n <> 0 OR bytes <> 0"
		case name == "receipts": // one batch, or two for what was passed by at first
			from, row = "(SELECT sum(n) AS n FROM "+from+") t", "to_jsonb(t)"
		case fenced && name != "store": // a sequence makes them, and leaves gaps
			row += " || jsonb_build_object('fence', sign(fence))"
		}
		w.tables = append(w.tables, table{name, "SELECT '" + name + "' AS name, coalesce(string_agg(r, E'\\n' ORDER BY r), '') FROM (SELECT (" + row + ")::text AS r FROM " + from + ") x"})
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
	list := "CREATE SCHEMA saved;"
	for _, t := range w.tables {
		list += "CREATE TABLE saved." + t.name + " AS TABLE lethe." + t.name + ";"
	}
	w.execute(list)
	w.before = w.look()
}

func (w *world) execute(list string) {
	w.Helper()
	if _, err := w.direct.PgConn().Exec(w.ctx, list).ReadAll(); err != nil {
		w.Fatal(err)
	}
}

// look answers what each table holds.
func (w *world) look() map[string]string {
	w.Helper()
	queries := make([]string, len(w.tables))
	for i, t := range w.tables {
		queries[i] = t.holds
	}
	rows, err := w.direct.Query(w.ctx, strings.Join(queries, " UNION ALL "))
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	var name, text string
	if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		out[name] = text
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	return out
}

// reset returns to what was kept, given what the tables hold.
func (w *world) reset(have map[string]string) {
	w.Helper()
	list := "SET session_replication_role = replica;" // foreign keys need no order
	for _, t := range w.tables {
		if have[t.name] != w.before[t.name] || notCompared[t.name] != nil || strings.HasSuffix(t.name, "_counters") {
			list += "DELETE FROM lethe." + t.name + "; INSERT INTO lethe." + t.name + " SELECT * FROM saved." + t.name + ";"
		}
	}
	w.execute(list)
}

// text is how a state differs from that before, table by table: rows that are new,
// and rows that are gone.
func (w *world) text(have map[string]string) string {
	var out strings.Builder
	for _, t := range w.tables {
		if have[t.name] == w.before[t.name] {
			continue
		}
		is, was := strings.Split(have[t.name], "\n"), strings.Split(w.before[t.name], "\n")
		for _, row := range is {
			if !slices.Contains(was, row) {
				fmt.Fprintf(&out, "%s has %s\n", t.name, row)
			}
		}
		for _, row := range was {
			if !slices.Contains(is, row) {
				fmt.Fprintf(&out, "%s lacks %s\n", t.name, row)
			}
		}
	}
	return out.String()
}

// prepare makes the actors' sources of ids begin anew, for a turn.
func (w *world) prepare(turn uint64) {
	for i, a := range w.actors {
		a.ids.Seed(turn*most + uint64(i))
	}
}

// answer is what a method answered, as text.
type answer struct {
	text  string
	taken []string // by a method that passes by what others hold
}

var fences = regexp.MustCompile(`"Fence":\d+`)

// tell writes an answer down.
func tell(v any, err error) answer {
	if err != nil {
		return answer{text: "error: " + roots(err)}
	}
	if taken, ok := v.([]string); ok {
		return answer{taken: taken}
	}
	if d, ok := v.(meta.Deletions); ok {
		out := make([]any, 0, 2*len(d.Items))
		for _, i := range d.Items {
			out = append(out, i.Existed, i.ID, roots(i.Err))
		}
		v = append(out, d.Dropped)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return answer{text: err.Error()}
	}
	return answer{text: fences.ReplaceAllString(string(raw), `"Fence":0`)}
}

// roots names the errors that an error comes from.
func roots(err error) string {
	if err == nil {
		return ""
	}
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		var out []string
		for _, e := range several.Unwrap() {
			out = append(out, roots(e))
		}
		return strings.Join(out, ", ")
	}
	if next := errors.Unwrap(err); next != nil {
		return roots(next)
	}
	return err.Error()
}

// and adds what a method took when it was run again.
func (a answer) and(b answer) answer {
	if b.text != "" {
		a.text += b.text
	}
	a.taken = append(slices.Clone(a.taken), b.taken...)
	return a
}

func (a answer) String() string {
	if a.text != "" {
		return a.text
	}
	slices.Sort(a.taken)
	return "took " + strings.Join(a.taken, " ")
}
