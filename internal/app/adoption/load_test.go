package adoption

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/rediskeys"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

var (
	loadRows = flag.Int("adoption.rows", 400, "how many rows expire in the test under load")
	loadTime = flag.Duration("adoption.time", 4*time.Second, "how long the application writes at least")
)

// load is a paste service that is written to while its pastes expire.
type load struct {
	*rig
	service pasteService
	redis   *redis.Client

	codes  []string
	failed map[string]bool // bodies whose upload may have been in vain
	// deleted are codes whose rows the application removed itself, their copies too.
	deleted map[string]bool
}

// newLoad starts a paste service on a database, on PostgreSQL the example's.
func newLoad(t *testing.T, e engine) *load {
	t.Helper()
	if e.name != postgres.name {
		return newPastes(t, e, "    guard: trigger\n")
	}
	l := newLoadAt(t, e, "PASTEBIN_")
	p := place{l.gateway.S3, l.address, l.cache.Addr, l.bucket}
	l.service = p.open(t)
	text, err := os.ReadFile("../../../examples/pastebin/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	l.job.Text = string(text)
	l.install()
	return l
}

// newPastes starts pastes on a database, with more of their description.
func newPastes(t *testing.T, e engine, more string) *load {
	t.Helper()
	l := newLoadAt(t, e, "")
	for _, text := range e.tables {
		if _, err := l.db.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	l.service = &pastes{rig: l.rig}
	l.job.Text = pastesDescription + more
	l.alarms.unguarded = strings.Contains(more, "guard: quarantine")
	l.install()
	return l
}

func newLoadAt(t *testing.T, e engine, prefix string) *load {
	t.Helper()
	l := &load{rig: newRig(t, e, prefix), failed: map[string]bool{}, deleted: map[string]bool{}}
	l.cache = servers.NewRedis(t)
	l.job.Env[prefix+"REDIS"] = "redis://" + l.cache.Addr
	l.redis = redis.NewClient(&redis.Options{Addr: l.cache.Addr})
	t.Cleanup(func() { _ = l.redis.Close() })
	return l
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

// sleepers claim and mark, and continue much later, some after others have
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

// lately is how many of the newest pastes users access.
const lately = 30

// someBody returns one of few bodies, so that the same are stored while they
// are deleted.
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
		if p, err = l.service.Create(ctx, body, someTTL()); err == nil {
			l.mu.Lock()
			l.codes = append(l.codes, p.Code)
			l.mu.Unlock()
		}
	case n < 6:
		_, err = l.service.Extend(ctx, code, someTTL())
	case n < 8:
		_, err = l.service.Replace(ctx, code, body)
	case n < 9:
		l.mu.Lock()
		l.deleted[code] = true
		l.mu.Unlock()
		err = l.service.Delete(ctx, code)
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

// read reads through the service's cache, and through one without expiry.
func (l *load) read(ctx context.Context, code string) {
	began := lethe.SystemClock{}.Now()
	p, body, err := l.service.Read(ctx, code)
	if errors.Is(err, paste.ErrBytesMissing) && l.guarded() {
		l.t.Errorf("paste %s: %v", code, err)
	}
	if err != nil {
		return
	}
	if p.ExpiresAt != nil && p.ExpiresAt.Before(began.Time()) {
		l.t.Errorf("paste %s was served although it had expired", code)
	}
	left := naiveRead - lethe.SystemClock{}.Now().Sub(began)
	_ = lethe.Sleep(ctx, rand.N(max(left/2, 1))) // long enough for the row to be removed meanwhile
	left = naiveRead - lethe.SystemClock{}.Now().Sub(began)
	fill, cancel := context.WithTimeout(ctx, max(left/2, 0))
	defer cancel()
	l.redis.Set(fill, "plain:"+code, body, 0)
}

// guarded reports whether bytes must never be missing, not even temporarily.
func (l *load) guarded() bool { return l.Description.Collections["pastes"].Quarantine == nil }

// drain lets everything expire and be deleted, without further faults.
func (l *load) drain(ctx context.Context) {
	l.t.Helper()
	// An upload whose row was never committed is not recorded: it is stored
	// once more.
	for body := range l.failed {
		for { // until no mark prevents it
			_, err := l.service.Create(ctx, []byte(body), time.Millisecond)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				l.t.Fatal(err)
			}
			_, _ = l.db.ExecContext(ctx, l.dueNow())
			_, _ = l.Loop.Once(ctx, []string{"clean pastes"})
		}
	}
	for {
		_, err := l.Loop.Once(ctx, nil)
		left := l.left()
		if ctx.Err() != nil {
			l.t.Fatalf("left are %v: %v", left, err)
		}
		if len(left) == 0 {
			l.tell("everything is gone")
			return
		}
		// Failed deletions are due at once.
		if _, err := l.db.ExecContext(ctx, l.dueNow()); err != nil {
			l.t.Fatal(err)
		}
		_ = lethe.Sleep(ctx, 100*time.Millisecond)
	}
}

// left counts what is still to be deleted.
func (l *load) left() map[string]int64 {
	l.t.Helper()
	out, last := map[string]int64{}, 2 // state of marks
	if !l.guarded() {
		last = 3 // their objects are looked for once more
	}
	for what, query := range map[string]string{
		"rows":                  "SELECT count(*) FROM pastes WHERE expires_at IS NOT NULL",
		"contents":              "SELECT count(*) FROM content WHERE ref_count = 0",
		"marks":                 "SELECT count(*) FROM " + l.engine.schema + fmt.Sprintf("condemned WHERE state <= %d", last),
		"batches of copies":     "SELECT count(*) FROM " + l.engine.schema + "cache_due",
		"objects in quarantine": "SELECT count(*) FROM " + l.engine.schema + "quarantined",
	} {
		if n := l.number(query); n > 0 {
			out[what] = n
		}
	}
	return out
}

// verify compares database, bucket and cache.
func (l *load) verify(ctx context.Context, want []paste.Paste) {
	l.t.Helper()
	if n := l.number(`SELECT count(*) FROM content c WHERE ref_count <> (SELECT count(*) FROM pastes p WHERE p.content_hash = c.content_hash)`); n != 0 {
		l.t.Errorf("%d counts are wrong", n)
	}
	if n := l.number(`SELECT count(*) FROM pastes`); n != int64(len(want)) {
		l.t.Errorf("%d rows are left, want %d", n, len(want))
	}
	keys, lives := map[string]bool{}, map[string]bool{}
	for _, p := range want {
		if _, body, err := l.service.Read(ctx, p.Code); err != nil || hashOf(body) != p.Hash {
			l.t.Errorf("a paste that lives reads %q, %v", body, err)
		}
		keys["content/"+p.Hash], lives[p.Code] = true, true
	}
	if got, want := l.keys(""), slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		l.t.Errorf("the bucket has %d objects, want %d: %.20q", len(got), len(want), got)
	}
	copies, err := l.redis.Keys(ctx, "*").Result()
	if err != nil {
		l.t.Fatal(err)
	}
	for _, key := range copies {
		kind, code, _ := strings.Cut(key, ":")
		if lives[code] || l.deleted[code] || kind == "paste" && l.blocked(ctx, key) {
			continue
		}
		l.t.Errorf("the cache has %s, which is gone", key)
	}
}

// blocked reports whether a key holds no copy, but the example's note that a
// paste is being read or changed. A frozen Redis takes the note and refuses its
// removal, so that the note stays until its own end.
func (l *load) blocked(ctx context.Context, key string) bool {
	l.t.Helper()
	value, err := l.redis.Get(ctx, key).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		l.t.Fatal(err)
	}
	ttl, err := l.redis.PTTL(ctx, key).Result()
	if err != nil {
		l.t.Fatal(err)
	}
	return !strings.HasPrefix(value, "p") && ttl != -1
}

// fill stores what expires at once, and returns what is live.
func (l *load) fill(ctx context.Context) (live []paste.Paste) {
	l.t.Helper()
	var filling errgroup.Group
	filling.SetLimit(16)
	for i := range *loadRows {
		filling.Go(func() error {
			body := fmt.Appendf(nil, "row %d", i)
			if i%10 < 3 {
				body = fmt.Appendf(nil, "shared %d", i/100)
			}
			return l.create(ctx, body)
		})
	}
	if err := filling.Wait(); err != nil {
		l.t.Fatal(err)
	}
	for i := range 10 {
		p, err := l.service.Create(ctx, fmt.Appendf(nil, "body %d", i), 0)
		if err != nil {
			l.t.Fatal(err)
		}
		live = append(live, p)
	}
	return live
}

// create stores what expires at once, and repeats the transaction as often as
// needed.
func (l *load) create(ctx context.Context, body []byte) (err error) {
	for range 20 {
		if _, err = l.service.Create(ctx, body, time.Millisecond); err == nil {
			return nil
		}
	}
	return err
}

// loadLimit is how long a test under load may take.
func loadLimit() time.Duration { return 2*time.Minute + time.Duration(*loadRows)*20*time.Millisecond }

// Rows expire while the application writes, several instances reclaim, some die
// and some pause, and database, bucket and cache fail. In the end everything is
// exact.
func TestUnderLoad(t *testing.T) {
	for _, e := range []engine{postgres, mariadb, sqlite} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			l := newLoad(t, e)
			ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
			defer cancel()
			live := l.fill(ctx)
			others := []func(context.Context){l.trouble, l.hurry}
			for i, life := range []time.Duration{0, 0, 300 * time.Millisecond} {
				a := l.instance(fmt.Sprint("worker ", i))
				if life > 0 {
					others = append(others, func(ctx context.Context) { l.work(ctx, a, life) })
					continue
				}
				// The others leave what pausing ones remove from the bucket.
				for _, routine := range []string{"expire pastes", "watchdog pastes", "recache pastes"} {
					others = append(others, func(ctx context.Context) { l.work(ctx, a, 0, routine) })
				}
			}
			sleeper := l.instance("sleeper")
			others = append(others, func(ctx context.Context) { l.sleepers(ctx, sleeper) })
			want := map[string]int64{"expire pastes: rows": int64(*loadRows), "watchdog pastes: items": 1, "recache pastes: items": 1, "slow clean: objects": 1}
			l.until(ctx, want, l.write, others...)
			l.drain(ctx)
			l.verify(ctx, live)
		})
	}
}

// An application can refer to a content whose object is being moved into
// quarantine, even without an upload. Processes are killed between copy, record
// and delete; database, bucket and cache fail. Whatever is referred to gets its
// bytes back, and the quarantine has no unrecorded object.
func TestQuarantineUnderLoad(t *testing.T) {
	for _, e := range []engine{postgres, mariadb, sqlite} {
		t.Run(e.name, func(t *testing.T) {
			if *killCount == 0 {
				t.Skip("make crash runs it")
			}
			t.Parallel()
			l := newPastes(t, e, "    guard: quarantine\n    quarantine: {prefix: kept/}\n")
			application := l.service.(*pastes)
			application.trusting = true
			ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
			defer cancel()
			live := len(l.fill(ctx))
			instance := l.instance("instance")
			want := l.kills()
			want["known contents"], want["clean pastes: objects"] = 1, 1
			want["referred to again"], want["quarantine pastes: restored"] = 1, 1
			l.until(ctx, want, l.write, l.killed, l.killed, l.restarts, l.trouble, l.hurry, application.referAgain,
				func(ctx context.Context) { l.work(ctx, instance, 0) })
			l.recorded()
			l.drain(ctx)
			lasting := application.lasting()
			if len(lasting) < live {
				t.Errorf("%d pastes without an end are left of %d", len(lasting), live)
			}
			l.verify(ctx, lasting)
		})
	}
}
