package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

// Times of the tests under load. An operation of the application is cancelled
// well before LongestWrite, and no fault lasts as long as what they leave.
const (
	longestOperation = 2 * time.Second
	longestWrite     = 5 * time.Second
	late             = 6 * time.Second
	stuck            = time.Second // for the watchdog
	faultTime        = 400 * time.Millisecond
	naiveRead        = time.Second // in which a reader may fill its cache
	silent           = time.Second // after which a run is taken over
	inFlight         = time.Second // from an upload to its row, of keys
	minAge           = 5 * inFlight
)

// engine is a database that the tests under load run on.
type engine struct {
	name string
	// start gives the rig an empty database, and its server if it has one. It
	// returns the address behind the faults.
	start  func(r *rig) (address string)
	schema string // prefix of Lethe's tables
	// copyOf is the key of a content's object in quarantine.
	copyOf string
	// tables are the application's own; taken ends the insert of a content that
	// may exist, and locks a row that is read to be changed.
	tables       []string
	taken, locks string
}

const joined = "'kept/content/' || content_hash"

var postgres = engine{
	name: "PostgreSQL", schema: "lethe.", copyOf: joined, tables: tablesWith("text"), taken: upsert, locks: " FOR UPDATE",
	start: func(r *rig) string {
		server := servers.NewPostgres(r.t, "fsync=off")
		r.database, r.address = server, server.Database()
		r.db = dial(r.t, "pgx", r.address)
		return r.through(r.address)
	},
}

var mariadb = engine{
	name: "MariaDB", schema: "lethe_", copyOf: "concat('kept/content/', content_hash)", tables: tablesWith("VARCHAR(64)"), taken: " ON DUPLICATE KEY UPDATE ref_count = ref_count + 1", locks: " FOR UPDATE",
	start: func(r *rig) string {
		server := servers.NewMariaDB(r.t, "--innodb-flush-method=nosync", "--innodb-flush-log-at-trx-commit=2")
		r.database, r.address = server, server.Database(r.t)
		var err error
		if r.db, err = sqldb.OpenMySQL(r.address); err != nil {
			r.t.Fatal(err)
		}
		r.t.Cleanup(func() { _ = r.db.Close() })
		return r.through(r.address)
	},
}

// sqlite has no server that could fail.
var sqlite = engine{
	name: "SQLite", schema: "lethe_", copyOf: joined, tables: append([]string{"PRAGMA journal_mode = WAL"}, tablesWith("text")...), taken: upsert,
	start: func(r *rig) string {
		path := filepath.Join(r.t.TempDir(), "app.db")
		r.db = dial(r.t, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=synchronous(0)&_txlock=immediate")
		return "sqlite:" + path
	},
}

func dial(t *testing.T, driver, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// crashing is a server that can be killed.
type crashing interface {
	Kill()
	Restart()
}

// rig is the workers of a test under load, and what fails meanwhile.
type rig struct {
	*Adoption // the first
	t         *testing.T
	began     lethe.Time
	engine    engine
	job       job
	prefix    string // of the names in its environment
	address   string // of the database, without faults
	db        *sql.DB
	gateway   *servers.S3Server
	s3        *s3.Client
	bucket    string
	faulty    []*servers.Faults
	database  crashing             // nil for a file
	cache     *servers.RedisServer // nil if none
	alarms    alarms

	// round is the number of the round that writes, from 1. Each later one has fewer
	// faults and writers, so that a slow machine too gets to what is counted.
	round int

	mu   sync.Mutex
	done map[string]int64
}

// newRig starts the servers. The addresses in the environment of its job, which
// begin with the prefix, lead through the faults.
func newRig(t *testing.T, e engine, prefix string) *rig {
	t.Helper()
	gateway := servers.NewVersityGW(t)
	r := &rig{prefix: prefix, began: lethe.SystemClock{}.Now(), t: t, engine: e, gateway: gateway, s3: gateway.Client(), bucket: gateway.Bucket(t), done: map[string]int64{}, alarms: alarms{Handler: slog.DiscardHandler, t: t}}
	address := e.start(r)
	toBucket := servers.Proxy(t, strings.TrimPrefix(gateway.Endpoint, "http://"))
	r.faulty = append(r.faulty, toBucket)
	r.job.Env = map[string]string{
		prefix + "DATABASE": address, prefix + "S3_ENDPOINT": gateway.At(toBucket.Addr).Endpoint, prefix + "S3_BUCKET": r.bucket,
		prefix + "S3_ACCESS_KEY": gateway.Access, prefix + "S3_SECRET_KEY": gateway.Secret,
	}
	return r
}

// through puts the faults before a database.
func (r *rig) through(address string) string {
	r.t.Helper()
	at, err := url.Parse(address)
	if err != nil {
		r.t.Fatal(err)
	}
	f := servers.Proxy(r.t, at.Host)
	r.faulty = append(r.faulty, f)
	return f.Via(address)
}

// install opens the first instance, creates Lethe's tables, and installs the
// guards.
func (r *rig) install() {
	r.t.Helper()
	r.Adoption = r.instance("first")
	if err := r.DB.Install(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
	for name, c := range r.collections {
		if r.Description.Collections[name].Guard != adopt.TriggerGuard {
			continue
		}
		if err := c.InstallGuard(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
}

// instance opens one more adoption, behind the faults.
func (r *rig) instance(worker string) *Adoption {
	r.t.Helper()
	return r.opened(worker, r.job)
}

// direct opens one more adoption, which meets only the kills of servers.
func (r *rig) direct(worker string) *Adoption {
	r.t.Helper()
	j := job{r.job.Text, maps.Clone(r.job.Env)}
	j.Env[r.prefix+"DATABASE"], j.Env[r.prefix+"S3_ENDPOINT"] = r.address, r.gateway.Endpoint
	return r.opened(worker, j)
}

func (r *rig) opened(worker string, j job) *Adoption {
	r.t.Helper()
	a, err := j.open(r.t.Context(), Options{Worker: worker, Log: slog.New(r.alarms)})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = a.Close() })
	return a
}

// alarms are log messages of adoption that must not occur.
type alarms struct {
	slog.Handler
	t *testing.T
	// unguarded: there is no guard that could be bypassed.
	unguarded bool
}

// Handle implements slog.Handler.
func (a alarms) Handle(_ context.Context, r slog.Record) error {
	a.look(r.Message)
	return nil
}

func (a alarms) look(message string) {
	for _, bad := range []string{"counts of contents were wrong", "copies in quarantine are gone"} {
		if strings.Contains(message, bad) {
			a.t.Error(message)
		}
	}
	if strings.Contains(message, "past the guard") && !a.unguarded {
		a.t.Error(message)
	}
}

// Enabled implements slog.Handler.
func (a alarms) Enabled(context.Context, slog.Level) bool { return true }

// underLoad changes a collection for a test under load.
func underLoad(c *adopt.Collection) {
	d := func(d time.Duration) *adopt.Duration { return (*adopt.Duration)(&d) }
	switch c.Kind {
	case adopt.OfFolders:
		c.Folders.MinAge, c.Folders.Retention, c.Folders.Interval = d(time.Second), d(undoable), d(100*time.Millisecond)
		return
	case adopt.OfKeys:
		c.Keys.MinAge, c.Keys.Retention = d(minAge), d(inFlight/2)
	default:
		c.Cache = append(c.Cache, "plain:{short_code}")
	}
	c.Grace = adopt.GraceSpec{Watchdog: d(stuck), Unreferenced: d(0), LongestWrite: d(longestWrite), Late: d(late), CacheAgain: d(naiveRead)}
	c.Batch, c.Workers = min(1000, max(50, *loadRows/20)), 2
	if c.Quarantine != nil {
		c.Quarantine.Retention = d(2 * time.Second)
		c.Batch = 20 // moving objects takes a while, and workers do not live long
	}
}

// work runs routines of an adoption, all by default, until ctx ends; life
// bounds the life of each of its processes, 0 does not.
func (r *rig) work(ctx context.Context, a *Adoption, life time.Duration, only ...string) {
	for ctx.Err() == nil {
		one, cancel := ctx, context.CancelFunc(func() {})
		if life > 0 {
			one, cancel = context.WithTimeout(ctx, rand.N(life))
		}
		counts, _ := a.Loop.Once(one, only) // faults are intended
		cancel()
		for routine, c := range counts {
			for what, n := range c {
				r.count(routine+": "+what, n)
			}
		}
		_ = lethe.Sleep(ctx, 20*time.Millisecond)
	}
}

// pause returns how long a time between faults is in this round.
func (r *rig) pause(d time.Duration) time.Duration { return d * time.Duration(max(1, r.round)) }

func (r *rig) count(what string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[what] += n
}

// trouble makes one server after the other fail for a moment.
func (r *rig) trouble(ctx context.Context) {
	fail := func(what string, begin, end func()) {
		begin()
		_ = lethe.Sleep(ctx, rand.N(faultTime))
		end()
		r.count(what, 1)
		_ = lethe.Sleep(ctx, r.pause(rand.N(faultTime)))
	}
	for ctx.Err() == nil {
		f := r.faulty[rand.IntN(len(r.faulty))]
		switch n := rand.IntN(5); {
		case n == 0:
			fail("refusals", f.Down, f.Up)
		case n == 1:
			fail("cuts", func() { f.CutAnswers(rand.Int64N(2000)) }, f.Heal)
		case n == 2:
			fail("delays", func() { f.Latency(100*time.Millisecond, 100*time.Millisecond) }, f.Heal)
		case r.cache == nil:
		case n == 3:
			fail("frozen caches", r.cache.Freeze, r.cache.Thaw)
		case n == 4:
			fail("lost caches", r.cache.Kill, r.cache.Restart)
		}
	}
}

// dueNow returns the statement that makes failed deletions due at once.
func (r *rig) dueNow() string {
	return "UPDATE " + r.engine.schema + "condemned SET due_at = 0 WHERE state IN (1, 2) AND fence = 0 AND due_at > 0"
}

// hurry runs that repeatedly.
func (r *rig) hurry(ctx context.Context) {
	for lethe.Sleep(ctx, 300*time.Millisecond) == nil {
		_, _ = r.db.ExecContext(ctx, r.dueNow()) // again soon
	}
}

// while runs writers beside others for a time, and ends them then.
func (r *rig) while(ctx context.Context, write func(context.Context), others ...func(context.Context)) {
	working, stop := context.WithCancel(ctx)
	var workers, writers sync.WaitGroup
	for _, o := range others {
		workers.Go(func() { o(working) })
	}
	writing, enough := context.WithTimeout(ctx, *loadTime)
	defer enough()
	for range max(1, 5-r.round) {
		writers.Go(func() {
			for writing.Err() == nil {
				write(writing)
			}
		})
	}
	writers.Wait()
	stop()
	workers.Wait()
	for _, f := range r.faulty {
		f.Heal()
	}
	// Idle connections to a database that was killed are closed.
	r.db.SetMaxIdleConns(0)
	r.db.SetMaxIdleConns(idleConnections)
}

// idleConnections is what database/sql keeps by default.
const idleConnections = 2

// until repeats while until each count is reached.
func (r *rig) until(ctx context.Context, want map[string]int64, write func(context.Context), others ...func(context.Context)) {
	r.t.Helper()
	r.tell("everything is stored")
	for {
		r.round++
		r.while(ctx, write, others...)
		missing := r.missing(want)
		if len(missing) == 0 {
			break
		}
		if ctx.Err() != nil || r.t.Failed() {
			r.t.Fatalf("not done so often: %v of %v", missing, r.done)
		}
	}
	r.tell("all was done so often")
	r.t.Log(r.done)
}

// tell logs the elapsed time at a point.
func (r *rig) tell(point string) {
	r.t.Logf("%s after %s", point, lethe.SystemClock{}.Now().Sub(r.began).Round(time.Millisecond))
}

// missing returns the counts that are not reached yet.
func (r *rig) missing(want map[string]int64) map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[string]int64{}
	for what, n := range want {
		if r.done[what] < n {
			out[what] = n - r.done[what]
		}
	}
	return out
}

// keys returns those of the objects below a prefix, without adoption's own.
func (r *rig) keys(prefix string) (keys []string) {
	r.t.Helper()
	pages := s3.NewListObjectsV2Paginator(r.s3, &s3.ListObjectsV2Input{Bucket: &r.bucket, Prefix: &prefix})
	for pages.HasMorePages() {
		page, err := pages.NextPage(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if !strings.Contains(*o.Key, "/.lethe/") { // cut off by a fault
				keys = append(keys, *o.Key)
			}
		}
	}
	return keys
}

// exists reports whether an object does; known is false if that could not be read.
func (r *rig) exists(ctx context.Context, key string) (exists, known bool) {
	_, err := r.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &r.bucket, Key: &key})
	missing := new(types.NotFound)
	return err == nil, err == nil || errors.As(err, &missing)
}

// put stores an object that was last written an age ago.
func (r *rig) put(ctx context.Context, key string, age time.Duration) error {
	if _, err := r.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &r.bucket, Key: &key, Body: strings.NewReader(key)}); err != nil {
		return err
	}
	return r.backdate(key, age)
}

// backdate lets an object have been written an age ago.
func (r *rig) backdate(key string, age time.Duration) error {
	at := lethe.SystemClock{}.Now().Add(-age).Time()
	return os.Chtimes(r.gateway.Path(r.bucket, key), at, at)
}

// recorded compares quarantine and record, without workers.
func (r *rig) recorded() {
	r.t.Helper()
	lie, known := set(r.keys("kept/")), set(r.column("SELECT copy FROM "+r.engine.schema+"quarantined"))
	for key := range lie {
		if !known[key] {
			r.t.Errorf("%s lies in quarantine, and is not on record", key)
		}
	}
	for _, key := range r.column("SELECT copy FROM " + r.engine.schema + "quarantined WHERE state IN (2, 3)") {
		if !lie[key] {
			r.t.Errorf("%s is on record, and does not lie in quarantine", key)
		}
	}
}

func set(keys []string) map[string]bool {
	out := make(map[string]bool, len(keys))
	for _, key := range keys {
		out[key] = true
	}
	return out
}

// number queries the database for one.
func (r *rig) number(query string) (n int64) {
	r.t.Helper()
	if err := r.db.QueryRowContext(r.t.Context(), query).Scan(&n); err != nil {
		r.t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	return n
}

func scanText(rows *sql.Rows) (s string, err error) {
	err = rows.Scan(&s)
	return s, err
}

// column queries the database for the values of one.
func (r *rig) column(query string) []string {
	r.t.Helper()
	rows, err := r.db.QueryContext(r.t.Context(), query)
	if err != nil {
		r.t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	out, err := sqldb.Collect(rows, scanText)
	if err != nil {
		r.t.Fatal(fmt.Errorf("%s: %w", query, err))
	}
	return out
}
