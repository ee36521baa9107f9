package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
)

// ground is where the store of an interference lies, full of objects that live.
type ground struct {
	env      []string // that leads a server to it
	schedule func(from, to int, due lethe.Time) error
	end      func() error // nil: nothing to end
}

func (f Interference) ground(ctx context.Context, dir, name string) (ground, error) {
	d := Dataset{Living: f.Objects * (f.Waves + 1), Size: f.Size}
	if f.Servers != nil {
		return f.Servers.ground(ctx, dir, name, d)
	}
	if err := d.Fill(ctx, dir, lethe.SystemClock{}.Now()); err != nil {
		return ground{}, err
	}
	return ground{schedule: func(from, to int, due lethe.Time) error {
		pool, err := sql.Open("sqlite", "file:"+filepath.ToSlash(LedgerPath(dir))+"?mode=rw")
		if err != nil {
			return err
		}
		_, err = pool.ExecContext(ctx, `UPDATE objects SET ttl_at = ?1, due_at = ?1 WHERE key >= ?2 AND key < ?3`,
			due, fmt.Sprintf(keyPattern, from), fmt.Sprintf(keyPattern, to))
		return errors.Join(err, pool.Close())
	}}, nil
}

// ground fills a fresh database and a bucket, of the given name, of an S3 server that
// it starts.
func (s *Servers) ground(ctx context.Context, dir, name string, d Dataset) (at ground, err error) {
	admin, err := pgx.Connect(ctx, s.Postgres("postgres"))
	if err != nil {
		return at, err
	}
	defer func() { err = errors.Join(err, admin.Close(ctx)) }()
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return at, err
	}
	if _, err := admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		return at, err
	}
	root := filepath.Join(dir, "s3", "root")
	if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
		return at, err
	}
	if err := d.FillCluster(ctx, Cluster{Postgres: s.Postgres(name), Bucket: name}, root, lethe.SystemClock{}.Now()); err != nil {
		return at, err
	}
	srv, err := s.S3.start(ctx, filepath.Join(dir, "s3"), 32)
	if err != nil {
		return at, err
	}
	at.end = srv.stop
	at.env = []string{
		"LETHE_DATABASE_URL=" + s.Postgres(name), "LETHE_REDIS_URL=" + s.Redis,
		fmt.Sprintf("LETHE_BACKENDS=[{name: %s, kind: s3, s3: {endpoint: %q, bucket: %s, path_style: true, access_key: %s, secret_key: %s}}]",
			backendID, srv.URL, name, benchAccess, benchSecret),
	}
	at.schedule = func(from, to int, due lethe.Time) error {
		conn, err := pgx.Connect(ctx, s.Postgres(name))
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, `UPDATE lethe.objects SET ttl_at = $1, due_at = $1 WHERE key >= $2 AND key < $3`,
			int64(due), fmt.Sprintf(keyPattern, from), fmt.Sprintf(keyPattern, to))
		return errors.Join(err, conn.Close(ctx))
	}
	return at, nil
}
