package sqladopt_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/blob"
)

// faulty fails calls of a store.
type faulty struct {
	adopt.FolderStore
	list   int    // keys after which a listing breaks off; 0 disables it
	sticks string // a key whose delete fails
	before func() // each delete
}

var errBroken = errors.New("it broke off")

func (f faulty) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	n := 0
	return f.FolderStore.List(ctx, prefix, after, func(i blob.Info) error {
		if n++; f.list > 0 && n > f.list {
			return errBroken
		}
		return fn(i)
	})
}

func (f faulty) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if f.before != nil {
		f.before()
	}
	rest := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == f.sticks })
	some, err := f.FolderStore.Delete(ctx, rest)
	if err != nil || len(rest) == len(keys) {
		return some, err
	}
	var out []blob.Result
	for _, key := range keys {
		if key == f.sticks {
			out = append(out, blob.Result{Key: key, Err: fmt.Errorf("%w: it is locked", blob.ErrNotDone)})
			continue
		}
		out, some = append(out, some[0]), some[1:]
	}
	return out, nil
}

// The marker stays as long as an object does: it is deleted last.
func TestMarkerGoesLast(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t", "a", "b", "zzz")
	s.wait(retention)
	whole := s.Store
	s.Store = faulty{FolderStore: whole, sticks: "gone/topics/t/a"}
	s.ran(map[string]int64{"objects": 3, "failed": 1})
	s.said("it is locked")
	s.is("gone/topics/t 4")
	if !s.has("gone/topics/t/TO_DELETE") || !s.has("gone/topics/t/a") {
		t.Errorf("left are %v", s.keys())
	}
	s.Store = whole
	s.ran(map[string]int64{"folders": 1, "objects": 1})
	s.is()
}

// Objects missing in an incomplete listing are not taken for gone.
func TestListingThatBreaksOffProvesNothing(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.put("z/topics/t/data", 30*24*time.Hour)
	s.Store = faulty{FolderStore: s.Store, list: 2}
	if _, err := s.run(); !errors.Is(err, errBroken) {
		t.Fatalf("a run: %v", err)
	}
	s.is("gone/topics/t 3")
}

// A worker that paused between its check of the rows and the delete sends
// nothing: the folder may be live again.
func TestStalledWorkerDeletesNothing(t *testing.T) {
	s := newShelf(t)
	s.marked("gone/topics/t")
	s.wait(retention)
	pass := s.Pass("w")
	if _, err := s.steps(pass, 1); err != nil {
		t.Fatal(err)
	}
	s.Store = faulty{FolderStore: s.Store, before: func() { s.boot.Advance(time.Minute) }}
	if counts, _ := s.steps(pass, 1); counts["objects"] != 0 || !s.has("gone/topics/t/data") {
		t.Errorf("it counted %v, left are %v", counts, s.keys())
	}
}

// Implausible rows end a run before it changes anything.
func TestGuardsStopARun(t *testing.T) {
	for _, c := range []struct {
		name, sql, query, want string
	}{
		{"nothing lives", `DELETE FROM topics`, "", "returns nothing"},
		{"far fewer live", `DELETE FROM topics WHERE sequence LIKE 'x%'`, "", "2, and 5 at the last run"},
		{"the query fails", `ALTER TABLE topics RENAME TO gone`, "", `"topics" does not exist`},
		{"a name is NULL", `INSERT INTO topics VALUES ('c', NULL)`, "", "NULL"},
		{"names are too short", "", `SELECT name FROM topics`, "3 segments"},
		{"names are others", "", `SELECT upper(sequence) || '/topics/' || name FROM topics`, "none has a row"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf(t)
			for _, name := range []string{"x1", "x2", "x3"} {
				s.row(name, "t")
			}
			s.marked("gone/topics/t")
			s.wait(retention)
			if c.sql != "" {
				s.sql(c.sql)
			}
			if c.query != "" {
				s.describe(adopt.FolderSpec{Depth: 3, Live: adopt.LiveSpec{Query: c.query}})
			}
			before := s.keys()
			if _, err := s.run(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("a run: %v, want %q", err, c.want)
			}
			s.is("gone/topics/t 3")
			if keys := s.keys(); !slices.Equal(keys, before) {
				t.Errorf("left are %v, want %v", keys, before)
			}
		})
	}
}

// Rows that name few of the folders stop the first run, not a later one: a
// query that leaves out a table would look the same.
func TestFewFoldersWithARowStopTheFirstRun(t *testing.T) {
	s := newShelf(t)
	for i := range 10 {
		s.put(fmt.Sprintf("forgotten%d/topics/t/data", i), 30*24*time.Hour)
	}
	if _, err := s.run(); !errors.Is(err, adopt.ErrFewRows) || !strings.Contains(err.Error(), "names 2 of 12 folders") {
		t.Fatalf("a run: %v", err)
	}
	s.is()
	s.Rules.Least = 0.16
	s.ran(map[string]int64{"noticed": 10})
	s.Rules.Least = 0.5
	s.ran(map[string]int64{"marked": 10})
}

// A policy that hides rows from the user would make their folders look
// abandoned.
func TestHiddenRowsStopARun(t *testing.T) {
	s := newShelf(t)
	role := fmt.Sprintf("clerk_%d", os.Getpid())
	s.sql(`DROP ROLE IF EXISTS ` + role)
	s.sql(`CREATE ROLE ` + role + ` LOGIN`)
	t.Cleanup(func() { s.sql(`DROP OWNED BY ` + role + `; DROP ROLE ` + role) })
	s.sql(`GRANT SELECT ON topics TO ` + role + `; ALTER TABLE topics ENABLE ROW LEVEL SECURITY;
		CREATE POLICY own ON topics FOR SELECT USING (sequence = 'a')`)
	config := s.app.Config()
	db, err := sqladopt.Open(t.Context(), fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", role, config.Host, config.Port, config.Database), sqladopt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Folders(t.Context(), "topics", adopt.Collection{Folders: &adopt.FolderSpec{Depth: 1, Live: adopt.LiveSpec{Query: "SELECT sequence FROM topics"}}})
	if err == nil || !strings.Contains(err.Error(), "row-level security") {
		t.Errorf("a user that sees some rows only: %v", err)
	}
}

// Rows that disappear during a run end it as well.
func TestRowsThatVanishDuringARun(t *testing.T) {
	for _, c := range []struct {
		name   string
		marked bool
	}{{"before a marker", false}, {"before a page", true}} {
		t.Run(c.name, func(t *testing.T) {
			s := newShelf(t)
			if c.marked {
				s.marked("gone/topics/t")
				s.wait(retention)
			} else {
				s.put("gone/topics/t/data", 30*24*time.Hour)
				s.ran(map[string]int64{"noticed": 1})
			}
			pass := s.Pass("w")
			if _, err := s.steps(pass, 1); err != nil {
				t.Fatal(err)
			}
			s.sql(`TRUNCATE topics`)
			before := s.keys()
			if _, err := s.steps(pass, -1); !errors.Is(err, adopt.ErrFewRows) {
				t.Errorf("it ended with %v, want %v", err, adopt.ErrFewRows)
			}
			if keys := s.keys(); !slices.Equal(keys, before) {
				t.Errorf("left are %v, want %v", keys, before)
			}
		})
	}
}

// A folder with an ambiguous key is reported, and stays.
func TestOddKeyKeepsItsFolder(t *testing.T) {
	s := newShelf(t)
	s.put("odd/topics/t/data", 30*24*time.Hour)
	s.lay("sequences/odd/topics/t/a\nb", 30*24*time.Hour)
	s.ran(map[string]int64{"kept": 1})
	s.said(`odd/topics/t stays: it holds the key "odd/topics/t/a\nb"`)
	s.is()
}
