package engine

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Pooling is whether a pooler in transaction mode, such as pgbouncer, is between this
// process and PostgreSQL. With one there are no prepared statements, and no settings that
// outlive a transaction.
type Pooling string

// The values of Pooling.
const (
	PoolerDetected Pooling = ""    // detected when the ledger is opened
	PoolerBetween  Pooling = "yes" // there is a pooler
	PoolerNone     Pooling = "no"  // there is none
)

// PostgresOptions are the options of a ledger in PostgreSQL. A zero field takes its default.
type PostgresOptions struct {
	// Schema holds the ledger's tables (default "lethe"). It is created if it does not
	// exist.
	Schema string
	// Requests and Routines are the most connections for requests and for routines
	// (defaults: 4 and 2 per processor, at least 16 and 4). An instance opens connections
	// only as it needs them.
	Requests, Routines int
	Pooler             Pooling
	// AcquireTime is the longest wait for a connection (default 30 s).
	AcquireTime time.Duration
	// StatementTime is the longest time of a request's statement (default 30 s); a statement
	// of the engine may take ten times as long. Reads of the whole ledger have no limit.
	StatementTime time.Duration
	// LockTime is the longest wait for locked rows (default 10 s).
	LockTime time.Duration
	// IdleTime is how long a transaction whose process hangs keeps its locks before
	// PostgreSQL ends it (default 5 s). It is shorter than LockTime, so that others wait for
	// those locks instead of failing.
	IdleTime time.Duration
}

func (o PostgresOptions) withDefaults() PostgresOptions {
	o.Schema = cmp.Or(o.Schema, "lethe")
	o.Requests = cmp.Or(o.Requests, max(16, 4*runtime.NumCPU()))
	o.Routines = cmp.Or(o.Routines, max(4, 2*runtime.NumCPU()))
	o.AcquireTime = cmp.Or(o.AcquireTime, 30*time.Second)
	o.StatementTime = cmp.Or(o.StatementTime, 30*time.Second)
	o.LockTime = cmp.Or(o.LockTime, 10*time.Second)
	o.IdleTime = cmp.Or(o.IdleTime, 5*time.Second)
	return o
}

// Server is a PostgreSQL database: any number of concurrent transactions from any number of
// processes.
type Server struct {
	// Runners run transactions by kind, on connections of their own.
	Runners [2]*sqldb.Runner
	Count   sqldb.Counts

	e       *Engine
	o       PostgresOptions
	texts   [2]texts // by kind
	clock   serverClock
	refused refusals
	known   int // the newest version of the schema that this program knows
	closing sync.Once
	closed  error
}

// OpenServer opens the ledger in the database of the URL
// (postgres://user:password@host:port/database?sslmode=...), or creates it in its schema. It
// fails if PostgreSQL cannot be reached (ErrUnavailable) or is older than 14, if the
// database is not in UTF-8, or if a newer lethe has changed the ledger incompatibly
// (ErrOutdated).
func OpenServer(ctx context.Context, url string, o Options, at PostgresOptions) (*Engine, error) {
	s := &Server{o: at.withDefaults()}
	s.clock.set(o.Ledger.Clock)
	s.clock.jump.Configure(o.Ledger)
	s.e = &Engine{database: s, Server: s, Dialect: postgresDialect, o: o, random: &sharedReader{r: o.Ledger.Random}}
	if err := s.open(ctx, url); err != nil {
		return nil, fmt.Errorf("ledger: open ledger in PostgreSQL: %w", errors.Join(err, s.release()))
	}
	return s.e, nil
}

func (p *Server) open(ctx context.Context, url string) error {
	config, err := sqldb.PostgresConfig(url, "lethe")
	if err != nil {
		return err
	}
	facts, err := p.probe(ctx, config)
	if err != nil {
		return err
	}
	for _, k := range []Kind{Request, Batch} {
		p.texts[k] = p.beginnings(k, facts)
		p.Runners[k] = &sqldb.Runner{Pool: p.pool(config, k, facts), Dialect: p.e.Dialect, AcquireTime: p.o.AcquireTime, Count: &p.Count}
	}
	return p.migrate(ctx)
}

// pool returns the pool of connections of a kind.
func (p *Server) pool(config *pgx.ConnConfig, k Kind, facts serverFacts) *sql.DB {
	c := config.Copy()
	if facts.pooled {
		// Nothing is prepared; parameter types follow from the Go types.
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	} else {
		for _, s := range p.settings(k, facts) {
			c.RuntimeParams[s.name] = s.value
		}
	}
	pool := sqldb.OpenPostgres(c)
	n := map[Kind]int{Request: p.o.Requests, Batch: p.o.Routines}[k]
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	return pool
}

// setting is a setting of a session or, behind a pooler, of a transaction.
type setting struct{ name, value string }

func (p *Server) settings(k Kind, facts serverFacts) []setting {
	ms := func(d time.Duration) string { return strconv.FormatInt(max(1, d.Milliseconds()), 10) }
	out := []setting{
		{"search_path", sqldb.Quoted(p.o.Schema)},
		{"lock_timeout", ms(p.o.LockTime)},
		{"idle_in_transaction_session_timeout", ms(p.o.IdleTime)},
		{"jit", "off"},
	}
	statement := p.o.StatementTime
	if k == Batch {
		statement *= 10
		// A generic plan made while a queue was empty would later read all of it.
		out = append(out, setting{"plan_cache_mode", "force_custom_plan"})
		// A queue is read in the order of its index, up to the limit. By old statistics it
		// may look cheaper to fetch all due rows and sort them.
		out = append(out, setting{"enable_bitmapscan", "off"})
	}
	out = append(out, setting{"statement_timeout", ms(statement)})
	switch {
	case p.e.o.NoSync:
		out = append(out, setting{"synchronous_commit", "off"})
	case facts.careless:
		out = append(out, setting{"synchronous_commit", "on"})
	}
	return out
}

// texts are what begins transactions. walk, and behind a pooler all, are a round trip each,
// which returns the time. Else clock is the statement that does; behind a pooler it is empty.
type texts struct{ write, read, walk, clock string }

func (p *Server) beginnings(k Kind, facts serverFacts) texts {
	settings := ""
	if facts.pooled {
		for _, s := range p.settings(k, facts) {
			settings += fmt.Sprintf("; SET LOCAL %s = %s", s.name, literal(s))
		}
	}
	const read = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	clock := "SELECT 0, clock_high FROM store WHERE one = 1"
	if p.clock.fake == nil {
		clock = "SELECT CAST(date_part('epoch', clock_timestamp()) * 1000000 AS BIGINT), clock_high FROM store WHERE one = 1"
	}
	const write = "BEGIN ISOLATION LEVEL READ COMMITTED"
	walk := read + settings + "; SET LOCAL statement_timeout = 0; " + clock
	if !facts.pooled {
		return texts{write: write, read: read, walk: walk, clock: clock}
	}
	return texts{write: write + settings + "; " + clock, read: read + settings + "; " + clock, walk: walk}
}

// literal returns a setting's value in the syntax of SET; the search path is a name.
func literal(s setting) string {
	if s.name == "search_path" {
		return s.value
	}
	return "'" + s.value + "'"
}

// Close implements database.
func (p *Server) Close() error {
	p.closing.Do(func() {
		if err := p.release(); err != nil {
			p.closed = fmt.Errorf("ledger: close ledger in PostgreSQL: %w", err)
		}
	})
	return p.closed
}

func (p *Server) release() error {
	var errs []error
	for _, r := range p.Runners {
		if r != nil {
			errs = append(errs, r.Pool.Close())
		}
	}
	return errors.Join(errs...)
}

// Stats implements database.
func (p *Server) Stats() Stats {
	n := p.Count.Members.Load()
	return Stats{Members: n, Groups: n, Commits: p.Count.Commits.Load(), Refused: p.refused.lately(lethe.Monotonic{}.Now())}
}

// refusal is a write that the database refused as it would every other.
type refusal struct {
	at  lethe.Time // by the monotonic clock
	why string
}

// refusals keep the last refusal. A write that succeeds does not end it: while a disk is full
// those that need no room do.
type refusals struct{ last atomic.Pointer[refusal] }

// refusalTime is how long a refusal counts. Heartbeats and routines write more often.
const refusalTime = time.Minute

func (r *refusals) note(at lethe.Time, err error) {
	if why := sqldb.Refused(err); why != "" {
		r.last.Store(&refusal{at, why})
	}
}

func (r *refusals) lately(now lethe.Time) string {
	if last := r.last.Load(); last != nil && now.Sub(last.at) < refusalTime {
		return last.why
	}
	return ""
}

// sharedReader lets concurrent transactions read from one source.
type sharedReader struct {
	mu sync.Mutex
	r  io.Reader
}

// Read implements io.Reader.
func (s *sharedReader) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(p)
}

// replay returns the same bytes from a source again after it was rewound.
type replay struct {
	r     io.Reader
	drawn []byte
	at    int
}

func (p *replay) rewind() { p.at = 0 }

// Read implements io.Reader.
func (p *replay) Read(b []byte) (int, error) {
	if lack := p.at + len(b) - len(p.drawn); lack > 0 {
		more := make([]byte, lack)
		if _, err := io.ReadFull(p.r, more); err != nil {
			return 0, err
		}
		p.drawn = append(p.drawn, more...)
	}
	p.at += copy(b, p.drawn[p.at:])
	return len(b), nil
}
