package sqlledger

import (
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// Stats counts what the ledger has written since it was opened.
type Stats engine.Stats

// PostgresOptions are the options of a ledger in PostgreSQL. A zero field takes its default.
type PostgresOptions = engine.PostgresOptions

// Pooling is whether a pooler in transaction mode, such as pgbouncer, is between this
// process and PostgreSQL.
type Pooling = engine.Pooling

// The values of Pooling; without one a pooler is detected when the ledger is opened.
const (
	PoolerBetween = engine.PoolerBetween // there is a pooler
	PoolerNone    = engine.PoolerNone    // there is none
)

// Setting sets how a ledger uses its database.
type Setting func(*settings)

type settings struct {
	engine   engine.Options
	postgres PostgresOptions
}

func settingsOf(o ledger.Options, set []Setting) settings {
	s := settings{engine: engine.Options{Ledger: o.WithDefaults(), Schema: migrations, NewGroup: newCommon}}
	for _, f := range set {
		f(&s)
	}
	return s
}

// NoSync omits every flush, for benchmarks: a power failure then loses committed
// transactions, or the file.
func NoSync() Setting { return func(s *settings) { s.engine.NoSync = true } }

// Ballast sets the size in bytes of a file beside a SQLite ledger that keeps room for
// deletes on a full disk (default 16 MiB; negative: none).
func Ballast(bytes int64) Setting { return func(s *settings) { s.engine.Ballast = bytes } }

// Postgres sets the options of a ledger in PostgreSQL.
func Postgres(o PostgresOptions) Setting { return func(s *settings) { s.postgres = o } }

// existing refuses to create a ledger.
func existing(s *settings) { s.engine.Existing = true }
