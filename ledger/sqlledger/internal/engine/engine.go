package engine

import (
	"context"
	"io"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// Kind is the origin of a transaction.
type Kind int

// Requests come from clients and go first; batches come from routines. Neither starves: on
// SQLite their groups alternate when both wait, on PostgreSQL they use connections of their
// own.
const (
	Request Kind = iota
	Batch
)

// Options are what a ledger sets.
type Options struct {
	// Ledger is with its defaults. Its Clock replaces the clock in tests.
	Ledger ledger.Options
	// Schema has the migrations, in migrations/sqlite and migrations/postgres.
	Schema fs.FS
	// Existing refuses to create a ledger.
	Existing bool
	NoSync   bool
	// NewGroup makes what the members of a group share; nil: nothing.
	NewGroup func() Group

	// The rest is for SQLite.

	Ballast   int64                              // bytes; 0: the default, negative: none
	FreeBytes func(folder string) (int64, error) // replaceable by tests
	// GroupTime is how long a group goes on to take members; 0: groupTime.
	GroupTime time.Duration
}

// Engine is the open database of a ledger. It is safe for concurrent use.
type Engine struct {
	database
	Dialect sqldb.Dialect
	// File is set on SQLite, Server on PostgreSQL.
	File   *File
	Server *Server

	o      Options
	random io.Reader // the source of ids
}

// database is a File or a Server.
type database interface {
	// Write runs a job as one transaction. It sets nothing but what the job sets. If ctx ends
	// before the job begins, the job never runs. Once begun it runs to its end. It may run
	// more than once. ErrUnknownOutcome: the transaction may or may not have happened.
	Write(ctx context.Context, k Kind, j Job) error
	// View runs fn in a read-only transaction on one snapshot, which ends when ctx does.
	View(ctx context.Context, k Kind, fn func(*Tx) error) error
	// PointRead runs fn, which reads a few rows by their keys, one statement at a time. Each
	// statement sees its own snapshot. That saves BEGIN and COMMIT, which would take longer
	// than the read. Tx.Now is not known before the first answer.
	PointRead(ctx context.Context, fn func(*Tx) error) error
	Stats() Stats
	// Close waits for the writes in progress. Closing again returns the first result.
	Close() error

	clock
}

// clock is the ledger's clock (docs/protocol.md, rule 10).
type clock interface {
	// ClockBehind returns how far the clock lies behind the highest time ever used, 0 for up
	// to a minute.
	ClockBehind() time.Duration
	// ClockAhead returns how far the clock was set forward since the ledger was opened.
	ClockAhead() time.Duration
	// leap detects that the clock was set forward.
	leap() *ledger.Jump
	// highest is the highest time that this process has used.
	highest() *atomic.Int64
	// lower makes it an earlier one, which the transaction in progress does not save.
	lower(to lethe.Time)
}

// Job is one write.
type Job struct {
	Do func(*Tx) error
	// Asks: Do asks a question before it sends anything else or uses the time, which is
	// known once that is answered. So the transaction begins in the same round trip.
	Asks bool
	// Awaited: a client waits for this batch. On SQLite it runs as a request does, not at low
	// priority.
	Awaited bool
	By      lethe.Caller
	// Committed is called once its COMMIT has succeeded.
	Committed func()
}

// Stats counts what the ledger has written since it was opened.
type Stats struct {
	Members int64 // writes
	Groups  int64 // transactions, each of one or more writes
	Commits int64 // COMMITs, each with a flush of the disk if it changed anything
	// Full is set while the ledger's disk lacks space: writes that need space are refused,
	// others are not.
	Full bool
	// Refused is why PostgreSQL refused a write within the last minute, as it would every
	// other: this connection may only read, or the disk is full. Empty: it did not.
	Refused string
}

// HighestTime returns the highest time that this process has used.
func (e *Engine) HighestTime() lethe.Time { return lethe.Time(e.highest().Load()) }

// RaiseClock makes the highest time at least to.
func (e *Engine) RaiseClock(to lethe.Time) { raise(e.highest(), int64(to)) }

// ConfirmedClock returns store.boot and store.boot_offset by which the next process takes the
// clock as it was at the last look for right.
func (e *Engine) ConfirmedClock() (boot string, offset lethe.Time) { return e.leap().Confirmed() }

// LowerClock makes to the highest time that this process has used, and keeps the transaction
// from saving the earlier one.
func (t *Tx) LowerClock(to lethe.Time) { t.e.lower(to) }
