package engine

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

func mustMigrations(t *testing.T, dialect string) []migration {
	t.Helper()
	steps, err := migrations(os.DirFS("../.."), dialect)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// made are the tables, columns, indexes and views that a step makes.
var made = regexp.MustCompile(`(?m)^(?:CREATE (?:UNIQUE )?(?:TABLE|INDEX|VIEW) (\w+)|  (\w+) +(?:TEXT|BIGINT|INTEGER|BLOB|BYTEA)\b|ALTER TABLE (\w+ ADD COLUMN \w+))`)

// byDigest is what contents are found by: a table in SQLite, an index in PostgreSQL.
var byDigest = regexp.MustCompile(`(?s)CREATE TABLE digests \(.*?;|CREATE UNIQUE INDEX contents_open .*?;`)

// TestSameMigrations: each step exists for both databases, and makes the same in the
// same order, but for what contents are found by.
func TestSameMigrations(t *testing.T) {
	lite, server := mustMigrations(t, "sqlite"), mustMigrations(t, sqldb.PostgresName)
	for i := range max(len(lite), len(server)) {
		if i >= len(lite) || i >= len(server) || lite[i].name != server[i].name {
			t.Fatalf("migration %d is not there for both, under one name", i+1)
		}
		a, b := madeBy(lite[i].text), madeBy(server[i].text)
		for n := range min(len(a), len(b)) {
			if !slices.Equal(a[n][1:], b[n][1:]) {
				t.Fatalf("%s: number %d is %q for SQLite, %q for PostgreSQL", lite[i].name, n, a[n][0], b[n][0])
			}
		}
		if len(a) == 0 || len(a) != len(b) {
			t.Errorf("%s makes %d things in SQLite, %d in PostgreSQL", lite[i].name, len(a), len(b))
		}
	}
}

func madeBy(step string) [][]string {
	return made.FindAllStringSubmatch(byDigest.ReplaceAllString(step, ""), -1)
}

// adds is a statement that a program which does not know of it may leave out.
var adds = regexp.MustCompile(`(?s)^(CREATE (TABLE|VIEW|(UNIQUE )?INDEX) |ALTER TABLE \w+ ADD COLUMN .* NOT NULL DEFAULT |ALTER TABLE \w+ SET \()`)

var (
	sqlComment = regexp.MustCompile(`--[^\n]*`)
	setsOne    = regexp.MustCompile(`(?s)^UPDATE (\w+) SET (\w+) = [^,]*$`)
)

// changes are the statements of a step that do more than add something.
func changes(step string) (out []string) {
	for text := range strings.SplitSeq(sqlComment.ReplaceAllString(step, ""), ";") {
		text = strings.TrimSpace(text)
		m := setsOne.FindStringSubmatch(text)
		fills := m != nil && strings.Contains(step, fmt.Sprintf("ALTER TABLE %s ADD COLUMN %s ", m[1], m[2]))
		if text != "" && !adds.MatchString(text) && !fills {
			out = append(out, text)
		}
	}
	return out
}

// TestMigrationsOnlyAdd: if a later step does more than add, older instances beside it fail,
// so it must name the version that they need.
func TestMigrationsOnlyAdd(t *testing.T) {
	for text, want := range map[string]int{
		"-- A table; more.\nCREATE TABLE a (x BIGINT);\nCREATE INDEX i ON a (x);":                 0,
		"ALTER TABLE runs ADD COLUMN x BIGINT NOT NULL DEFAULT 0;\nUPDATE runs SET x = 1;":        0,
		"ALTER TABLE runs ADD COLUMN x BIGINT;\nUPDATE runs SET worker = '';\nDROP TABLE limits;": 3,
	} {
		if got := changes(text); len(got) != want {
			t.Errorf("%q changes %q, want %d", text, got, want)
		}
	}
	for _, dialect := range []string{"sqlite", sqldb.PostgresName} {
		for _, m := range mustMigrations(t, dialect)[1:] {
			if bad := changes(m.text); len(bad) > 0 && !needs.MatchString(m.text) {
				t.Errorf("%s, %s: older instances may not understand %q", dialect, m.name, bad)
			}
		}
	}
}

// TestMigrationsGoOn: a step that fails leaves no trace, and later runs continue from there.
// An older program refuses the result if a step requires that.
func TestMigrationsGoOn(t *testing.T) {
	path := filePath(t)
	e, err := open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	// Each step of SQLite's is a transaction of its own.
	goOn(t, e, 1, func(steps []migration) error {
		s, err := e.File.session(t.Context(), nil)
		if err != nil {
			return err
		}
		defer s.Close()
		return e.File.migrateBy(t.Context(), s, steps)
	})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e, err = open(path, Options{})
	refusesNewer(t, e, err)
}

func TestMigrationsGoOnOnPostgres(t *testing.T) {
	url := servers.Postgres(t)
	e := openServer(t, url)
	goOn(t, e, 0, func(steps []migration) error { return e.Server.migrateBy(t.Context(), steps) })
	e, err := OpenServer(t.Context(), url, withSchema(Options{}), PostgresOptions{})
	refusesNewer(t, e, err)
}

// goOn takes two more steps, of which the second fails at first and keeps so many of them.
func goOn(t *testing.T, e *Engine, kept int, migrate func([]migration) error) {
	t.Helper()
	steps := mustMigrations(t, e.Dialect.Name)
	now := len(steps)
	needs := fmt.Sprintf("-- needs: %d\n", now+2)
	steps = append(steps, migration{now + 1, "songs.sql", "CREATE TABLE songs (x BIGINT)"},
		migration{now + 2, "plays.sql", needs + "CREATE TABLE plays (x BIGINT); CREATE TABLE songs (x BIGINT)"})
	if err := migrate(steps); err == nil || !strings.Contains(err.Error(), "plays.sql") {
		t.Errorf("a step that fails: %v", err)
	}
	schemaIs(t, e, now+kept)
	if _, err := countIn(t, e, "plays"); err == nil {
		t.Error("half a step was kept")
	}
	steps[now+1].text = needs + "CREATE TABLE plays (x BIGINT)"
	for range 2 {
		if err := migrate(steps); err != nil {
			t.Errorf("the mended step: %v", err)
		}
		schemaIs(t, e, now+2)
	}
	for _, table := range []string{"songs", "plays"} {
		if _, err := countIn(t, e, table); err != nil {
			t.Error(err)
		}
	}
}

func schemaIs(t *testing.T, e *Engine, want int) {
	t.Helper()
	if n, err := countIn(t, e, "migrations"); err != nil || n != want {
		t.Errorf("%d steps are recorded, want %d: %v", n, want, err)
	}
}

func countIn(t *testing.T, e *Engine, table string) (n int, err error) {
	err = e.View(t.Context(), Request, func(t *Tx) error { return t.Row("SELECT count(*) FROM " + table).Scan(&n) })
	return n, err
}

func refusesNewer(t *testing.T, e *Engine, err error) {
	t.Helper()
	if err == nil {
		e.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "use a newer lethe") {
		t.Errorf("a newer ledger was opened: %v", err)
	}
}
