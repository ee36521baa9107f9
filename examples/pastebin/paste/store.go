// Package paste keeps pastes: a row in PostgreSQL for each, their bytes in a
// bucket under the hash of the content, and copies in Redis for reading. Equal
// contents are stored once and counted.
//
// A paste that has expired is not served any more. Removing its row, the bytes
// that nobody refers to and its copy is not done here.
package paste

import (
	"cmp"
	"context"
	_ "embed" // the schema
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed schema.sql
var schema string

// Errors of a Store, beside those of the servers that it uses.
var (
	// ErrNotFound: there is no such paste, or none any more.
	ErrNotFound = errors.New("no such paste")
	// ErrEmpty: a paste needs at least one byte.
	ErrEmpty = errors.New("the paste is empty")
	// ErrBytesMissing: the paste is there and its bytes are not, or are damaged.
	ErrBytesMissing = errors.New("the bytes of the paste are missing")
)

// writeTimeout bounds a change from its first byte sent to its commit. So it is
// also the longest time between the upload of an object and the row that names it.
const writeTimeout = 30 * time.Second

// Config says where a Store keeps what.
type Config struct {
	Database string // URL of a PostgreSQL database
	S3       S3
	// Redis is the URL of the cache, redis://host:6379/0; empty: no cache.
	Redis string
	// CacheFor is how long a copy stays in the cache at most (default 5 minutes).
	CacheFor time.Duration
	// CacheSize is the largest paste that is cached, in bytes (default 64 KiB).
	CacheSize int
	// Now judges whether a copy has expired (default: the machine's clock).
	Now func() time.Time
	// Log takes what nobody else is told of (default: slog.Default).
	Log *slog.Logger
}

// Paste is what is known of a paste.
type Paste struct {
	Code      string
	Hash      string     // of the content, SHA-256, hexadecimal
	ExpiresAt *time.Time // nil: never
}

// Store keeps pastes. It is safe for concurrent use.
type Store struct {
	db      *pgxpool.Pool
	objects *objects
	cache   *cache
}

// Open prepares a store. Servers are connected to when they are first used.
// Errors never show a password.
func Open(ctx context.Context, c Config) (*Store, error) {
	c.CacheFor = cmp.Or(c.CacheFor, 5*time.Minute)
	c.CacheSize = cmp.Or(c.CacheSize, 64<<10)
	if c.Now == nil {
		c.Now = machineClock
	}
	c.Log = cmp.Or(c.Log, slog.Default())
	objects, err := openObjects(ctx, c.S3)
	if err != nil {
		return nil, err
	}
	cache, err := openCache(c)
	if err != nil {
		return nil, err
	}
	db, err := pgxpool.New(ctx, c.Database)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &Store{db: db, objects: objects, cache: cache}, nil
}

// Close ends the connections; calls that are under way fail.
func (s *Store) Close() {
	s.db.Close()
	s.cache.close()
}

// Migrate makes the tables and the bucket where they are missing.
func (s *Store) Migrate(ctx context.Context) error {
	err := pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		// Two that migrate at once would both find the tables missing.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtext('pastebin migrate'))`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, schema)
		return err
	})
	if err != nil {
		return fmt.Errorf("apply the schema: %w", err)
	}
	return s.objects.makeBucket(ctx)
}
