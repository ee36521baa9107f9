package interleave_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
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
	db  *sqlledger.DB
	ids *ledgertest.IDs // the ledger's source
}

// world is a ledger in a database of its own, with as many actors as may meet, each
// with connections of its own, and the rows that they meet on.
type world struct {
	testing.TB
	ctx    context.Context
	clock  *clocktest.Clock
	actors [most]actor
	runner *stepwise.Runner
	direct *pgx.Conn // past the gates
	f      *fixture
	kept   *stepwise.Rows // what the tables hold before a schedule
	known  map[string][]outcome
	claims claims
}

// newWorld makes a world in an empty database.
func newWorld(t testing.TB, database string) *world {
	t.Helper()
	w := &world{TB: t, ctx: context.Background(), clock: clocktest.New(), known: map[string][]outcome{}}
	var err error
	if w.direct, err = pgx.Connect(w.ctx, database+"&search_path=lethe"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.direct.Close(w.ctx) })
	w.runner = stepwise.New(t, w.direct, database, most)
	for i := range w.actors {
		a := actor{ids: ledgertest.NewIDs(uint64(i))}
		a.db, err = sqlledger.OpenPostgres(w.ctx, w.runner.URL(i), ledger.Options{
			Clock: w.clock, Random: a.ids, MaxRefs: maxRefs,
			ReadGrace: readGrace, LateWindow: lateWindow, OpsKept: opsKept,
		}, sqlledger.Postgres(sqlledger.PostgresOptions{Pooler: sqlledger.PoolerNone, Requests: 2, Routines: 2, IdleTime: stepwise.Stuck, LockTime: stepwise.Stuck}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { a.db.Close() })
		w.actors[i] = a
	}
	w.f = w.build()
	w.claims.fixture = w.f.placed
	w.keep()
	return w
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
	if d, ok := v.(ledger.Deletions); ok {
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
