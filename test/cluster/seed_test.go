package cluster_test

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// seedEach is how many objects one turn puts, and seedCopies how many rows it
	// makes of each, as copies by reference would: what is to be broken is the
	// forgetting, and most of the time should not go into making objects.
	seedEach   = 50
	seedCopies = 100
	seedPause  = time.Second
)

// seed makes four fifths of the objects, in turns that go on through the faults.
func (w *world) seed(ctx context.Context, c *client) error {
	for ctx.Err() == nil && w.counts.seeded.Load() < int64(*objects)*4/5*int64(w.round) {
		var keys []string
		for range seedEach {
			e := c.newEntry("expires")
			if err := c.put(context.WithoutCancel(ctx), e, expiring); e.acked() {
				keys = append(keys, e.key)
			} else if isMistake(err) {
				return err
			}
		}
		// The database may be away; rows of a commit whose answer was lost expire
		// as well.
		if n, err := w.multiply(ctx, keys); err == nil {
			w.counts.seeded.Add(n)
		}
		pause(ctx, seedPause)
	}
	return nil
}

// multiply makes more rows like those of the keys, due within the next seconds,
// and keeps the books; it takes the columns as they are.
func (w *world) multiply(ctx context.Context, keys []string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTime)
	defer cancel()
	conn, err := pgx.Connect(ctx, w.database)
	if err != nil {
		return 0, err
	}
	defer conn.Close(ctx)
	var made int64
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// In the lock order of the store: bucket, objects, contents, counters.
		if _, err := tx.Exec(ctx, `SET LOCAL search_path = lethe; SELECT 1 FROM buckets WHERE name = '`+bucket+`' FOR SHARE`); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `CREATE TEMPORARY TABLE fresh ON COMMIT DROP AS
			SELECT n.* FROM objects o, generate_series(1, $2) i, LATERAL (SELECT $3::bigint + (i * 20000000 / $2) AS due) d,
			LATERAL jsonb_populate_record(o, jsonb_build_object('key', o.key || '/' || i, 'id', substr(md5(o.id || i), 1, 26), 'ttl_at', d.due, 'due_at', d.due)) n
			WHERE o.key = ANY($1) AND o.content_id IS NOT NULL`, keys, seedCopies, int64(now().Add(5*time.Second)))
		if err != nil {
			return err
		}
		made = tag.RowsAffected()
		_, err = tx.Exec(ctx, `INSERT INTO objects SELECT * FROM fresh ORDER BY bucket_id, key;
			WITH more AS (SELECT c.id, f.n FROM contents c JOIN (SELECT content_id, count(*) n FROM fresh GROUP BY content_id) f ON f.content_id = c.id
				ORDER BY c.id FOR UPDATE OF c)
			UPDATE contents SET refs = refs + more.n FROM more WHERE contents.id = more.id;
			INSERT INTO bucket_counters (bucket_id, slot, n, bytes) SELECT bucket_id, 0, count(*), sum(size) FROM fresh GROUP BY bucket_id
			ON CONFLICT (bucket_id, slot) DO UPDATE SET n = bucket_counters.n + excluded.n, bytes = bucket_counters.bytes + excluded.bytes`)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("make copies: %w", err)
	}
	return made, nil
}
