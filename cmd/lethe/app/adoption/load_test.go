package adoption

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/rediskeys"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/internal/servers"
)

var (
	loadRows = flag.Int("adoption.rows", 400, "how many rows expire in the test under load")
	loadTime = flag.Duration("adoption.time", 4*time.Second, "how long the application writes at least")
)

// Times of the test under load. An operation of the application is given up well
// before LongestWrite, and no fault lasts as long as what they leave.
const (
	longestOperation = 2 * time.Second
	longestWrite     = 5 * time.Second
	late             = 6 * time.Second
	stuck            = time.Second // for the watchdog
	faultTime        = 400 * time.Millisecond
	naiveRead        = time.Second // that a reader may take to fill its cache
)

// load is a paste service that is written to while its pastes expire.
type load struct {
	*site
	place  place
	db     string // without faults
	faulty []*servers.Faults
	cache  *servers.RedisServer
	server *servers.PostgresServer
	redis  *redis.Client
	alarms alarms

	mu     sync.Mutex
	codes  []string
	failed map[string]bool // bodies whose upload may have been in vain
	done   map[string]int64
	// deleted are codes whose rows the application removed itself, their copies too.
	deleted map[string]bool
}

// alarms are messages of adoption that must not be.
type alarms struct {
	slog.Handler
	t *testing.T
}

// Handle implements slog.Handler.
func (a alarms) Handle(_ context.Context, r slog.Record) error {
	a.look(r.Message)
	return nil
}

func (a alarms) look(message string) {
	if strings.Contains(message, "past the guard") || strings.Contains(message, "counts of contents were wrong") {
		a.t.Error(message)
	}
}

// Enabled implements slog.Handler.
func (a alarms) Enabled(context.Context, slog.Level) bool { return true }

func newLoad(t *testing.T) *load {
	t.Helper()
	gateway, cache, server := servers.VersityGW(t), servers.NewRedis(t), servers.NewPostgres(t, "fsync=off")
	database := server.Database()
	p := place{gateway, database, cache.Addr, gateway.Bucket(t)}
	l := &load{place: p, db: database, cache: cache, server: server, failed: map[string]bool{}, done: map[string]int64{}, deleted: map[string]bool{}, alarms: alarms{slog.DiscardHandler, t}}
	l.site = &site{store: p.open(t), s3: gateway.Client(), bucket: p.bucket, t: t}
	l.redis = redis.NewClient(&redis.Options{Addr: cache.Addr})
	t.Cleanup(func() { _ = l.redis.Close() })
	at, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	toDatabase, toBucket := servers.Proxy(t, at.Host), servers.Proxy(t, strings.TrimPrefix(gateway.Endpoint, "http://"))
	l.faulty = []*servers.Faults{toDatabase, toBucket}
	l.place.database = toDatabase.Via(database)
	l.place.gateway = gateway.At(toBucket.Addr)
	l.Adoption = l.instance("first")
	return l
}

// instance opens one more adoption, behind the faults.
func (l *load) instance(worker string) *Adoption {
	return l.place.adopt(l.t, Options{Worker: worker, Log: slog.New(l.alarms)}, underLoad)
}

// underLoad is how the description is changed for a test under load.
func underLoad(c *adopt.Collection) {
	d := func(d time.Duration) *adopt.Duration { return (*adopt.Duration)(&d) }
	c.Grace = adopt.GraceSpec{Watchdog: d(stuck), Unreferenced: d(0), LongestWrite: d(longestWrite), Late: d(late), CacheAgain: d(naiveRead)}
	c.Cache = append(c.Cache, "plain:{short_code}")
	c.Batch, c.Workers = max(50, *loadRows/20), 2
}

// work runs an adoption until ctx ends; life is how long each of its processes lives
// at most, 0 for ever.
func (l *load) work(ctx context.Context, a *Adoption, life time.Duration) {
	var only []string // all that die, and of the others what leaves the bucket to those who sleep
	if life == 0 {
		only = []string{"expire pastes", "watchdog pastes", "recache pastes"}
	}
	for ctx.Err() == nil {
		one, cancel := ctx, context.CancelFunc(func() {})
		if life > 0 {
			one, cancel = context.WithTimeout(ctx, rand.N(life))
		}
		counts, _ := a.Loop.Once(one, only) // faults are meant
		cancel()
		for routine, c := range counts {
			for what, n := range c {
				l.count(routine+": "+what, n)
			}
		}
		_ = lethe.Sleep(ctx, 20*time.Millisecond)
	}
}

func (l *load) count(what string, n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done[what] += n
}

// sleepy drops copies and then sleeps.
type sleepy struct {
	adopt.Copies
	sleep time.Duration
}

// Drop implements adopt.Copies.
func (s sleepy) Drop(ctx context.Context, keys []string) error {
	return errors.Join(s.Copies.Drop(ctx, keys), lethe.Sleep(ctx, s.sleep))
}

// sleepyBucket sleeps before it deletes.
type sleepyBucket struct {
	adopt.Deleter
	sleep time.Duration
}

// Delete implements adopt.Deleter.
func (s sleepyBucket) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := lethe.Sleep(ctx, s.sleep); err != nil {
		return nil, fmt.Errorf("%w: %w", err, blob.ErrNotDone)
	}
	return s.Deleter.Delete(ctx, keys)
}

// sleepers claim and mark, and go on a good deal later: some of them when others have
// taken over.
func (l *load) sleepers(ctx context.Context, a *Adoption) {
	c := a.Description.Collections["pastes"]
	bucket, err := a.bucket(ctx, "pastes")
	if err != nil {
		l.t.Error(err)
		return
	}
	rows, grace := a.Collection("pastes"), c.Graces()
	expire := func(sleep time.Duration) passes {
		return &adopt.Expire{Collection: "pastes", Records: rows, Holds: rows, Grace: grace, Batch: 20, Copies: sleepy{rediskeys.Copies{Conn: a.redis}, sleep}}
	}
	clean := func(sleep time.Duration, batch int) passes {
		return &adopt.Clean{Collection: "pastes", Contents: rows, Grace: grace, Batch: batch, Boot: a.o.Boot,
			Bucket: sleepyBucket{adopt.Within{Prefix: c.Prefix, Store: bucket}, sleep}}
	}
	var wg sync.WaitGroup
	for who, routine := range map[string]passes{
		"late": expire(stuck + stuck/2), "slow": expire(stuck / 2),
		"late clean": clean(late/2, 20), "slow clean": clean(200*time.Millisecond, 500), "slower clean": clean(400*time.Millisecond, 500),
	} {
		wg.Go(func() {
			for ctx.Err() == nil {
				step := routine.Pass(who)
				for more, err := true, error(nil); more && err == nil; {
					more, err = step(ctx, func(what string, n int64) { l.count(who+": "+what, n) })
				}
				_ = lethe.Sleep(ctx, 5*time.Millisecond)
			}
		})
	}
	wg.Wait()
}

// passes is a routine.
type passes interface {
	Pass(string) func(context.Context, func(string, int64)) (bool, error)
}

// hurry lets no deletion that failed wait until it is tried again.
func (l *load) hurry(ctx context.Context) {
	conn, err := pgx.Connect(ctx, l.db)
	if err != nil {
		l.t.Error(err)
		return
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for lethe.Sleep(ctx, 100*time.Millisecond) == nil {
		_, _ = conn.Exec(ctx, dueNow) // again soon
	}
}

const dueNow = "UPDATE lethe.condemned SET due_at = 0 WHERE state = 2 AND fence = 0"

// trouble lets one server after the other fail for a moment.
func (l *load) trouble(ctx context.Context) {
	fail := func(begin, end func()) {
		begin()
		_ = lethe.Sleep(ctx, rand.N(faultTime))
		end()
		_ = lethe.Sleep(ctx, rand.N(faultTime))
	}
	for ctx.Err() == nil {
		f := l.faulty[rand.IntN(len(l.faulty))]
		switch rand.IntN(4) {
		case 0:
			fail(f.Down, f.Up)
		case 1:
			fail(func() { f.CutAnswers(rand.Int64N(2000)) }, f.Heal)
		case 2:
			fail(l.cache.Freeze, l.cache.Thaw)
		case 3:
			fail(l.cache.Kill, l.cache.Restart)
		}
	}
}

// lately is how many of the newest pastes the users are interested in.
const lately = 30

// bodies are few, so that the same are stored while they are deleted.
func someBody() []byte { return fmt.Appendf(nil, "body %d", rand.IntN(40)) }

func someTTL() time.Duration { return time.Duration(1 + rand.Int64N(int64(700*time.Millisecond))) }

// write does one thing that the application's users do.
func (l *load) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	l.mu.Lock()
	code := ""
	if len(l.codes) > 0 {
		code = l.codes[len(l.codes)-1-rand.IntN(min(len(l.codes), lately))]
	}
	l.mu.Unlock()
	body := someBody()
	var err error
	var p paste.Paste
	switch n := rand.IntN(10); {
	case n < 4 || code == "":
		if p, err = l.store.Create(ctx, body, someTTL()); err == nil {
			l.mu.Lock()
			l.codes = append(l.codes, p.Code)
			l.mu.Unlock()
		}
	case n < 6:
		_, err = l.store.Extend(ctx, code, someTTL())
	case n < 8:
		_, err = l.store.Replace(ctx, code, body)
	case n < 9:
		l.mu.Lock()
		l.deleted[code] = true
		l.mu.Unlock()
		err = l.store.Delete(ctx, code)
		body = nil
	default:
		l.read(ctx, code)
		return
	}
	if err != nil && body != nil {
		l.mu.Lock()
		l.failed[string(body)] = true
		l.mu.Unlock()
	}
}

// read reads through the service's cache, and as one who caches without an end.
func (l *load) read(ctx context.Context, code string) {
	began := lethe.SystemClock{}.Now()
	p, body, err := l.store.Read(ctx, code)
	if errors.Is(err, paste.ErrBytesMissing) {
		l.t.Errorf("paste %s: %v", code, err)
	}
	if err != nil {
		return
	}
	if p.ExpiresAt != nil && p.ExpiresAt.Before(began.Time()) {
		l.t.Errorf("paste %s was served although it had expired", code)
	}
	left := naiveRead - lethe.SystemClock{}.Now().Sub(began)
	_ = lethe.Sleep(ctx, rand.N(max(left/2, 1))) // long enough for the row to go meanwhile
	left = naiveRead - lethe.SystemClock{}.Now().Sub(began)
	fill, cancel := context.WithTimeout(ctx, max(left/2, 0))
	defer cancel()
	l.redis.Set(fill, "plain:"+code, body, 0)
}

// drain lets everything expire and go, once nothing fails any more.
func (l *load) drain(ctx context.Context) {
	l.t.Helper()
	conn, err := pgx.Connect(ctx, l.db)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close(ctx)
	// An upload whose row was never committed is no record: it is stored once more.
	for body := range l.failed {
		for { // until no mark stands in the way
			_, err := l.store.Create(ctx, []byte(body), time.Millisecond)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				l.t.Fatal(err)
			}
			_, _ = l.Loop.Once(ctx, []string{"clean pastes"})
		}
	}
	const left = `SELECT (SELECT count(*) FROM pastes WHERE expires_at IS NOT NULL), (SELECT count(*) FROM content WHERE ref_count = 0),
		(SELECT count(*) FROM lethe.condemned WHERE state < 3), (SELECT count(*) FROM lethe.cache_due)`
	var rows, contents, marks, copies int
	for {
		_, err := l.Loop.Once(ctx, nil)
		if ctx.Err() != nil {
			l.t.Fatalf("%d rows, %d contents, %d marks and %d batches of copies are left: %v", rows, contents, marks, copies, err)
		}
		if err := conn.QueryRow(ctx, left).Scan(&rows, &contents, &marks, &copies); err != nil {
			l.t.Fatal(err)
		}
		if rows+contents+marks+copies == 0 {
			return
		}
		// What failed need not wait until it is tried again.
		if _, err := conn.Exec(ctx, dueNow); err != nil {
			l.t.Fatal(err)
		}
		_ = lethe.Sleep(ctx, 100*time.Millisecond)
	}
}

// verify compares database, bucket and cache.
func (l *load) verify(ctx context.Context, want []paste.Paste) {
	l.t.Helper()
	conn, err := pgx.Connect(ctx, l.db)
	if err != nil {
		l.t.Fatal(err)
	}
	defer conn.Close(ctx)
	var wrong, rows int
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM content c WHERE ref_count <> (SELECT count(*) FROM pastes p WHERE p.content_hash = c.content_hash)`).Scan(&wrong); err != nil || wrong != 0 {
		l.t.Errorf("%d counts are wrong, %v", wrong, err)
	}
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM pastes`).Scan(&rows); err != nil || rows != len(want) {
		l.t.Errorf("%d rows are left, want %d, %v", rows, len(want), err)
	}
	keys := map[string]bool{}
	for _, p := range want {
		if _, body, err := l.store.Read(ctx, p.Code); err != nil || !bytes.Contains(body, []byte("body")) {
			l.t.Errorf("a paste that lives reads %q, %v", body, err)
		}
		keys["content/"+p.Hash] = true
	}
	probe := func(key string) bool { return strings.HasPrefix(key, "content/.lethe/") } // cut off by a fault
	if got, want := slices.DeleteFunc(l.keys(), probe), slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		l.t.Errorf("the bucket has %d objects, want %d: %v", len(got), len(want), got)
	}
	copies, err := l.redis.Keys(ctx, "*").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	lives := map[string]bool{}
	for _, p := range want {
		lives[p.Code] = true
	}
	for _, key := range copies {
		if _, code, _ := strings.Cut(key, ":"); !lives[code] && !l.deleted[code] {
			l.t.Errorf("the cache has %s, which is gone", key)
		}
	}
}

// fill stores what expires at once, and returns what lives.
func (l *load) fill(ctx context.Context) (live []paste.Paste) {
	l.t.Helper()
	err := paste.Fill(ctx, l.store, paste.Filling{Pastes: *loadRows, Shared: 0.3, TTL: time.Millisecond})
	if err != nil {
		l.t.Fatal(err)
	}
	for i := range 10 {
		p, err := l.store.Create(ctx, fmt.Appendf(nil, "body %d", i), 0)
		if err != nil {
			l.t.Fatal(err)
		}
		live = append(live, p)
	}
	return live
}

// while lets the application write beside others for its time, and ends them then.
func (l *load) while(ctx context.Context, others ...func(context.Context)) {
	working, stop := context.WithCancel(ctx)
	var workers, writers sync.WaitGroup
	for _, o := range others {
		workers.Go(func() { o(working) })
	}
	writing, enough := context.WithTimeout(ctx, *loadTime)
	defer enough()
	for range 4 {
		writers.Go(func() {
			for writing.Err() == nil {
				l.write(ctx)
			}
		})
	}
	writers.Wait()
	stop()
	workers.Wait()
	for _, f := range l.faulty {
		f.Heal()
	}
}

// did demands that each was done: otherwise it was no test of what it is to test.
func (l *load) did(what ...string) {
	l.t.Helper()
	for _, w := range what {
		if l.done[w] == 0 {
			l.t.Errorf("nothing was counted as %q: %v", w, l.done)
		}
	}
	l.t.Log(l.done)
}

// loadLimit is how long a test under load may take.
func loadLimit() time.Duration { return 2*time.Minute + time.Duration(*loadRows)*20*time.Millisecond }

// Rows expire while the application writes, several instances reclaim, some die and
// some oversleep, and database, bucket and cache fail. In the end everything is
// exact.
func TestUnderLoad(t *testing.T) {
	l := newLoad(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
	defer cancel()
	live := l.fill(ctx)
	others := []func(context.Context){l.trouble, l.hurry}
	for i, life := range []time.Duration{0, 0, 300 * time.Millisecond} {
		a := l.instance(fmt.Sprint("worker ", i))
		others = append(others, func(ctx context.Context) { l.work(ctx, a, life) })
	}
	sleeper := l.instance("sleeper")
	others = append(others, func(ctx context.Context) { l.sleepers(ctx, sleeper) })
	l.while(ctx, others...)
	l.drain(ctx)
	l.verify(ctx, live)
	l.did("expire pastes: rows", "watchdog pastes: items", "recache pastes: items", "slow clean: objects")
}
