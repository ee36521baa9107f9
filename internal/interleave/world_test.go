package interleave_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
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
	names  string // of the tables, as a list
	resets int
	f      *fixture
	before map[string]string // what the tables hold before a schedule
	known  map[string][]outcome
	claims claims
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
	w.claims.fixture = w.f.placed
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

// prepare makes the actors' sources of ids begin anew, for a turn; the first forgets
// who has claimed what.
func (w *world) prepare(turn uint64) {
	if turn == 1 {
		w.claims.forget()
	}
	for i, a := range w.actors {
		a.ids.Seed(turn*most + uint64(i))
	}
}

// answer is what a method answered, as text.
type answer struct {
	text    string
	taken   []string // by a method that passes by what others hold
	refused bool
}

// tell writes an answer down.
func tell(v any, err error) answer {
	if err != nil {
		return answer{text: told(err), refused: lethe.Refused(err)}
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
	return answer{text: string(raw)}
}

// told is the answer that is an error.
func told(err error) string { return "error: " + roots(err) }

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
