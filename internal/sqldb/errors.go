package sqldb

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/lethe-storage/lethe"
)

// Code returns SQLite's extended result code of err, 0 if it has none.
func Code(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// IsUnique reports whether err is about a row that exists already.
func IsUnique(err error) bool {
	c := Code(err)
	if State(err) == uniqueViolation {
		return true
	}
	return c == sqlite3.SQLITE_CONSTRAINT_UNIQUE || c == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

// IsBusy reports whether another connection holds SQLite's file. A COMMIT that fails with it
// did nothing.
func IsBusy(err error) bool {
	c := Code(err) & 0xff
	return c == sqlite3.SQLITE_BUSY || c == sqlite3.SQLITE_LOCKED
}

// violated reports whether a constraint of SQLite was violated. A COMMIT that fails with it, over
// a deferred foreign key, did nothing.
func violated(err error) bool { return Code(err)&0xff == sqlite3.SQLITE_CONSTRAINT }

// advice is what an operator should know, by primary result code.
var advice = map[int]struct {
	kind error
	text string
}{
	sqlite3.SQLITE_FULL:      {lethe.ErrUnavailable, "the disk that holds the database is full: free some space there"},
	sqlite3.SQLITE_BUSY:      {lethe.ErrUnavailable, "another program has the database locked"},
	sqlite3.SQLITE_LOCKED:    {lethe.ErrUnavailable, "the database is locked by another connection"},
	sqlite3.SQLITE_READONLY:  {lethe.ErrUnavailable, "the database's file or folder is not writable: check owner, mode and mount"},
	sqlite3.SQLITE_CANTOPEN:  {lethe.ErrUnavailable, "the database's file cannot be opened: check that its folder exists and is accessible"},
	sqlite3.SQLITE_IOERR:     {lethe.ErrUnavailable, "the disk that holds the database fails"},
	sqlite3.SQLITE_INTERRUPT: {lethe.ErrUnavailable, "a statement took longer than it may"},
	sqlite3.SQLITE_NOMEM:     {lethe.ErrUnavailable, "out of memory"},
	sqlite3.SQLITE_CORRUPT:   {lethe.ErrCorrupt, "the database's file is damaged: restore a backup"},
	sqlite3.SQLITE_NOTADB:    {lethe.ErrCorrupt, "the file is not a database: choose another path"},
}

// MapError wraps an error of the database in the sentinel error that callers know, and keeps
// the original.
func MapError(err error) error {
	if errors.As(err, new(twice)) {
		return fmt.Errorf("a trigger or a unique index of the application objects: %w", err)
	}
	c := Code(err)
	switch c {
	case 0:
		return MapServerError(err)
	case sqlite3.SQLITE_CONSTRAINT_CHECK, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, sqlite3.SQLITE_CONSTRAINT_NOTNULL:
		return fmt.Errorf("rows contradict each other: %w (%w)", lethe.ErrCorrupt, err)
	}
	if a, ok := advice[c&0xff]; ok {
		return fmt.Errorf("%s: %w (%w)", a.text, a.kind, err)
	}
	return err
}

// Aborts reports whether err may have aborted its transaction: every error of PostgreSQL,
// and every one of SQLite except a violated constraint, which undoes only its own statement.
func Aborts(err error) bool {
	c := Code(err)
	if c == 0 {
		return State(err) != "" || errors.As(err, new(queuedError)) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	}
	return !violated(err)
}
