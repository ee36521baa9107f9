package engine

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
	"sync/atomic"

	_ "modernc.org/sqlite" // the driver

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Memory is the path of a ledger in memory, which exists as long as its Engine.
const Memory = ":memory:"

// File is a SQLite file. One process owns the file: all writes use one connection, reads use
// a pool.
type File struct {
	// Pool has all connections.
	Pool *sql.DB

	e       *Engine
	path    string
	clock   ledgerClock
	lock    *os.File
	ballast *ballast
	changes atomic.Int64 // odd while a COMMIT is under way, and once closed
	w       *writer
	r       *readers
	c       *checkpointer
	closing sync.Once
	closed  error
}

// OpenFile opens the ledger at path, or creates it. It fails, and leaves the file unchanged,
// if another process has it open, if it is no ledger, if it is damaged (ErrCorrupt), or if a
// newer lethe has written it.
func OpenFile(ctx context.Context, path string, o Options) (*Engine, error) {
	f := &File{path: path, ballast: newBallast(path, o)}
	f.clock.wall = o.Ledger.Clock
	if f.clock.wall == nil {
		f.clock.wall = lethe.SystemClock{}
	}
	f.clock.jump.Configure(o.Ledger)
	f.e = &Engine{database: f, File: f, Dialect: sqliteDialect, o: o, random: o.Ledger.Random}
	err := f.open(ctx)
	if f.ballast.give(err) {
		f.release()
		err = f.open(ctx)
	}
	if err != nil {
		f.release()
		if sqldb.IsBusy(err) {
			err = fmt.Errorf("another program has the file open (a shell of SQLite?): close it there: %w", err)
		}
		return nil, fmt.Errorf("ledger: open ledger %s: %w", path, err)
	}
	return f.e, nil
}

func (f *File) open(ctx context.Context) error {
	if f.path != Memory {
		if err := f.claimFile(); err != nil {
			return err
		}
	}
	pool, err := sql.Open("sqlite", f.dsn())
	if err != nil {
		return err
	}
	pool.SetMaxIdleConns(-1) // a session closed is a connection closed
	f.Pool = pool
	s, err := f.session(ctx, nil)
	if err != nil {
		return err
	}
	if err := f.migrate(ctx, s); err != nil {
		return errors.Join(err, s.Close())
	}
	f.r, f.c = newReaders(f), startCheckpointer(f)
	f.w = startWriter(f, s)
	return nil
}

// claimFile makes sure that this process alone owns the file, with mode 0600: it holds the
// secrets of access keys.
func (f *File) claimFile() (err error) {
	if f.lock, err = lockFile(f.path + ".lock"); err != nil {
		return err
	}
	made, err := os.OpenFile(f.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(made.Chmod(0o600), made.Close())
}

// dsn returns the data source name for the driver. A memory database gets a unique name, by
// which its connections share it.
func (f *File) dsn() string {
	if f.path == Memory {
		return fmt.Sprintf("file:lethe-%s?mode=memory&cache=shared", lethe.RandomID(lethe.SystemClock{}.Now()))
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		path = f.path
	}
	return (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String() + "?mode=rw" + ownedFile
}

// The pragmas of each connection, in order: auto_vacuum has an effect only before the file's
// first page is written, and the journal mode comes after it. The writer's page cache is no larger
// than it needs: below 1 GiB most COMMITs look through all of it (bench/results/tried.md).
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
		"wal_autocheckpoint = 0", // see checkpointer
		fmt.Sprintf("journal_size_limit = %d", walLimit),
		"cache_size = -16384",
	}
	readerPragmas = []string{
		"cache_size = -16384",
		"query_only = ON",
	}
)

// writing returns the pragmas of the connection that writes.
func (f *File) writing() []string {
	return slices.Concat(writerPragmas, f.syncing())
}

// syncing returns those of a connection that writes to the disk.
func (f *File) syncing() []string {
	if f.e.o.NoSync {
		return []string{"synchronous = OFF"}
	}
	return []string{"synchronous = FULL"}
}

// session opens one more connection.
func (f *File) session(ctx context.Context, pragmas []string) (*sqldb.Session, error) {
	conn, err := f.Pool.Conn(ctx)
	if err != nil {
		return nil, sqldb.MapError(err)
	}
	s := sqldb.NewSession(conn, f.e.Dialect)
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

// Close implements database.
func (f *File) Close() error {
	f.closing.Do(func() {
		err := f.w.stop()
		f.changes.Store(closedChanges)
		if err = errors.Join(err, f.release()); err != nil {
			f.closed = fmt.Errorf("ledger: close ledger %s: %w", f.path, err)
		}
	})
	return f.closed
}

// closedChanges is the odd number that File.changes has once the file is closed.
const closedChanges = -1

// Changes returns a number that each COMMIT changes. What was read is still so if the number
// was settled before, and is the same and settled now. All transitions are written by this
// process, by one writer, which tells nobody of a COMMIT before it has changed the number.
func (f *File) Changes() (number int64, settled bool) {
	number = f.changes.Load()
	return number, number&1 == 0
}

// Now returns the ledger's time, as a transaction would.
func (f *File) Now() lethe.Time { return f.clock.now() }

// Stats implements database.
func (f *File) Stats() Stats {
	return Stats{Members: f.w.members.Load(), Groups: f.w.groups.Load(), Commits: f.w.commits.Load(), Full: f.ballast.out.Load()}
}

// Waiting returns how many requests wait for their group.
func (f *File) Waiting() int { return f.w.queue.length(Request) }

// release releases what open has acquired, as far as it got.
func (f *File) release() error {
	var errs []error
	if f.c != nil {
		errs = append(errs, f.c.stop())
	}
	if f.r != nil {
		errs = append(errs, f.r.close())
	}
	if f.Pool != nil {
		errs = append(errs, f.Pool.Close())
	}
	if f.lock != nil {
		errs = append(errs, f.lock.Close())
	}
	return errors.Join(errs...)
}

// maxReaders bounds the read connections.
var maxReaders = max(4, min(16, 2*runtime.NumCPU()))
