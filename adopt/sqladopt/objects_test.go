package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/test/servers"
)

// storedTables are of contents whose keys say nothing of their objects.
var storedTables = []string{
	"CREATE TABLE stored (id bigint NOT NULL PRIMARY KEY, path varchar(100) NOT NULL UNIQUE, refs bigint NOT NULL)",
	"CREATE TABLE links (id varchar(50) NOT NULL PRIMARY KEY, stored bigint, ends bigint)",
}

func storedDescription() adopt.Collection {
	return adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard, Prefix: "files/",
		Rows:     adopt.Rows{Table: "links", Key: "id", End: "ends", Unit: "s", Content: "stored"},
		Contents: &adopt.Table{Table: "stored", Key: "id", Count: "refs", Object: "files/{path}"},
	}
}

// storing is an application with such contents, and its collection.
type storing struct {
	*testing.T
	ownerSite
}

// store inserts a content with a row that refers to it, which has ended or does not end.
func (s storing) store(id int, path string, ended bool) error {
	end := "NULL"
	if ended {
		end = "1600000000"
	}
	if err := s.exec(s.Context(), fmt.Sprintf("INSERT INTO stored VALUES (%d, '%s', 1)", id, path)); err != nil {
		return err
	}
	return s.exec(s.Context(), fmt.Sprintf("INSERT INTO links VALUES ('of %d', %d, %s)", id, id, end))
}

func (s storing) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// marks marks what is due, which has to be these objects.
func (s storing) marks(want ...string) adopt.Marked {
	s.Helper()
	m, err := s.Mark(s.Context(), adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
	s.must(err)
	var have []string
	for _, c := range m.Contents {
		have = append(have, c.Object)
	}
	if !slices.Equal(have, want) {
		s.Errorf("marked %q, want %q", have, want)
	}
	return m
}

// leaves lets the only row of a new content go, and its grace.
func (s storing) leaves(id int, path string) {
	s.Helper()
	s.must(s.store(id, path, true))
	_, err := s.Take(s.Context(), 9, 0)
	s.must(err)
	s.Pass(adopt.DefaultGrace.Unreferenced)
}

func (s storing) confirm(m adopt.Marked, failed string, g adopt.Grace) {
	s.Helper()
	_, err := s.Confirm(s.Context(), m.Fence, []adopt.Outcome{{Content: m.Contents[0].Content, Failed: failed}}, g)
	s.must(err)
}

func (s storing) refused(what string, err error) {
	s.Helper()
	if !errors.Is(err, adopttest.ErrRefused) {
		s.Errorf("%s: %v, want ErrRefused", what, err)
	}
}

// storedElsewhere has a content removed, and its object stored as another's.
func storedElsewhere(s storing) {
	s.leaves(5, "a")
	s.confirm(s.marks("files/a"), "denied", adopt.DefaultGrace)
	s.must(s.exec(s.Context(), "DELETE FROM stored WHERE id = 5"))
	s.must(s.store(6, "a", false))
	s.Pass(2 * time.Hour)
	s.marks()
}

// storedLate has an object become another content's while it is deleted, and after that.
func storedLate(s storing) {
	s.must(s.store(7, "c", false))
	s.leaves(5, "a")
	rename := func() error { return s.exec(s.Context(), "UPDATE stored SET path = 'a' WHERE id = 7") }
	m := s.marks("files/a")
	s.must(s.exec(s.Context(), "DELETE FROM links WHERE id = 'of 7'")) // not a matter of objects
	s.refused("a count of what is condemned", s.exec(s.Context(), "UPDATE stored SET refs = 1 WHERE id = 5"))
	s.confirm(m, "", adopt.DefaultGrace)
	s.refused("another content of the object", s.store(6, "a", false))
	s.refused("a content that is renamed", rename())
	s.must(s.exec(s.Context(), "UPDATE stored SET refs = 2 WHERE id = 7"))
	s.must(s.store(8, "b", false))
}

// storedAgain has a content get another object while it waits, and its former one be another's.
func storedAgain(s storing) {
	s.leaves(5, "a")
	s.must(s.exec(s.Context(), "UPDATE stored SET path = 'b' WHERE id = 5"))
	s.must(s.store(6, "a", false))
	s.marks()
	n, _, err := s.Find(s.Context(), "", 9, 0)
	s.must(err)
	if n != 1 {
		s.Errorf("found %d", n)
	}
	s.marks("files/b")
	s.refused("a content that is renamed to what is condemned", errors.Join(
		s.exec(s.Context(), "DELETE FROM stored WHERE id = 5"), s.exec(s.Context(), "UPDATE stored SET path = 'b' WHERE id = 6")))
}

// storedAnew has a content removed while the delete of its object is to be tried again, and its
// key come again with another object, which nobody refers to then.
func storedAnew(s storing) {
	s.leaves(5, "a")
	s.confirm(s.marks("files/a"), "denied", adopt.DefaultGrace)
	s.must(s.exec(s.Context(), "DELETE FROM stored WHERE id = 5"))
	s.leaves(5, "b")
	s.Pass(2 * time.Hour)
	s.ends(s.marks("files/a"))
	s.Pass(adopt.DefaultGrace.LongestWrite)
	s.finds(1)
	s.marks("files/b")
}

// storedOver has a condemned content get another object, while whoever deletes its former one
// is silent.
func storedOver(s storing) {
	s.leaves(5, "a")
	s.marks("files/a")
	s.must(s.exec(s.Context(), "UPDATE stored SET path = 'b' WHERE id = 5"))
	s.Pass(adopt.DefaultGrace.Late)
	s.marks("files/a")
}

// storedChanged has a condemned content get another object before the end of its former one is
// recorded. It stays, and is found once no delete of the former can take effect.
func storedChanged(s storing) {
	s.leaves(5, "a")
	m := s.marks("files/a")
	s.must(s.exec(s.Context(), "UPDATE stored SET path = 'b' WHERE id = 5"))
	s.endsFormer(m)
}

// storedNamed has a content get another object while the delete of its former one is to be
// tried again, and lose its last reference during that.
func storedNamed(s storing) {
	s.leaves(5, "a")
	s.confirm(s.marks("files/a"), "denied", adopt.DefaultGrace)
	s.must(s.exec(s.Context(), "UPDATE stored SET path = 'b', refs = 1 WHERE id = 5"))
	s.must(s.exec(s.Context(), "INSERT INTO links VALUES ('another', 5, 800000000)"))
	s.Pass(2 * time.Hour)
	m := s.marks("files/a")
	taken, err := s.Take(s.Context(), 9, 0)
	s.must(err)
	if taken.Gone != 1 || taken.Unreferenced != 1 {
		s.Errorf("taken %+v", taken)
	}
	s.endsFormer(m)
}

// endsFormer ends files/a, the former object of content 5. Its present one, files/b, goes in its
// turn, and the content with it.
func (s storing) endsFormer(m adopt.Marked) {
	s.Helper()
	s.ends(m)
	s.marks() // not while the former mark stands
	s.refused("a count of what is condemned", s.exec(s.Context(), "UPDATE stored SET refs = 1 WHERE id = 5"))
	s.Pass(adopt.DefaultGrace.LongestWrite)
	s.finds(1)
	s.ends(s.marks("files/b"))
	s.Pass(adopt.DefaultGrace.LongestWrite)
	s.finds(0)
	s.must(s.store(5, "b", false)) // it is gone
}

// ends confirms that the object of content 5 is gone.
func (s storing) ends(m adopt.Marked) {
	s.Helper()
	out, err := s.Confirm(s.Context(), m.Fence, []adopt.Outcome{{Content: "5"}}, adopt.DefaultGrace)
	s.must(err)
	if out.Gone != 1 || len(out.Broken) > 0 {
		s.Errorf("confirmed %+v", out)
	}
}

// finds ends marks, and finds so many contents, which are due at once.
func (s storing) finds(want int) {
	s.Helper()
	_, err := s.Unmark(s.Context(), 9)
	s.must(err)
	if n, _, err := s.Find(s.Context(), "", 9, 0); n != want || err != nil {
		s.Errorf("found %d, %v, want %d", n, err, want)
	}
}

// A content that ends with its last row is not marked over one of its key that is to be tried
// again, with another object.
func TestEndKeepsAFormerObject(t *testing.T) {
	s, ctx := newSite(t, servers.Postgres(t), kind{}), t.Context()
	if _, err := s.pool.Exec(ctx, "ALTER TABLE content ADD path text NOT NULL UNIQUE DEFAULT 'a'"); err != nil {
		t.Fatal(err)
	}
	d := s.kind.description()
	d.Contents.Object = "content/{path}"
	s.Collection = s.open(d)
	s.endsAndFails("x")
	if _, err := s.pool.Exec(ctx, "ALTER TABLE content ALTER path SET DEFAULT 'b'"); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, adopttest.Row{Key: "again", Content: "x", In: -time.Second}); err != nil {
		t.Fatal(err)
	}
	claim, err := s.Claim(ctx, 9)
	if err != nil {
		t.Fatal(err)
	}
	if out, m, err := s.End(ctx, claim, adopt.EndRequest{Late: adopt.DefaultGrace.Late}); err != nil || out.Gone != 1 || len(m.Contents) > 0 {
		t.Errorf("ended %+v, %+v, %v", out, m, err)
	}
	s.Pass(time.Hour)
	m, err := s.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: adopt.DefaultGrace.Late})
	if err != nil || len(m.Contents) != 1 || m.Contents[0].Object != "content/a" {
		t.Errorf("marked %+v, %v", m, err)
	}
}

// TestObjectsOfOtherContents: no object goes that another content has.
func TestObjectsOfOtherContents(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) ownerSite{
		"PostgreSQL": func(t *testing.T) ownerSite { s, _ := newPostgresStored(t); return s },
		"SQLite": func(t *testing.T) ownerSite {
			s := newLiteSite(t, liteKind{})
			return storedIn(t, ownerSite{s.Collection, func(ctx context.Context, text string) error {
				_, err := s.app.ExecContext(ctx, text)
				return liteRefusal(err)
			}, s.Pass}, func(d adopt.Collection) *Collection { s.Collection = s.opened(d); return s.Collection })
		},
		"MariaDB": func(t *testing.T) ownerSite {
			s := newMySQLSite(t, hastyMariaDB(t).Database(t), mysqlKind{})
			return storedIn(t, ownerSite{s.Collection, func(ctx context.Context, text string) error {
				_, err := s.pool.ExecContext(ctx, text)
				if refusedByMySQL(err) != nil {
					err = fmt.Errorf("%w: %w", adopttest.ErrRefused, err)
				}
				return err
			}, s.Pass}, func(d adopt.Collection) *Collection {
				s.begin, s.Collection = beginnings{}, s.open(d)
				return s.Collection
			})
		},
	} {
		for what, run := range map[string]func(storing){"stored elsewhere": storedElsewhere, "stored late": storedLate, "renamed": storedAgain, "stored anew": storedAnew, "stored over": storedOver, "changed": storedChanged, "named": storedNamed} {
			t.Run(name+" "+what, func(t *testing.T) { run(storing{t, open(t)}) })
		}
	}
}

func newPostgresStored(t *testing.T) (ownerSite, *site) {
	t.Helper()
	s := newSite(t, servers.Postgres(t), kind{})
	return storedIn(t, ownerSite{s.Collection, func(ctx context.Context, text string) error {
		_, err := s.pool.Exec(ctx, text)
		return refusal(err)
	}, s.Pass}, func(d adopt.Collection) *Collection { s.Collection = s.open(d); return s.Collection }), s
}

// storedIn makes the tables at a site.
func storedIn(t *testing.T, s ownerSite, open func(adopt.Collection) *Collection) ownerSite {
	t.Helper()
	err := s.RemoveGuard(t.Context())
	for _, text := range storedTables {
		err = errors.Join(err, s.exec(t.Context(), text))
	}
	if err == nil {
		s.Collection = open(storedDescription())
		err = s.InstallGuard(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A transaction with one snapshot that is older than the mark is refused as well.
func TestObjectsOfOtherContentsByTheSnapshot(t *testing.T) {
	for _, isolation := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		owner, app := newPostgresStored(t)
		s := storing{t, owner}
		app.kind.isolation = isolation
		s.leaves(5, "a")
		before := app.began()
		s.confirm(s.marks("files/a"), "", adopt.DefaultGrace)
		before.refused(string(isolation), func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "INSERT INTO stored VALUES (6, 'a', 1)")
			return err
		})
	}
}

// Only a guard that looks for marks by their objects has an index of them, which costs at each mark.
func TestIndexOfObjects(t *testing.T) {
	indexed := func(s *site) (yes bool) {
		if err := s.pool.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", s.schema+".condemned_object").Scan(&yes); err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if indexed(newSite(t, servers.Postgres(t), kind{})) {
		t.Error("marks are indexed by objects, which are those of their contents' keys")
	}
	if _, app := newPostgresStored(t); !indexed(app) {
		t.Error("marks are not indexed by objects")
	}
}
