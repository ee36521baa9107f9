package incidents_test

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

// setting is what an incident needs beside a ledger and one backend.
type setting struct {
	backends int // up to 3
	replicas int
	paired   bool                          // the guard's epoch is on every backend, as reconcile demands
	cache    func(*testing.T) cache.Cache  // of each instance
	place    func(t *testing.T) blob.Store // makes backends, in place of the ledger's own kind
}

// start is the clock at the beginning. Where ages on the backend matter it is the
// machine's, by which files are dated.
func (s setting) start() *clocktest.Clock {
	if s.paired {
		return clocktest.At(lethe.SystemClock{}.Now())
	}
	return clocktest.New()
}

func (s setting) options(c *clocktest.Clock) ledger.Options {
	grace := reclaim.Safety{}.WithDefaults()
	return ledger.Options{
		Clock: c, ReadGrace: grace.ReadGrace, LateWindow: grace.LateWindow, Replicas: s.replicas,
	}
}

// or makes backends as the setting says, or else so.
func (s setting) or(t *testing.T, otherwise func() blob.Store) func() blob.Store {
	if s.place != nil {
		return func() blob.Store { return s.place(t) }
	}
	return otherwise
}

// each runs the incident in memory, and on SQLite with files.
func each(t *testing.T, incident func(*world)) { setting{}.each(t, incident) }

func (s setting) each(t *testing.T, incident func(*world)) {
	t.Run("in memory", func(t *testing.T) { incident(s.inMemory(t)) })
	t.Run("SQLite and files", func(t *testing.T) { incident(s.onSQLite(t)) })
}

// everywhere runs it on a real PostgreSQL, too.
func (s setting) everywhere(t *testing.T, incident func(*world)) {
	s.each(t, incident)
	t.Run("PostgreSQL", func(t *testing.T) { incident(s.onPostgres(t, servers.Postgres(t))) })
}

func (s setting) inMemory(t *testing.T) *world {
	c := s.start()
	return newWorld(t, s, c, memledger.New(s.options(c)), s.or(t, inRAM(c)))
}

func (s setting) onSQLite(t *testing.T) *world {
	c := s.start()
	db, err := sqlledger.Open(t.Context(), sqlledger.Memory, s.options(c))
	return newWorld(t, s, c, opened(t, db, err), s.or(t, func() blob.Store { return folder(t) }))
}

func (s setting) onPostgres(t *testing.T, url string) *world {
	c := s.start()
	db, err := sqlledger.OpenPostgres(t.Context(), url, s.options(c), sqlledger.Postgres(sqlledger.PostgresOptions{Requests: 4, Routines: 2}))
	return newWorld(t, s, c, opened(t, db, err), s.or(t, inRAM(c)))
}

func opened(t *testing.T, db *sqlledger.DB, err error) *sqlledger.DB {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func inRAM(c *clocktest.Clock) func() blob.Store {
	return func() blob.Store { return memblob.New(memblob.Options{Clock: c}) }
}

func folder(t *testing.T) blob.Store {
	files, err := fsblob.Open(fsblob.Options{Root: t.TempDir(), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
