package adoption

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/clocktest"
)

const clockDescription = `
database: sqlite:FOLDER/app.db
buckets: {main: {path: FOLDER}}
collections:
  pastes:
    mode: reclaim
    rows: {table: pastes, key: id, end: ended, zone: UTC, objects: ["{object}"]}
    bucket: main
    prefix: media/
    guard: trigger
`

// clockSite is an adoption of rows that have ended.
type clockSite struct {
	t  *testing.T
	db *sql.DB
	*Adoption
}

func newClockSite(t *testing.T, o Options) clockSite {
	t.Helper()
	folder := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(folder, "media"), 0o700), os.WriteFile(filepath.Join(folder, "media", "kept"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(folder, "app.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := clockSite{t: t, db: db}
	s.do("CREATE TABLE pastes (id INTEGER PRIMARY KEY, object TEXT, ended TEXT); INSERT INTO pastes VALUES (0, 'media/kept', NULL)")
	d, err := adopt.Parse([]byte(strings.ReplaceAll(clockDescription, "FOLDER", folder)), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if s.Adoption, err = Open(t.Context(), d, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := errors.Join(s.DB.Install(t.Context()), s.Collection("pastes").InstallGuard(t.Context()), s.Prepare(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s clockSite) do(statement string) {
	s.t.Helper()
	if _, err := s.db.ExecContext(context.Background(), statement); err != nil {
		s.t.Fatal(err)
	}
}

// expire adds a row that has ended, runs the routine, and returns how many such rows are left.
func (s clockSite) expire() (left int, err error) {
	s.t.Helper()
	s.do("INSERT INTO pastes (object, ended) VALUES ('media/gone', '2020-01-01 00:00:00')")
	_, err = s.Loop.Once(s.t.Context(), []string{"expire pastes"})
	if err := s.db.QueryRowContext(s.t.Context(), "SELECT count(*) FROM pastes WHERE ended IS NOT NULL").Scan(&left); err != nil {
		s.t.Fatal(err)
	}
	return left, err
}

// While the database's clock is ahead of the time that has passed nothing goes by it.
func TestNothingGoesByAClockThatWasSetForward(t *testing.T) {
	boot := clocktest.New()
	s := newClockSite(t, Options{Boot: boot})
	if left, err := s.expire(); left != 0 || err != nil {
		t.Fatalf("%d rows are left: %v", left, err)
	}
	boot.Advance(-time.Hour) // as if the database's had been set forward
	for n := range 2 {
		if left, err := s.expire(); left != n+1 || !errors.Is(err, lethe.ErrClock) {
			t.Errorf("%d rows are left, want %d: %v", left, n+1, err)
		}
	}
	again, err := Open(t.Context(), s.Description, s.o)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.o.Watch.look(t.Context(), again); !errors.Is(err, lethe.ErrClock) {
		t.Errorf("a description that is opened again: %v", err)
	}
	boot.Advance(time.Hour)
	if left, err := s.expire(); left != 0 || err != nil {
		t.Errorf("once it is right again %d rows are left: %v", left, err)
	}
	for _, set := range []time.Duration{time.Hour, -time.Hour} { // back, and right again
		boot.Advance(set)
		if left, err := s.expire(); left != 0 || err != nil {
			t.Errorf("after it was set back %d rows are left: %v", left, err)
		}
	}
}

// A database that is far ahead of this machine is a problem from the start.
func TestADatabaseThatIsAheadIsAProblem(t *testing.T) {
	for by, want := range map[time.Duration]bool{-time.Hour: true, -5 * time.Minute: false, time.Hour: false} {
		clock := &clocktest.Ahead{}
		clock.Advance(by)
		s := newClockSite(t, Options{Clock: clock})
		found, err := s.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got := adopt.Problems(found["pastes"]); got != want || got != s.suspended.has("pastes") {
			t.Errorf("this machine is ahead by %s: a problem: %t: %v", by, got, found["pastes"])
		}
	}
}

// steps is a routine that counts its steps, and those that may only copy back.
type steps struct {
	reclaim.Routine
	of            *adopt.Quarantine
	all, restores int
}

func (c *steps) Pass(string) reclaim.Step {
	return func(context.Context, reclaim.Add) (bool, error) {
		c.all++
		if c.of.RestoresOnly.Load() {
			c.restores++
		}
		return false, nil
	}
}

// What rows name is copied back from quarantine by any clock.
func TestQuarantineCopiesBackWhileTheClockIsInDoubt(t *testing.T) {
	boot := clocktest.New()
	s := newClockSite(t, Options{Boot: boot})
	q := &adopt.Quarantine{}
	c := &steps{of: q}
	step := byClock{Routine: c, a: s.Adoption, quarantine: q}.Pass("")
	for _, set := range []time.Duration{0, -time.Hour, time.Hour} {
		boot.Advance(set)
		if _, err := step(t.Context(), nil); err != nil {
			t.Error(err)
		}
	}
	if c.all != 3 || c.restores != 1 || q.RestoresOnly.Load() {
		t.Errorf("%d steps, %d of them only copied back", c.all, c.restores)
	}
}
