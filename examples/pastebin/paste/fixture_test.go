package paste

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/test/servers"
)

// site is a store on servers of its own.
type site struct {
	*Store
	t      testing.TB
	s3     *s3.Client
	bucket string
	redis  *servers.RedisServer
	client *redis.Client
	ahead  time.Duration // of the clock that judges copies
}

// newSite opens a store whose tables and bucket are there. The functions change its
// configuration.
func newSite(t testing.TB, change ...func(*Config)) *site {
	t.Helper()
	gateway, r := servers.VersityGW(t), servers.NewRedis(t)
	e := &site{t: t, s3: gateway.Client(), bucket: gateway.Bucket(t), redis: r}
	e.client = redis.NewClient(&redis.Options{Addr: r.Addr})
	t.Cleanup(func() { _ = e.client.Close() })
	c := Config{
		Database: servers.Postgres(t), Redis: "redis://" + r.Addr,
		S3:  S3{Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: e.bucket, Access: gateway.Access, Secret: gateway.Secret},
		Now: func() time.Time { return lethe.SystemClock{}.Now().Time().Add(e.ahead) },
		Log: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&c)
	}
	store, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	e.Store = store
	return e
}

func (e *site) create(body string, ttl time.Duration) Paste {
	e.t.Helper()
	p, err := e.Create(e.t.Context(), []byte(body), ttl)
	if err != nil {
		e.t.Fatal(err)
	}
	return p
}

// exec runs SQL as an operator or a cleanup would.
func (e *site) exec(sql string, args ...any) {
	e.t.Helper()
	if _, err := e.db.Exec(e.t.Context(), sql, args...); err != nil {
		e.t.Fatal(err)
	}
}

// ask returns the one value that a query gives.
func ask[T any](t testing.TB, db *pgxpool.Pool, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := db.QueryRow(context.WithoutCancel(t.Context()), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// count is the ref_count of the content, -1 where it has no row.
func (e *site) count(body string) int {
	e.t.Helper()
	return ask[int](e.t, e.db, `SELECT coalesce((SELECT ref_count FROM content WHERE content_hash = $1), -1)`, contentOf([]byte(body)).hash)
}

// reads demands that a read gives the body, "" for ErrNotFound.
func (e *site) reads(code, want string) {
	e.t.Helper()
	_, body, err := e.Read(e.t.Context(), code)
	switch {
	case want == "" && !isNotFound(err):
		e.t.Errorf("read %s: %q, %v, want ErrNotFound", code, body, err)
	case want != "" && (err != nil || string(body) != want):
		e.t.Errorf("read %s: %q, %v, want %q", code, body, err, want)
	}
}

// loseObject removes the bytes of a content behind the service's back.
func (e *site) loseObject(body string) {
	e.t.Helper()
	key := contentOf([]byte(body)).key
	if _, err := e.s3.DeleteObject(e.t.Context(), &s3.DeleteObjectInput{Bucket: &e.bucket, Key: &key}); err != nil {
		e.t.Fatal(err)
	}
}

// keys are those of the objects in the bucket.
func (e *site) keys() []string {
	e.t.Helper()
	out, err := e.s3.ListObjectsV2(e.t.Context(), &s3.ListObjectsV2Input{Bucket: &e.bucket})
	if err != nil {
		e.t.Fatal(err)
	}
	var keys []string
	for _, o := range out.Contents {
		keys = append(keys, *o.Key)
	}
	return keys
}
