package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-storage/lethe"
)

// Limit is what the machine does at best: the stages of reclaiming with nothing
// of ours, one after the other.
type Limit struct {
	Objects int64
	SQL     time.Duration // deleting the rows
	Unlink  time.Duration // removing the files
}

// Rate is the limit of the two stages in series, in objects per second:
// 1/(1/a + 1/b).
func (l Limit) Rate() float64 { return float64(l.Objects) / (l.SQL + l.Unlink).Seconds() }

// Bare deletes the rows of the data set in dir that are due by bare SQL, with the
// ledger's tables, indexes and settings, in transactions of 1,000 objects, and
// removes the files in a bare loop that flushes nothing.
func Bare(ctx context.Context, dir string) (l Limit, err error) {
	paths, err := listFiles(blobPath(dir))
	if err != nil {
		return l, err
	}
	if l.Objects, l.SQL, err = bareSQL(ctx, LedgerPath(dir)); err != nil {
		return l, fmt.Errorf("bench: bare SQL: %w", err)
	}
	began := lethe.Monotonic{}.Now()
	for _, p := range paths {
		if err := os.Remove(p); err != nil {
			return l, err
		}
	}
	l.Unlink = lethe.Monotonic{}.Now().Sub(began)
	return l, nil
}

func listFiles(root string) (paths []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			paths = append(paths, path)
		}
		return err
	})
	return paths, err
}

// barePragmas are those of the ledger's writer.
var barePragmas = []string{
	"foreign_keys = ON", "temp_store = MEMORY", "synchronous = FULL", "wal_autocheckpoint = 2000",
	"journal_size_limit = 67108864", "cache_size = -65536",
}

func bareSQL(ctx context.Context, path string) (n int64, took time.Duration, err error) {
	pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path)+"?mode=rw")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	for _, p := range barePragmas {
		if _, err := conn.ExecContext(ctx, "PRAGMA "+p); err != nil {
			return 0, 0, err
		}
	}
	b := &bareLedger{ctx: ctx, conn: conn}
	if err := b.prepare(); err != nil {
		return 0, 0, err
	}
	bounds, err := b.bounds()
	if err != nil {
		return 0, 0, err
	}
	began := lethe.Monotonic{}.Now()
	for i := range len(bounds) - 1 {
		if err := b.batch(bounds[i], bounds[i+1]); err != nil {
			return 0, 0, err
		}
	}
	return b.n, lethe.Monotonic{}.Now().Sub(began), nil
}

type bareLedger struct {
	ctx                              context.Context
	conn                             *sql.Conn
	objects, contents, bodies, blobs *sql.Stmt
	n                                int64
}

// prepare compiles the statements. Ids begin with their time, so that those of one
// batch lie between two ids: nothing finds them faster.
func (b *bareLedger) prepare() (err error) {
	for _, s := range []struct {
		st   **sql.Stmt
		text string
	}{
		{&b.objects, `DELETE FROM objects WHERE due_at > ?1 AND due_at <= ?2`},
		{&b.contents, `DELETE FROM contents WHERE id >= ?1 AND id < ?2`},
		{&b.bodies, `DELETE FROM bodies WHERE no IN (SELECT body_no FROM contents WHERE id >= ?1 AND id < ?2)`},
		{&b.blobs, `DELETE FROM blobs WHERE id >= ?1 AND id < ?2`},
	} {
		if *s.st, err = b.conn.PrepareContext(b.ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// bounds are the due times between which 1,000 objects each lie.
func (b *bareLedger) bounds() ([]lethe.Time, error) {
	rows, err := b.conn.QueryContext(b.ctx, `SELECT due_at FROM (
		SELECT due_at, row_number() OVER (ORDER BY due_at) AS n, count(*) OVER () AS total FROM objects WHERE due_at <= ?1)
		WHERE n % 1000 = 0 OR n = total`, lethe.SystemClock{}.Now())
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	bounds := []lethe.Time{0}
	for rows.Next() {
		var at lethe.Time
		if err := rows.Scan(&at); err != nil {
			return nil, err
		}
		bounds = append(bounds, at)
	}
	return bounds, rows.Err()
}

// batch deletes what came to be within a span, one transaction. Objects live for
// half an hour, see filler.fill.
func (b *bareLedger) batch(after, upTo lethe.Time) error {
	const life = 1800_000_000
	if _, err := b.conn.ExecContext(b.ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	res, err := b.objects.ExecContext(b.ctx, after, upTo)
	if err != nil {
		return err
	}
	n, err := res.RowsAffected()
	b.n += n
	from, to := lethe.ID(""), lethe.NewID(upTo-life+1, zeros{})
	if after > 0 {
		from = lethe.NewID(after-life+1, zeros{})
	}
	for _, st := range []*sql.Stmt{b.bodies, b.contents, b.blobs} {
		if err == nil {
			_, err = st.ExecContext(b.ctx, from, to)
		}
	}
	if err == nil {
		_, err = b.conn.ExecContext(b.ctx, "COMMIT")
	}
	return err
}

// zeros make the smallest id of an instant.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
