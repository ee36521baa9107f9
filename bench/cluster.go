package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/cache"
	"github.com/lethe-storage/lethe/cache/rediscache"
	"github.com/lethe-storage/lethe/internal/redisconn"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/routine"
)

// Cluster is where a store on servers lies.
type Cluster struct {
	Postgres string // URL of the database
	Endpoint string // URL of the S3 service
	Access   string // and its credentials, if they are not those of the servers here
	Secret   string
	Bucket   string // empty: no bytes, a backend that answers at once
	Redis    string // URL; empty: no cache
}

// open opens the store, with all that it calls counted.
func (c Cluster) open(ctx context.Context) (s *store, err error) {
	s = &store{}
	if s.db, err = sqlledger.OpenPostgres(ctx, c.Postgres, ledger.Options{ReadGrace: 1}); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	id, err := s.db.Identity(ctx)
	if err != nil {
		return nil, err
	}
	s.id = id.ID
	var bytes blob.Store = nowhere{}
	if c.Bucket != "" {
		if bytes, err = c.bucket(ctx, &s.requests); err != nil {
			return nil, err
		}
	}
	s.calls = blobtest.NewCounting(bytes)
	if c.Bucket != "" {
		s.pair()
	}
	if c.Redis != "" {
		err = s.connect(c.Redis)
	}
	return s, err
}

// bucket opens the backend; requests are counted.
func (c Cluster) bucket(ctx context.Context, requests *atomic.Int64) (*s3blob.Store, error) {
	return s3blob.Open(ctx, s3blob.Options{
		Endpoint: c.Endpoint, Bucket: c.Bucket, PathStyle: true,
		AccessKey: cmp.Or(c.Access, benchAccess), SecretKey: cmp.Or(c.Secret, benchSecret),
		Transport: countedTransport{&http.Transport{MaxIdleConnsPerHost: 32}, requests},
	})
}

func (s *store) connect(url string) error {
	conn, err := redisconn.Open(redisconn.Options{URL: url, Timeout: time.Second})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, conn)
	held, err := rediscache.New(rediscache.Options{Conn: conn})
	s.cache = &countedCache{Cache: held}
	return err
}

// countedCache counts the calls of a cache.
type countedCache struct {
	cache.Cache
	n atomic.Int64
}

func (c *countedCache) drops() int64 {
	if c == nil {
		return 0
	}
	return c.n.Load()
}

// drop is what expire does with contents that are gone; nil without a cache.
func (s *store) drop() routine.Drop {
	if s.cache == nil {
		return nil
	}
	return func(ctx context.Context, contents []lethe.ID) {
		defer s.watch.began("cache")()
		s.cache.n.Add(1)
		cache.DropContents(ctx, s.cache, s.id, contents)
	}
}

// countedTransport counts requests.
type countedTransport struct {
	*http.Transport
	n *atomic.Int64
}

// RoundTrip implements http.RoundTripper.
func (t countedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	t.n.Add(1)
	return t.Transport.RoundTrip(r)
}

// nowhere is a backend whose bytes go at once.
type nowhere struct{ blob.Store }

// Delete says that all keys are gone.
func (nowhere) Delete(_ context.Context, keys []string) ([]blob.Result, error) {
	out := make([]blob.Result, len(keys))
	for i, k := range keys {
		out[i].Key = k
	}
	return out, nil
}

// ReclaimCluster is Reclaim on a store on servers.
func (e Engine) ReclaimCluster(ctx context.Context, c Cluster) (w Work, err error) {
	before, err := rowsRead(ctx, c.Postgres)
	if err != nil {
		return w, err
	}
	s, err := c.open(ctx)
	if err != nil {
		return w, err
	}
	w, err = e.reclaim(ctx, s)
	if err := errors.Join(err, s.close()); err != nil {
		return w, err
	}
	after, err := rowsRead(ctx, c.Postgres)
	w.Rows = after - before
	return w, err
}

// SinglyCluster is Singly on a store on servers.
func SinglyCluster(ctx context.Context, c Cluster, n int) (w Work, err error) {
	s, err := c.open(ctx)
	if err != nil {
		return w, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	return singly(ctx, s, n)
}

// Audit recounts the store: the books must be exact, it must have so many objects,
// and each key of the bucket its row.
func (c Cluster) Audit(ctx context.Context, objects int64) (err error) {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	keys := int64(0)
	if c.Bucket != "" {
		err = s.calls.List(ctx, string(s.id)+"/", "", func(i blob.Info) error {
			if !strings.Contains(i.Key, "/"+epochs+"/") {
				keys++
			}
			return nil
		})
	} else {
		err = s.rowsOf(ctx, &keys)
	}
	if err != nil {
		return err
	}
	return s.audit(ctx, objects, keys)
}

// rowsOf counts the blobs that the ledger knows.
func (s *store) rowsOf(ctx context.Context, n *int64) error {
	totals, err := s.db.Totals(ctx)
	for _, t := range totals {
		*n += t.Blobs
	}
	return err
}

// DeleteRate deletes the keys by calls of a batch each, so many at once, with
// nothing else: what the S3 service does by itself.
func (c Cluster) DeleteRate(ctx context.Context, keys []string, e Engine) (took time.Duration, err error) {
	e = e.withDefaults()
	var requests atomic.Int64
	b, err := c.bucket(ctx, &requests)
	if err != nil {
		return 0, err
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, e.Workers)
	began := lethe.Monotonic{}.Now()
	for w := range e.Workers {
		wg.Go(func() {
			for errs[w] == nil {
				from := int(next.Add(1)-1) * e.Batch
				if from >= len(keys) {
					return
				}
				errs[w] = deleteBatch(ctx, b, keys[from:min(from+e.Batch, len(keys))])
			}
		})
	}
	wg.Wait()
	return lethe.Monotonic{}.Now().Sub(began), errors.Join(errs...)
}

func deleteBatch(ctx context.Context, b blob.Store, keys []string) error {
	results, err := b.Delete(ctx, keys)
	for _, r := range results {
		if r.Err != nil && !errors.Is(r.Err, blob.ErrNotExist) {
			return fmt.Errorf("bench: delete %s: %w", r.Key, r.Err)
		}
	}
	return err
}
