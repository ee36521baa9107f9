package bench_test

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/rediskeys"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/test/servers"
)

var (
	adoptRows   = flag.Int("adopt.rows", 1000, "how many pastes of TestAdopt expire")
	adoptSingle = flag.Int("adopt.single", 0, "how many of them the job takes that goes row by row (0: a twentieth)")
	adoptPlain  = flag.Bool("adopt.plain", true, "run the batch flow as well")
	adoptBatch  = flag.Int("adopt.batch", 0, "rows a transaction of lethe adopt takes (0: its default)")
	adoptNet    = flag.Duration("adopt.network", 0, "how long the way to PostgreSQL and Redis and back takes in TestAdopt, in whole milliseconds")
	adoptDelay  = flag.Duration("adopt.delay", time.Millisecond, "how long a request to the bucket of TestAdopt takes; with -adopt.s3 the way there and back, in whole milliseconds")
	adoptGangs  = flag.String("adopt.workers", "1,2,4", "how many workers lethe adopt has in TestAdopt, one after another")
)

// bucket counts, and takes its time for each request. It has no objects unless it has a
// store.
type bucket struct {
	requests, objects atomic.Int64
	store             adopt.Deleter
}

// Delete implements adopt.Deleter.
func (b *bucket) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	b.requests.Add(1)
	b.objects.Add(int64(len(keys)))
	if b.store != nil {
		return b.store.Delete(ctx, keys)
	}
	if err := lethe.Sleep(ctx, *adoptDelay); err != nil {
		return nil, err
	}
	out := make([]blob.Result, len(keys))
	for i, k := range keys {
		out[i].Key = k
	}
	return out, nil
}

// pastes is the paste service's tables, full of what has expired.
type pastes struct {
	t      *testing.T
	url    string
	db     *pgxpool.Pool
	redis  *redis.Client
	conn   *redisconn.Conn
	bucket *bucket
	// trips count those of -adopt.statements.
	trips       *bench.Trips
	tripsBefore int64

	gateway    *servers.S3Server // nil: the bucket only counts
	bucketName string
}

const fillContents = `INSERT INTO content (content_hash, object_key, size, ref_count)
	SELECT hash, 'content/' || hash, 200, n FROM (
		SELECT encode(sha256(CASE WHEN i % 10 < 3 THEN 'shared ' || i / 100 ELSE 'own ' || i END::bytea), 'hex') AS hash, count(*) AS n
		FROM generate_series(0, $1 - 1) AS i GROUP BY 1) AS h`

const fillPastes = `INSERT INTO pastes (short_code, content_hash, expires_at)
	SELECT 'p' || i, encode(sha256(CASE WHEN i % 10 < 3 THEN 'shared ' || i / 100 ELSE 'own ' || i END::bytea), 'hex'), now() - i * interval '1 millisecond' - interval '1 minute'
	FROM generate_series(0, $1 - 1) AS i`

// newPastes fills n pastes in, 30 % of which share their content with 29 others.
func newPastes(t *testing.T, n int) *pastes {
	t.Helper()
	r, pg := servers.NewRedis(t), servers.NewPostgres(t, adoptServer(n)...)
	p := &pastes{t: t, url: pg.Database(), bucket: &bucket{}}
	addr := r.Addr
	if *adoptNet > 0 {
		both := []*servers.Faults{servers.Proxy(t, pg.Addr), servers.Proxy(t, r.Addr)}
		for _, f := range both {
			f.Latency(*adoptNet, 0)
		}
		p.url, addr = both[0].Via(p.url), both[1].Addr
	}
	p.countTrips()
	var err error
	if p.db, err = pgxpool.New(t.Context(), p.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.db.Close)
	p.connect(addr)
	p.makeLog()
	schema, err := os.ReadFile("../examples/pastebin/paste/schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text string
		args []any
	}{{string(schema), nil}, {fillContents, []any{n}}, {fillPastes, []any{n}}, {"VACUUM ANALYZE", nil}} {
		if _, err := p.db.Exec(t.Context(), step.text, step.args...); err != nil {
			t.Fatal(err)
		}
	}
	p.fillBucket()
	return p
}

// connect connects with Redis.
func (p *pastes) connect(addr string) {
	p.t.Helper()
	p.redis = redis.NewClient(&redis.Options{Addr: addr})
	p.t.Cleanup(func() { _ = p.redis.Close() })
	var err error
	if p.conn, err = redisconn.Open(redisconn.Options{URL: "redis://" + addr, Timeout: 10 * time.Second}); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = p.conn.Close() })
}

// did is what a job has done, and what it cost.
type did struct {
	rows, objects, requests int64
	took                    time.Duration
}

func (d did) rate() float64 { return float64(d.rows) / d.took.Seconds() }

// run measures a job that returns how many rows it removed.
func (p *pastes) run(job func(ctx context.Context) (int64, error)) did {
	p.t.Helper()
	began := lethe.Monotonic{}.Now()
	n, err := job(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return did{n, p.bucket.objects.Load(), p.bucket.requests.Load(), lethe.Monotonic{}.Now().Sub(began)}
}

// rowByRow is the job that the text begins with: each row by itself.
func (p *pastes) rowByRow(limit int) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		for range limit {
			var code, hash, key string
			err := p.db.QueryRow(ctx, `SELECT short_code, content_hash FROM pastes WHERE expires_at < now() AND deletion_status = 'NOT_EXPIRED'
				ORDER BY expires_at LIMIT 1`).Scan(&code, &hash)
			if err != nil {
				return n, err
			}
			var left int
			if err := p.db.QueryRow(ctx, `UPDATE content SET ref_count = ref_count - 1 WHERE content_hash = $1 RETURNING ref_count, object_key`, hash).Scan(&left, &key); err != nil {
				return n, err
			}
			if _, err := p.db.Exec(ctx, `DELETE FROM pastes WHERE short_code = $1`, code); err != nil {
				return n, err
			}
			if left == 0 {
				if _, err := p.bucket.Delete(ctx, []string{key}); err != nil {
					return n, err
				}
				if _, err := p.db.Exec(ctx, `DELETE FROM content WHERE content_hash = $1`, hash); err != nil {
					return n, err
				}
			}
			if err := p.redis.Del(ctx, "paste:"+code).Err(); err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
}

// batchFlow is the text's flow, written plainly: a batch in one transaction, the
// bucket and the cache in between.
func (p *pastes) batchFlow(ctx context.Context) (n int64, err error) {
	for {
		done, err := p.batch(ctx)
		if n += done; err != nil || done == 0 {
			return n, err
		}
	}
}

func (p *pastes) batch(ctx context.Context) (int64, error) {
	tx, err := p.db.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = tx.Rollback(ctx) }() // after Commit it does nothing
	type row struct{ Code, Hash string }
	rows, err := tx.Query(ctx, `SELECT short_code, content_hash FROM pastes WHERE expires_at < now() AND deletion_status = 'NOT_EXPIRED' LIMIT 1000`)
	if err != nil {
		return 0, err
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	if err != nil || len(due) == 0 {
		return 0, err
	}
	var codes, copies, hashes, keys []string
	for _, r := range due {
		var left int
		var key string
		if err := tx.QueryRow(ctx, `UPDATE content SET ref_count = ref_count - 1 WHERE content_hash = $1 RETURNING ref_count, object_key`, r.Hash).Scan(&left, &key); err != nil {
			return 0, err
		}
		codes, copies = append(codes, r.Code), append(copies, "paste:"+r.Code)
		if left == 0 {
			hashes, keys = append(hashes, r.Hash), append(keys, key)
		}
	}
	if len(keys) > 0 {
		if _, err := p.bucket.Delete(ctx, keys); err != nil {
			return 0, err
		}
	}
	// The foreign key wants the rows to go before their contents.
	if _, err := tx.Exec(ctx, `DELETE FROM pastes WHERE short_code = ANY ($1)`, codes); err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM content WHERE content_hash = ANY ($1)`, hashes); err != nil {
		return 0, err
	}
	if err := p.redis.Del(ctx, copies...).Err(); err != nil {
		return 0, err
	}
	return int64(len(due)), tx.Commit(ctx)
}

// adopted is lethe's, with so many workers, at so many rows a second if rate is not 0.
func (p *pastes) adopted(workers, rate int) func(context.Context) (int64, error) {
	p.t.Helper()
	c := adopt.Collection{
		Mode: adopt.Reclaim, RatePerSecond: rate, Batch: *adoptBatch, Cache: []string{"paste:{short_code}"}, Guard: adopt.TriggerGuard,
		Rows: adopt.Rows{
			Table: "pastes", Key: "short_code", End: "expires_at", Initiated: "deletion_initiated_at", Content: "content_hash",
			Status: &adopt.Status{Column: "deletion_status", Live: "NOT_EXPIRED", Claimed: "DELETION_IN_PROGRESS"},
		},
		Contents: &adopt.Table{Table: "content", Key: "content_hash", Count: "ref_count", Object: "{object_key}"},
	}
	zero := adopt.Duration(0)
	c.Grace.Unreferenced = &zero
	db, err := sqladopt.Open(p.t.Context(), p.url, sqladopt.Options{Connections: 2*workers + 2})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	if err := db.Install(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	rows, err := db.Collection(p.t.Context(), "pastes", c)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := rows.InstallGuard(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	expire := &adopt.Expire{Collection: "pastes", Records: rows, Holds: rows, Copies: rediskeys.Copies{Conn: p.conn}, Grace: c.Graces(), Batch: c.BatchSize()}
	clean := &adopt.Clean{Collection: "pastes", Contents: rows, Bucket: p.bucket, Grace: c.Graces(), Batch: c.BatchSize(), Boot: lethe.Monotonic{}}
	expire.Clean, expire.Ender = clean, rows
	gangOf := func() gang { return gang{workers, throttle.PerSecond[int](rate, c.BatchSize())} }
	expirers, cleaners := gangOf(), gangOf() // each routine has the rate
	return func(ctx context.Context) (int64, error) {
		var n atomic.Int64
		count := func(name string, k int64) {
			if name == "rows" {
				n.Add(k)
			}
		}
		// Both at the same time, as lethe adopt run does.
		var cleaning sync.WaitGroup
		var cleaned error
		expired := make(chan struct{})
		cleaning.Go(func() {
			for last := false; !last && cleaned == nil; {
				select {
				case <-expired:
					last = true
				case <-time.After(cleanPause):
				}
				cleaned = cleaners.pass(ctx, clean.Pass, count)
			}
		})
		err := expirers.pass(ctx, expire.Pass, count)
		close(expired)
		cleaning.Wait()
		return n.Load(), errors.Join(err, cleaned)
	}
}

// cleanPause lets whole batches come together.
const cleanPause = 500 * time.Millisecond

// gang is the workers of a routine, which share a rate.
type gang struct {
	workers  int
	throttle func(context.Context, int) error // nil: no limit
}

// pass makes a pass with all of them.
func (g gang) pass(ctx context.Context, pass func(string) func(context.Context, func(string, int64)) (bool, error), count func(string, int64)) error {
	var wg sync.WaitGroup
	errs := make(chan error, g.workers)
	for i := range g.workers {
		step := pass(fmt.Sprint("worker", i))
		wg.Go(func() {
			for more := true; more; {
				var err error
				var items int64
				more, err = step(ctx, func(name string, n int64) {
					count(name, n)
					if name == "items" {
						items += n
					}
				})
				if err == nil && g.throttle != nil && items > 0 {
					err = g.throttle(ctx, int(items))
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	return <-errs
}

// TestAdopt holds each way of reclaiming the same pastes to the same books, and counts
// what it asks of the bucket. Its rates are worth something for many rows on a machine
// that does nothing else: go test ./bench -run TestAdopt -v -adopt.rows=1000000
func TestAdopt(t *testing.T) {
	n := *adoptRows
	single := newPastes(t, n)
	base := single.run(single.rowByRow(cmp.Or(*adoptSingle, n/20)))
	t.Logf("row by row, %d rows: %.0f rows/s, %d requests", base.rows, base.rate(), base.requests)
	beside := func(did) string { return "" }
	if *adoptPlain {
		plain := newPastes(t, n)
		d := plain.run(plain.batchFlow)
		plain.reclaimed(d, n)
		t.Logf("batch flow, %d rows: %.0f rows/s (%.1f times), %d requests", d.rows, d.rate(), d.rate()/base.rate(), d.requests)
		beside = func(o did) string { return fmt.Sprintf(", %.1f times the batch flow", o.rate()/d.rate()) }
	}
	gangs := *adoptGangs
	if n < 10_000 { // for the books two are as good
		gangs = "2"
	}
	for gang := range strings.SplitSeq(gangs, ",") {
		workers, err := strconv.Atoi(gang)
		if err != nil || workers < 1 {
			t.Fatalf("-adopt.workers has %q in place of a number of workers", gang)
		}
		p := newPastes(t, n)
		job := p.adopted(workers, 0)
		p.count()
		d := p.run(job)
		p.reclaimed(d, n)
		t.Logf("lethe adopt, %d workers, %d rows: %.0f rows/s (%.1f times row by row%s), %d requests",
			workers, d.rows, d.rate(), d.rate()/base.rate(), beside(d), d.requests)
		p.counted(n)
		if most := 2*d.objects/1000 + int64(workers); d.requests > most && *adoptBatch == 0 {
			t.Errorf("%d workers: %d requests for %d objects, want at most %d", workers, d.requests, d.objects, most)
		}
	}
}

// reclaimed demands that nothing is left.
func (p *pastes) reclaimed(d did, n int) {
	p.t.Helper()
	var rows, contents int64
	if err := p.db.QueryRow(p.t.Context(), `SELECT (SELECT count(*) FROM pastes), (SELECT count(*) FROM content)`).Scan(&rows, &contents); err != nil {
		p.t.Fatal(err)
	}
	if d.rows != int64(n) || rows != 0 || contents != 0 {
		p.t.Errorf("%d of %d rows were removed, %d rows and %d contents are left", d.rows, n, rows, contents)
	}
	p.emptied()
}
