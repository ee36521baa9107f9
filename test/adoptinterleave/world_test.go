package adoptinterleave_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
	"github.com/lethe-storage/lethe/test/mutation"
)

// actor is who runs an action: an instance of Lethe, and one of the application.
type actor struct {
	collections map[string]*sqladopt.Collection // by site
	folders     *sqladopt.Folders
	keys        *sqladopt.Keys
	app         *pgx.Conn
}

// world is an application's database with two actors, each with connections of its own,
// and the rows that they meet on.
type world struct {
	testing.TB
	ctx    context.Context
	runner *stepwise.Runner
	direct *pgx.Conn // past the gates
	actors [2]actor
	kept   *stepwise.Rows
	known  map[string][]outcome
	fences fences
}

// words of the connections: the clock of the world stands before the server's.
const words = "&search_path=clock,public,pg_catalog&clock.slot=%d"

// newWorld makes a world in an empty database.
func newWorld(t testing.TB, database string) *world {
	t.Helper()
	w := &world{TB: t, ctx: context.Background(), known: map[string][]outcome{}}
	var err error
	if w.direct, err = pgx.Connect(w.ctx, database+fmt.Sprintf(words, 9)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.direct.Close(w.ctx) })
	w.execute(fixture())
	w.runner = stepwise.New(t, w.direct, database, len(w.actors))
	for i := range w.actors {
		w.actors[i] = w.actor(w.runner.URL(i) + fmt.Sprintf(words, i))
	}
	w.execute(rows())
	for _, s := range sites {
		if err := w.actors[0].collections[s.name].InstallGuard(w.ctx); err != nil {
			t.Fatal(err)
		}
	}
	w.guards()
	if w.kept, err = stepwise.Keep(w.ctx, w.direct, compared()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) actor(url string) (a actor) {
	w.Helper()
	ok := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	db, err := sqladopt.Open(w.ctx, url, sqladopt.Options{Connections: 1, StatementTime: stepwise.Stuck, LockTime: stepwise.Stuck})
	ok(err)
	w.Cleanup(func() { _ = db.Close() })
	ok(db.Install(w.ctx))
	a.collections = map[string]*sqladopt.Collection{}
	for _, s := range sites {
		a.collections[s.name], err = db.Collection(w.ctx, s.name, s.description())
		ok(err)
	}
	a.folders, err = db.Folders(w.ctx, "topics", adopt.Collection{Folders: &adopt.FolderSpec{Live: adopt.LiveSpec{Table: "topics", Name: "{name}"}}})
	ok(err)
	a.keys, err = db.Keys(w.ctx, "uploads", adopt.Collection{Keys: &adopt.KeySpec{Query: "SELECT key FROM uploads"}})
	ok(err)
	config, err := pgx.ParseConfig(url)
	ok(err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // nothing is prepared apart
	a.app, err = pgx.ConnectConfig(w.ctx, config)
	ok(err)
	w.Cleanup(func() { a.app.Close(w.ctx) })
	return a
}

// guards gives the guards the clock of the world, and the mutant that is awake.
func (w *world) guards() {
	w.Helper()
	rows, err := w.direct.Query(w.ctx, `SELECT pg_get_functiondef(p.oid) FROM pg_proc p
		WHERE p.pronamespace = to_regnamespace('lethe') AND p.proname LIKE 'guard%'
		UNION ALL SELECT replace(pg_get_triggerdef(t.oid), 'CREATE TRIGGER', 'CREATE OR REPLACE TRIGGER') FROM pg_trigger t
		WHERE t.tgname ~ '^[Ll]ethe_' AND NOT t.tgisinternal AND t.tgconstraint = 0`)
	if err != nil {
		w.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	all := strings.Join(list, ";\n")
	for _, e := range append(stepwise.Awake(mutants()), mutation.Edit{Old: "clock_timestamp()", New: "clock.clock_timestamp()"}) {
		before := all
		for _, e := range spelled(e) {
			all = strings.ReplaceAll(all, e.Old, e.New)
		}
		if all == before {
			w.Fatalf("no guard has %q", e.Old)
		}
	}
	w.execute(all)
}

// spelled is an edit for each site whose contents it names, as the server writes them: in the
// first schema of the path.
func spelled(e mutation.Edit) []mutation.Edit {
	if !strings.Contains(e.Old, "{contents}") {
		return []mutation.Edit{e}
	}
	var list []mutation.Edit
	for _, s := range sites {
		of := strings.NewReplacer("{contents}", "clock."+s.content())
		list = append(list, mutation.Edit{Old: of.Replace(e.Old), New: of.Replace(e.New)})
	}
	return list
}

func (w *world) execute(list string) {
	w.Helper()
	if _, err := w.direct.PgConn().Exec(w.ctx, list).ReadAll(); err != nil {
		w.Fatal(err)
	}
}

// turn sets the clock: what rests because it was busy is due in the next.
func (w *world) turn(n int) {
	w.Helper()
	w.execute(fmt.Sprintf("UPDATE clock.now SET at = %d", int64(base)+int64(n)*(11*time.Second).Microseconds()))
}

// fences says which actor drew which fence.
type fences struct {
	mu sync.Mutex
	by map[int64]int
}

func (f *fences) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by = map[int64]int{}
}

func (f *fences) note(fence int64, actor int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.by[fence] = actor
}

var fence = regexp.MustCompile(`"fence": (\d{3,})`)

// named puts whose fence it is in the place of each that is not the fixture's.
func (f *fences) named(text string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fence.ReplaceAllStringFunc(text, func(field string) string {
		var n int64
		_, _ = fmt.Sscan(fence.FindStringSubmatch(field)[1], &n) // digits
		if a, ok := f.by[n]; ok {
			return fmt.Sprintf(`"fence": "actor %d"`, a)
		}
		return `"fence": "nobody"`
	})
}

// act is an action under way.
type act struct {
	actor
	ctx    context.Context
	fenced func(fence int64) // notes whose a fence is
}

// attempts is how often the application repeats a transaction that was refused.
const attempts = 3

// transact runs a transaction of the application, and repeats it as it is told to.
func (a *act) transact(isolation pgx.TxIsoLevel, fn func(tx pgx.Tx) error) error {
	for n := 1; ; n++ {
		err := pgx.BeginTxFunc(a.ctx, a.app, pgx.TxOptions{IsoLevel: isolation}, fn)
		refused := new(pgconn.PgError)
		if n == attempts || !errors.As(err, &refused) || !slices.Contains([]string{"40001", "40P01", "23505"}, refused.Code) {
			return err
		}
	}
}

// told is an error as an answer.
func told(err error) string {
	if refused := new(pgconn.PgError); errors.As(err, &refused) {
		return "error " + refused.Code
	}
	for _, kind := range []error{adopt.ErrUnguarded, lethe.ErrUnavailable, pgx.ErrNoRows} {
		if errors.Is(err, kind) {
			return "error: " + kind.Error()
		}
	}
	return "error: " + err.Error()
}
