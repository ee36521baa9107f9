package sqladopt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/adopttest"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// ownerTable is created before the collection is opened.
const ownerTable = "CREATE TABLE files (id varchar(50) NOT NULL PRIMARY KEY, name varchar(200), ends bigint)"

func ownerDescription(folders bool) adopt.Collection {
	return adopt.Collection{
		Mode: adopt.Reclaim, Guard: adopt.TriggerGuard, Prefix: "files/",
		Rows: adopt.Rows{Table: "files", Key: "id", End: "ends", Unit: "s", Objects: []string{adopttest.Owned(folders)}},
	}
}

// ownerSite is an application whose rows own objects, and its collection.
type ownerSite struct {
	*Collection
	exec func(ctx context.Context, text string) error
	pass func(d time.Duration)
}

func (s ownerSite) site() adopttest.OwnedSite {
	return adopttest.OwnedSite{Contents: s, Holder: s, Taker: s, App: s}
}

func (s ownerSite) Insert(ctx context.Context, key, name string, in time.Duration) error {
	end := "NULL"
	if in != adopttest.Never {
		end = fmt.Sprint(lethe.SystemClock{}.Now().Add(in).Time().Unix())
	}
	return s.exec(ctx, fmt.Sprintf("INSERT INTO files VALUES (%s, %s, %s)", sqldb.Literal(key), sqldb.Literal(name), end))
}

func (s ownerSite) Rename(ctx context.Context, key, name string) error {
	return s.exec(ctx, fmt.Sprintf("UPDATE files SET name = %s WHERE id = %s", sqldb.Literal(name), sqldb.Literal(key)))
}

func (s ownerSite) Delete(ctx context.Context, key string) error {
	return s.exec(ctx, "DELETE FROM files WHERE id = "+sqldb.Literal(key))
}

func (s ownerSite) Pass(d time.Duration) { s.pass(d) }

func newPostgresOwner(t *testing.T, database string, folders bool) ownerSite {
	t.Helper()
	s := newSite(t, database, kind{})
	exec := func(ctx context.Context, text string) error {
		_, err := s.pool.Exec(ctx, text)
		return refusal(err)
	}
	if err := errors.Join(s.RemoveGuard(t.Context()), exec(t.Context(), ownerTable)); err != nil {
		t.Fatal(err)
	}
	s.Collection = s.open(ownerDescription(folders))
	return ownerSite{s.Collection, exec, s.Pass}
}

func newSQLiteOwner(t *testing.T, folders bool) ownerSite {
	t.Helper()
	s := newLiteSite(t, liteKind{})
	exec := func(ctx context.Context, text string) error {
		_, err := s.app.ExecContext(ctx, text)
		if err != nil && strings.Contains(err.Error(), "being deleted") { // both use the same code
			return liteRefusal(err)
		}
		return err
	}
	if err := errors.Join(s.RemoveGuard(t.Context()), exec(t.Context(), ownerTable)); err != nil {
		t.Fatal(err)
	}
	s.Collection = s.opened(ownerDescription(folders))
	if err := s.InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ownerSite{s.Collection, exec, s.Pass}
}

func newMySQLOwner(t *testing.T, server *servers.MariaDBServer, folders bool) ownerSite {
	t.Helper()
	s := newMySQLSite(t, server.Database(t), mysqlKind{})
	if err := s.RemoveGuard(t.Context()); err != nil { // a collection's triggers have fixed names
		t.Fatal(err)
	}
	s.must(ownerTable)
	s.Collection = s.open(ownerDescription(folders))
	s.begin = beginnings{}
	exec := func(ctx context.Context, text string) error {
		_, err := s.pool.ExecContext(ctx, text)
		if refused := refusedByMySQL(err); refused != nil {
			return fmt.Errorf("%w: %w", adopttest.ErrRefused, err)
		}
		return err
	}
	return ownerSite{s.Collection, exec, s.Pass}
}

func TestOwnedSuite(t *testing.T) {
	adopttest.RunOwned(t, func(t *testing.T, folders bool) adopttest.OwnedSite {
		return newPostgresOwner(t, servers.Postgres(t), folders).site() // keys of one database share locks
	})
}

func TestSQLiteOwnedSuite(t *testing.T) {
	adopttest.RunOwned(t, func(t *testing.T, folders bool) adopttest.OwnedSite { return newSQLiteOwner(t, folders).site() })
}

func TestMySQLOwnedSuite(t *testing.T) {
	server := hastyMariaDB(t)
	adopttest.RunOwned(t, func(t *testing.T, folders bool) adopttest.OwnedSite {
		return newMySQLOwner(t, server, folders).site()
	})
}

// Nested folders older than the guard stop the collection; advised indexes are
// used once they exist.
func TestOwnedFoldersChecked(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) ownerSite{
		"PostgreSQL": func(t *testing.T) ownerSite { return newPostgresOwner(t, servers.Postgres(t), true) },
		"SQLite":     func(t *testing.T) ownerSite { return newSQLiteOwner(t, true) },
		"MariaDB":    func(t *testing.T) ownerSite { return newMySQLOwner(t, hastyMariaDB(t), true) },
	} {
		t.Run(name, func(t *testing.T) {
			s, ctx := open(t), t.Context()
			found, err := s.Check(ctx)
			if err != nil || adopt.Problems(found) || !strings.Contains(findings(found), "names files/{name}/") {
				t.Fatalf("found %s: %v", findings(found), err)
			}
			for _, f := range found {
				if err := s.exec(ctx, f.Do); err != nil {
					t.Errorf("%s: %v", f.Do, err)
				}
			}
			if found, err := s.Check(ctx); err != nil || len(found) > 0 {
				t.Errorf("with indexes: %s: %v", findings(found), err)
			}
			if err := s.RemoveGuard(ctx); err != nil {
				t.Fatal(err)
			}
			if err := s.Insert(ctx, "nested", "a/b", adopttest.Never); err != nil {
				t.Fatal(err)
			}
			if err := s.InstallGuard(ctx); err == nil || !strings.Contains(err.Error(), "row nested of files owns a folder that lies in that of another") {
				t.Errorf("a guard over rows that nest: %v", err)
			}
			if found, err := s.Check(ctx); err != nil || !adopt.Problems(found) || !strings.Contains(findings(found), "row nested of files") {
				t.Errorf("check of rows that nest: %s: %v", findings(found), err)
			}
		})
	}
}
