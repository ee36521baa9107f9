package sqlledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// Memory is the path of a ledger in memory, which exists as long as its DB.
const Memory = ":memory:"

// file is the ledger in a SQLite file. One process owns the file: all writes use one
// connection, reads use a pool.
type file struct {
	db      *DB
	path    string
	clock   ledgerClock
	lock    *os.File
	ballast *ballast
	pool    *sql.DB // all connections
	w       *writer
	r       *readers
	closing sync.Once
	closed  error
}

// Open opens the ledger at path, or creates it. It fails, and leaves the file unchanged, if
// another process has it open, if it is no ledger, if it is damaged (ErrCorrupt), or if a
// newer lethe has written it.
func Open(ctx context.Context, path string, o ledger.Options, set ...Setting) (*DB, error) {
	with := settingsOf(set)
	o = o.WithDefaults()
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	f := &file{path: path, ballast: newBallast(path, with.ballast)}
	f.clock.wall = o.Clock
	f.clock.jump.Over(o)
	db := &DB{o: o, random: o.Random, dialect: sqliteDialect, engine: f, file: f, noSync: with.noSync}
	f.db = db
	err := db.open(ctx)
	if db.ballast.give(err) {
		db.release()
		err = db.open(ctx)
	}
	if err != nil {
		db.release()
		return nil, fmt.Errorf("ledger: open ledger %s: %w", path, err)
	}
	if err := db.settlePlace(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context) error {
	if db.path != Memory {
		if err := db.claimFile(); err != nil {
			return err
		}
	}
	pool, err := sql.Open("sqlite", db.dsn())
	if err != nil {
		return err
	}
	pool.SetMaxIdleConns(-1) // a session closed is a connection closed
	db.pool = pool
	s, err := db.session(ctx, nil)
	if err != nil {
		return err
	}
	if err := db.migrate(ctx, s); err != nil {
		return errors.Join(err, s.Close())
	}
	db.r = newReaders(db)
	db.w = startWriter(db, s)
	return nil
}

// claimFile makes sure that this process alone owns the file, with mode 0600: it holds the
// secrets of access keys.
func (db *DB) claimFile() (err error) {
	if db.lock, err = lockFile(db.path + ".lock"); err != nil {
		return err
	}
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// dsn returns the data source name for the driver. A memory database gets a unique name, by
// which its connections share it.
func (db *DB) dsn() string {
	if db.path == Memory {
		return fmt.Sprintf("file:lethe-%s?mode=memory&cache=shared", lethe.RandomID(lethe.SystemClock{}.Now()))
	}
	path, err := filepath.Abs(db.path)
	if err != nil {
		path = db.path
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String() + "?mode=rw"
}

// The pragmas of each connection, in order: auto_vacuum has an effect only before the file's
// first page is written, and the journal mode comes after it.
var (
	commonPragmas = []string{
		"busy_timeout = 10000",
		"foreign_keys = ON",
		"temp_store = MEMORY",
		"trusted_schema = OFF",
	}
	writerPragmas = []string{
		"auto_vacuum = INCREMENTAL",
		"journal_mode = WAL",
		"synchronous = FULL",
		"wal_autocheckpoint = 2000",
		fmt.Sprintf("journal_size_limit = %d", walLimit),
		"cache_size = -65536",
	}
	readerPragmas = []string{
		"cache_size = -16384",
		"query_only = ON",
	}
)

// writing returns the pragmas of the connection that writes.
func (db *DB) writing() []string {
	if !db.noSync {
		return writerPragmas
	}
	return append(slices.Clone(writerPragmas), "synchronous = OFF")
}

// session opens one more connection.
func (db *DB) session(ctx context.Context, pragmas []string) (*sqldb.Session, error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return nil, sqldb.MapError(err)
	}
	s := sqldb.NewSession(conn, db.dialect)
	if err := errors.Join(setPragmas(ctx, s, commonPragmas), setPragmas(ctx, s, pragmas)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// setPragmas sets pragmas of a connection.
func setPragmas(ctx context.Context, s *sqldb.Session, pragmas []string) error {
	for _, p := range pragmas {
		if _, err := s.Conn.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return fmt.Errorf("pragma %s: %w", p, sqldb.MapError(err))
		}
	}
	return nil
}

// close implements engine.
func (f *file) close() error {
	f.closing.Do(func() {
		if err := errors.Join(f.w.stop(), f.release()); err != nil {
			f.closed = fmt.Errorf("ledger: close ledger %s: %w", f.path, err)
		}
	})
	return f.closed
}

// behind implements engine.
func (f *file) behind() time.Duration { return f.clock.behind() }

// stats implements engine.
func (f *file) stats() Stats {
	return Stats{f.w.members.Load(), f.w.groups.Load(), f.w.commits.Load(), f.ballast.out.Load()}
}

// release releases what Open has acquired, as far as it got.
func (f *file) release() error {
	var errs []error
	if f.r != nil {
		errs = append(errs, f.r.close())
	}
	if f.pool != nil {
		errs = append(errs, f.pool.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}

// maxReaders bounds the read connections.
var maxReaders = max(4, min(16, 2*runtime.NumCPU()))
