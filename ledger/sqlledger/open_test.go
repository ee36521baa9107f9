package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

func TestOpenAgain(t *testing.T) {
	ctx, path := context.Background(), filePath(t)
	db, err := Open(ctx, path, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	id, err := db.Identity(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(ctx, path, ledger.Options{}); !errors.Is(err, lethe.ErrUnavailable) || !strings.Contains(err.Error(), "another lethe") {
		t.Error("opened twice:", err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openTest(t, path, ledger.Options{}).Identity(ctx)
	if err != nil || again != id {
		t.Error(again, id, err)
	}
	for _, f := range []string{path, path + ".lock", path + "-wal"} {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(f, err)
		}
	}
}

// TestAnOpenLedgerIsLocked: no other program reads the file or its log while it is open.
func TestAnOpenLedgerIsLocked(t *testing.T) {
	const other = "LETHE_TEST_OPEN_LEDGER"
	if path := os.Getenv(other); path != "" {
		pool, err := sql.Open("sqlite", path)
		if err == nil {
			_, err = pool.Exec("SELECT count(*) FROM sqlite_schema")
		}
		if err == nil || !strings.Contains(err.Error(), "SQLITE_BUSY") {
			t.Error("another program opened the ledger:", err)
		}
		return
	}
	path := filepath.Join(t.TempDir(), "ledger.db")
	setUp(t, openTest(t, path, ledger.Options{}))
	again := exec.Command(os.Args[0], "-test.run=^TestAnOpenLedgerIsLocked$")
	again.Env = append(os.Environ(), other+"="+path)
	if out, err := again.CombinedOutput(); err != nil {
		t.Error(string(out), err)
	}
	if _, err := os.Stat(path + "-shm"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the index of the log is a file:", err)
	}
}

func TestMemoryLedgersAreApart(t *testing.T) {
	ctx := context.Background()
	one, two := openTest(t, Memory, ledger.Options{}), openTest(t, Memory, ledger.Options{})
	setUp(t, one)
	if _, err := two.Bucket(ctx, "b"); !errors.Is(err, lethe.ErrNoSuchBucket) {
		t.Error(err)
	}
}

// beforeRelease makes a ledger one of the time before the first release.
const beforeRelease = `UPDATE migrations SET name = '0001_schema.sql' WHERE version = 1`

// TestEarlierVersion: a ledger of the first version of the schema is brought to this one.
func TestEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	db := openTest(t, path, ledger.Options{})
	setUp(t, db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec("ALTER TABLE backends DROP COLUMN accepted_at; DELETE FROM migrations WHERE version > 1"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if list, err := openTest(t, path, ledger.Options{}).Backends(t.Context()); err != nil || len(list) == 0 {
		t.Errorf("backends: %v, %v", list, err)
	}
}

// TestRefusedFiles: a file that is not a sound ledger is refused, and left unchanged.
func TestRefusedFiles(t *testing.T) {
	ctx := context.Background()
	change := func(statement string) func(string) error {
		return func(path string) error {
			pool, err := sql.Open("sqlite", path)
			if err == nil {
				_, err = pool.Exec(statement)
			}
			return errors.Join(err, pool.Close())
		}
	}
	copied := func(then func(string) error) func(string) error {
		return func(path string) error {
			db, err := Open(ctx, path, ledger.Options{})
			if err != nil {
				return err
			}
			return errors.Join(db.Close(), then(path))
		}
	}
	for name, c := range map[string]struct {
		make func(path string) error
		want string
		is   error
	}{
		"text":    {func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("no database\n", 100)), 0o600) }, "not a database", lethe.ErrCorrupt},
		"foreign": {change("CREATE TABLE songs (title TEXT)"), "not a ledger", nil},
		"newer":   {copied(change("INSERT INTO migrations VALUES (999, 'future', 0)")), "newer lethe", nil},
		"early":   {copied(change(beforeRelease)), "start a new ledger", nil},
		"damaged": {copied(scribble), "damaged", lethe.ErrCorrupt},
		"no id":   {copied(change("UPDATE store SET id = 'x'")), "store's id", lethe.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.db")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			db, err := Open(ctx, path, ledger.Options{})
			if err == nil {
				db.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Error(err)
			}
			if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
				t.Error("it was changed", err)
			}
		})
	}
}

// scribble damages every page but the first.
func scribble(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for i := 4096; i < len(b); i++ {
		b[i] = 0xAA
	}
	return os.WriteFile(path, b, 0o600)
}

func TestMissingFolder(t *testing.T) {
	if _, err := Open(context.Background(), filepath.Join(t.TempDir(), "no", "x.db"), ledger.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestClockNeverRunsBack(t *testing.T) {
	ctx, path, wall := context.Background(), filePath(t), newTestClock()
	db, err := Open(ctx, path, ledger.Options{Clock: wall})
	if err != nil {
		t.Fatal(err)
	}
	wall.Advance(time.Hour)
	high := nowOf(t, db)
	wall.Advance(-30 * time.Second)
	if now := nowOf(t, db); now != high || db.ClockBehind() != 0 {
		t.Error(now, high, db.ClockBehind())
	}
	wall.Advance(-30 * time.Minute)
	if d := db.ClockBehind(); d != 30*time.Minute+30*time.Second {
		t.Error(d)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = openTest(t, path, ledger.Options{Clock: wall})
	if now := nowOf(t, db); now != high || db.ClockBehind() == 0 {
		t.Error(now, high, db.ClockBehind())
	}
	wall.Advance(2 * time.Hour)
	if now := nowOf(t, db); now != wall.Now() || db.ClockBehind() != 0 {
		t.Error(now, wall.Now(), db.ClockBehind())
	}
}

// TestClockSurvivesACrash: the file itself carries the highest time, as far as a
// step ago.
func TestClockSurvivesACrash(t *testing.T) {
	ctx, path, wall := context.Background(), filePath(t), newTestClock()
	db := openTest(t, path, ledger.Options{Clock: wall})
	wall.Advance(time.Hour)
	if err := db.write(ctx, "write", func(*tx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	var saved lethe.Time
	if err := db.read(ctx, "clock", func(t *tx) error {
		return t.Row("SELECT clock_high FROM store").Scan(&saved)
	}); err != nil || saved != wall.Now() {
		t.Error(saved, wall.Now(), err)
	}
}

func nowOf(t *testing.T, db *DB) (now lethe.Time) {
	t.Helper()
	if err := db.write(context.Background(), "now", func(t *tx) error {
		now = t.Now
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return now
}

func TestReadsAreSnapshotsAndCannotWrite(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, filePath(t), ledger.Options{})
	setUp(t, db)
	err := db.read(ctx, "look twice", func(x *tx) error {
		first, err := x.countedBucket("b")
		if err != nil {
			return err
		}
		mustPut(t, db, "k", "d")
		second, err := x.countedBucket("b")
		if err != nil || !reflect.DeepEqual(first, second) {
			t.Error(first, second, err)
		}
		_, err = x.Exec(ownBucket, "b", "eve")
		return err
	})
	if !errors.Is(err, lethe.ErrUnavailable) || !strings.Contains(err.Error(), "readonly") {
		t.Error(err)
	}
}

func TestVacuumShrinksTheFile(t *testing.T) {
	ctx := context.Background()
	db := openTest(t, filePath(t), ledger.Options{})
	fill := func(t *tx) error {
		err := t.record("big", strings.Repeat("x", 4<<20), "")
		return err
	}
	empty := func(t *tx) error {
		_, err := t.Exec("DELETE FROM ops")
		return err
	}
	for _, fn := range []func(*tx) error{fill, empty} {
		if err := db.write(ctx, "fill and empty", fn); err != nil {
			t.Fatal(err)
		}
	}
	if freed, err := db.Vacuum(ctx, 1); err != nil || freed != engine.VacuumSmall {
		t.Error(freed, err)
	}
	// A page of SQLite's own that goes along makes a step one short, and another follows.
	freed, err := db.Vacuum(ctx, engine.VacuumStep)
	if err != nil || freed < engine.VacuumStep || freed >= 2*engine.VacuumStep {
		t.Error(freed, err)
	}
	if more, err := db.Vacuum(ctx, 1<<20); err != nil || freed+more < engine.VacuumStep+450 {
		t.Error(freed, more, err)
	}
	if freed, err := db.Vacuum(ctx, 1<<20); err != nil || freed != 0 {
		t.Error("what was left:", freed, err)
	}
}

// TestManyWriters: every write is there once, whatever shares its commit.
func TestManyWriters(t *testing.T) {
	ledgers(t, func(t *testing.T, db *DB) {
		setUp(t, db)
		var wg sync.WaitGroup
		for w := range 8 {
			wg.Go(func() {
				for i := range 25 {
					if _, err := put(db, fmt.Sprintf("k%d", (w+i)%10), fmt.Sprintf("d%d", i%7)); err != nil {
						t.Error(err)
					}
					if _, err := db.Resolve(context.Background(), "b", fmt.Sprintf("k%d", (w+i)%10)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		b, err := db.Bucket(context.Background(), "b")
		if err != nil || b.Objects != 10 || b.Bytes != 1000 {
			t.Error(b, err)
		}
		sound(t, db)
	})
}
