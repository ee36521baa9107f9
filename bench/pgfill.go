package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// FillCluster makes the data set in an empty database, and its bytes as plain files
// in the folder of an S3 server whose objects are files.
func (d Dataset) FillCluster(ctx context.Context, c Cluster, root string, now lethe.Time) error {
	db, err := sqlledger.OpenPostgres(ctx, c.Postgres, ledger.Options{})
	if err != nil {
		return err
	}
	f := d.filler(filepath.Join(root, c.Bucket))
	f.RowsOnly = f.RowsOnly || c.Bucket == ""
	if err := f.create(ctx, db); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, c.Postgres)
	if err != nil {
		return err
	}
	sink := &copied{conn: conn, rows: map[string][][]any{}}
	f.rows = sink
	_, err = conn.Exec(ctx, "SET search_path = lethe; SET synchronous_commit = off")
	if err != nil {
		return errors.Join(err, conn.Close(ctx))
	}
	return f.run(ctx, now)
}

// FillBytes makes only the bytes of the data set, and answers their keys in the
// order of writing.
func (d Dataset) FillBytes(ctx context.Context, c Cluster, root string, now lethe.Time) ([]string, error) {
	f := d.filler(filepath.Join(root, c.Bucket))
	f.store, f.bucket = lethe.NewID(now, zeros{}), lethe.NewID(now, zeros{})
	keys := &keySink{store: f.store}
	f.rows = keys
	err := f.run(ctx, now)
	return keys.keys, err
}

// keySink notes the keys of blobs and forgets the rows.
type keySink struct {
	store lethe.ID
	keys  []string
}

func (k *keySink) add(_ context.Context, table string, values ...any) error {
	if table == "blobs" {
		k.keys = append(k.keys, lethe.BlobKey(k.store, values[0].(lethe.ID)))
	}
	return nil
}

func (k *keySink) close(context.Context, bool) error { return nil }

// copied sends rows by COPY, many at a time, those first that others refer to.
type copied struct {
	conn *pgx.Conn
	rows map[string][][]any
	n    int
}

func (p *copied) add(ctx context.Context, table string, values ...any) error {
	switch table {
	case "digests":
		return nil // only SQLite has it
	case "bodies":
		values[2], values[3] = sqlledger.ServerParts(values[2].([]byte))
	}
	for i, v := range values {
		switch v := v.(type) {
		case lethe.ID:
			values[i] = string(v)
		case lethe.Time:
			values[i] = int64(v)
		case lethe.ContentKind:
			values[i] = string(v)
		}
	}
	p.rows[table] = append(p.rows[table], values)
	if p.n++; p.n%60_000 != 0 {
		return nil
	}
	return p.send(ctx)
}

func (p *copied) send(ctx context.Context) error {
	for _, table := range []string{"contents", "bodies", "blobs", "objects", "bucket_counters", "blob_counters"} {
		names := strings.Split(columns[table], ", ")
		if _, err := p.conn.CopyFrom(ctx, pgx.Identifier{table}, names, pgx.CopyFromRows(p.rows[table])); err != nil {
			return fmt.Errorf("copy %s: %w", table, err)
		}
		p.rows[table] = p.rows[table][:0]
	}
	return nil
}

// close leaves the database as autovacuum would in time.
func (p *copied) close(ctx context.Context, commit bool) error {
	var err error
	if commit {
		if err = p.send(ctx); err == nil {
			// Bodies were given numbers that the sequence has yet to come to.
			_, err = p.conn.Exec(ctx, "SELECT setval(pg_get_serial_sequence('bodies', 'no'), max(no)) FROM bodies HAVING max(no) > 0")
		}
		if err == nil {
			_, err = p.conn.Exec(ctx, "VACUUM ANALYZE")
		}
		if err == nil {
			_, err = p.conn.Exec(ctx, "CHECKPOINT")
		}
	}
	return errors.Join(err, p.conn.Close(ctx))
}
