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

// ground is where a store lies before it is served, full of objects that live.
type ground struct {
	env      []string // that leads a server to it
	schedule func(from, to int, due lethe.Time) error
	end      func() error // nil: nothing to end
}

// ground fills a store: on SQLite and files in dir, or on servers, in a database of the
// given name.
func (d Dataset) ground(ctx context.Context, dir, name string, on *Servers) (ground, error) {
	if on != nil {
		return on.ground(ctx, dir, name, d)
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

// ground fills a fresh database, and a folder or a bucket of an S3 server that it starts.
func (s *Servers) ground(ctx context.Context, dir, name string, d Dataset) (at ground, err error) {
	if d.Before == 0 {
		if err := s.create(ctx, name); err != nil {
			return at, err
		}
	}
	backend := fmt.Sprintf("{name: %s, kind: dir, path: %q}", backendID, filepath.Join(dir, name))
	root := dir
	if s.S3.Binary != "" {
		root = filepath.Join(dir, "s3", "root")
	}
	if err := os.MkdirAll(filepath.Join(root, name), 0o700); err != nil {
		return at, err
	}
	if err := d.FillCluster(ctx, Cluster{Postgres: s.Postgres(name), Bucket: name}, root, lethe.SystemClock{}.Now()); err != nil {
		return at, err
	}
	if s.S3.Binary != "" {
		srv, err := s.S3.start(ctx, filepath.Join(dir, "s3"))
		if err != nil {
			return at, err
		}
		at.end = srv.stop
		backend = fmt.Sprintf("{name: %s, kind: s3, s3: {endpoint: %q, bucket: %s, path_style: true, access_key: %s, secret_key: %s}}",
			backendID, srv.URL, name, benchAccess, benchSecret)
	}
	url := s.Postgres(name)
	if s.Reach != nil {
		url = s.Reach(url)
	}
	at.env = []string{"LETHE_DATABASE_URL=" + url, "LETHE_BACKENDS=[" + backend + "]"}
	if s.Redis != "" {
		at.env = append(at.env, "LETHE_REDIS_URL="+s.Redis)
	}
	at.schedule = func(from, to int, due lethe.Time) error { return s.schedule(ctx, name, from, to, due) }
	return at, nil
}

// create makes an empty database in place of the one of that name.
func (s *Servers) create(ctx context.Context, name string) (err error) {
	admin, err := pgx.Connect(ctx, s.Postgres("postgres"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close(ctx)) }()
	if _, err := admin.Exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	_, err = admin.Exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'")
	return err
}

func (s *Servers) schedule(ctx context.Context, name string, from, to int, due lethe.Time) error {
	conn, err := pgx.Connect(ctx, s.Postgres(name))
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `UPDATE lethe.objects SET ttl_at = $1, due_at = $1 WHERE key >= $2 AND key < $3`,
		int64(due), fmt.Sprintf(keyPattern, from), fmt.Sprintf(keyPattern, to))
	return errors.Join(err, conn.Close(ctx))
}
