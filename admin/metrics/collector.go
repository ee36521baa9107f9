package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// fresh is how long values of the ledger are reused.
const fresh = 5 * time.Second

// askTime bounds the reads of the ledger for a scrape.
const askTime = 20 * time.Second

// Asker returns the store's status, by reads that may be repeated every few
// seconds; *service.Service is one.
type Asker interface {
	CachedStatus(context.Context) (api.Status, error)
	BucketAsker
}

// Ask adds depths, ages and totals, which are read at a scrape. The clock
// limits how long they are reused, the stopwatch measures how fast backlogs
// shrink.
func (m *Metrics) Ask(a Asker, clock, stopwatch lethe.Clock) {
	m.registry.MustRegister(&collector{asker: a, clock: clock, stopwatch: stopwatch})
}

// collector reads the ledger at most every few seconds.
type collector struct {
	asker Asker
	clock lethe.Clock
	mu    sync.Mutex
	asked lethe.Time
	last  api.Status
	usage []api.BucketUsage
	err   error

	stopwatch lethe.Clock
	// drains measure how fast backlogs shrink.
	drains drains
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("lethe_"+name, help, labels, nil)
}

var (
	up         = gauge("ledger_up", "Whether the ledger responded to this scrape.")
	objects    = gauge("objects", "Objects as clients see them, due ones included.")
	logical    = gauge("object_bytes", "Logical bytes of objects.")
	buckets    = gauge("buckets", "Buckets.")
	blobs      = gauge("blobs", "Blobs in a state. State dead are the dead letters, condemned the cleanup queue.", "backend", "state")
	inline     = gauge("inline_contents", "Small contents whose bytes lie in the ledger.")
	inlined    = gauge("inline_bytes", "Bytes of contents that lie in the ledger.")
	blobBytes  = gauge("blob_bytes", "Bytes of blobs in a state.", "backend", "state")
	oldest     = gauge("blob_oldest_age_seconds", "For how long the oldest condemned blob has been due, or the oldest dead letter has been dead.", "backend", "state")
	held       = gauge("backend_held", "1 while deletes on the backend are stopped.", "backend")
	free       = gauge("backend_free_bytes", "Room that the backend's disk has.", "backend")
	orphans    = gauge("orphan_bytes", "Bytes that are logically freed and physically still there: condemned and dead blobs.", "backend")
	due        = gauge("backlog", "Items that a routine would find to do now.", "routine")
	dueBytes   = gauge("backlog_bytes", "Bytes of those items.", "routine")
	age        = gauge("backlog_oldest_age_seconds", "How long the oldest of those items has been due.", "routine")
	scheduled  = gauge("backlog_scheduled", "Items that are due later.", "routine")
	emptyIn    = gauge("backlog_empty_seconds", "When the backlog is empty at the pace at which it shrank in the last five minutes; +Inf if it did not.", "routine")
	lastOK     = gauge("routine_last_success_timestamp_seconds", "When the routine last looked for work and did not fail, here or as a run elsewhere; if it never did, when this process started.", "routine")
	running    = gauge("routine_running", "1 while the routine runs in this process.", "routine")
	progress   = gauge("run_progress", "What the run in progress, or the last one, of this process has done, by the name of the count.", "routine", "count")
	lastGood   = gauge("run_last_success_timestamp_seconds", "When the newest successful run that did something ended.", "routine")
	lookedAt   = gauge("routine_looked_timestamp_seconds", "When the routine last looked for work.", "routine")
	cacheHits  = gauge("cache_hits_total", "Reads that the cache answered.")
	cacheMiss  = gauge("cache_misses_total", "Reads that it did not.")
	cacheBytes = gauge("cache_bytes", "Bytes held by the cache.")
	cacheOut   = gauge("cache_evictions_total", "Contents that had to make room.")
	members    = gauge("ledger_writes_total", "Transactions that were asked for.")
	groups     = gauge("ledger_groups_total", "Groups of transactions that shared a commit.")
	commits    = gauge("ledger_commits_total", "Commits of the ledger's file, each a flush of the disk.")
	full       = gauge("ledger_full", "1 while the ledger's disk is full, and only what frees room goes on.")
	latency    = gauge("ledger_latency_seconds", "How long the ledger took to answer when it was last asked.")
	instances  = gauge("instances", "Instances that work on the ledger and send heartbeats.")
	silent     = gauge("instances_silent", "Instances that were seen in the last 15 minutes, did not report that they stop, and have no heartbeat.")
	redisUp    = gauge("redis_up", "Whether Redis answers, if there is one.")
	draining   = gauge("backend_draining", "1 while the backend is being emptied.", "backend")
	breaker    = gauge("backend_breaker_open", "1 while the backend does not work and is spared.", "backend")
	unwritable = gauge("backend_unwritable", "1 while the backend gets no writes, for whatever reason.", "backend")
	quota      = gauge("backend_quota_bytes", "Bytes that the backend may hold, 0 for no quota.", "backend")
	behind     = gauge("clock_behind_seconds", "How far the machine's clock lies behind the ledger's.")
	ahead      = gauge("clock_ahead_seconds", "By how much the clock was set forward while the process ran, if by more than reclaim.grace.clock_jump.")
)

// Describe returns no descriptions: the set of series depends on the store.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads the status and returns its series.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s, usage, err := c.status()
	tell := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	tell(up, truth(err == nil && s.LedgerError == ""))
	if err != nil {
		return
	}
	tellFindings(tell, s.Findings)
	if s.LedgerError != "" {
		return
	}
	tell(objects, float64(s.Objects))
	tell(logical, float64(s.Bytes))
	tell(buckets, float64(s.Buckets))
	tell(inline, float64(s.Inline.Contents))
	tell(inlined, float64(s.Inline.Bytes))
	tell(behind, s.ClockBehind)
	tell(ahead, s.ClockAhead)
	tell(full, truth(s.Ledger.Full))
	tellRuntimeInfo(tell, s)
	tellTrips(tell, s)
	tellBuckets(tell, usage)
	tellEvents(tell, out, s)
	for _, b := range s.Backends {
		tellBackend(tell, b)
		tellBackendBackoff(tell, b)
		tellWalk(tell, b)
	}
	for _, r := range s.Routines {
		tellRoutine(tell, r)
		tell(lastOK, seconds(lastSuccess(r, s.StartedAt)), r.Name)
		if left, known := c.emptyIn(r.Name); known {
			tell(emptyIn, left, r.Name)
		}
	}
	count := func(d *prometheus.Desc, v int64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	count(members, s.Ledger.Members)
	count(groups, s.Ledger.Groups)
	count(commits, s.Ledger.Commits)
	if s.Cache != nil {
		count(cacheHits, s.Cache.Hits)
		count(cacheMiss, s.Cache.Misses)
		count(cacheOut, s.Cache.Evictions)
		tell(cacheBytes, float64(s.Cache.Bytes))
	}
}

type teller func(d *prometheus.Desc, v float64, labels ...string)

func tellRuntimeInfo(tell teller, s api.Status) {
	tell(latency, s.LedgerLatency)
	if s.Redis != nil {
		tell(redisUp, truth(s.Redis.Up))
	}
	n, quiet := 0, 0
	for _, i := range s.Instances {
		if i.Silent {
			quiet++
		} else {
			n++
		}
	}
	tell(instances, float64(n))
	tell(silent, float64(quiet))
}

func tellBackend(tell teller, b api.BackendStatus) {
	orphaned := int64(0)
	for _, st := range b.States {
		if st.State == lethe.Condemned.String() || st.State == lethe.Dead.String() {
			orphaned += st.Bytes
		}
		tell(blobs, float64(st.Blobs), b.ID, st.State)
		tell(blobBytes, float64(st.Bytes), b.ID, st.State)
		if st.State == lethe.Condemned.String() || st.State == lethe.Dead.String() {
			tell(oldest, st.Age, b.ID, st.State)
		}
	}
	tell(orphans, float64(orphaned), b.ID)
	tell(held, truth(b.Held != ""), b.ID)
	tell(draining, truth(b.Draining), b.ID)
	tell(unwritable, truth(b.Unwritable != ""), b.ID)
	tell(breaker, truth(b.Breaker != nil && b.Breaker.Open), b.ID)
	tell(quota, float64(b.Quota), b.ID)
	if b.Free != nil {
		tell(free, float64(*b.Free), b.ID)
	}
}

func tellRoutine(tell teller, r api.RoutineStatus) {
	tell(due, float64(r.Backlog.Due), r.Name)
	tell(dueBytes, float64(r.Backlog.Bytes), r.Name)
	tell(age, r.Backlog.Age, r.Name)
	tell(scheduled, float64(r.Backlog.Scheduled), r.Name)
	if r.LastGood != nil {
		tell(lastGood, seconds(r.LastGood.Finished), r.Name)
	}
	if !r.LookedAt.IsZero() {
		tell(lookedAt, seconds(r.LookedAt), r.Name)
	}
	tell(running, truth(r.Running), r.Name)
	for name, n := range r.Counts {
		tell(progress, float64(n), r.Name, name)
	}
}

// lastSuccess returns the latest instant at which a routine succeeded.
func lastSuccess(r api.RoutineStatus, started time.Time) time.Time {
	latest := started
	if r.SucceededAt.After(latest) {
		latest = r.SucceededAt
	}
	if r.LastGood != nil && r.LastGood.Finished.After(latest) {
		latest = r.LastGood.Finished
	}
	return latest
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// status reads the status and what buckets store, or returns recent ones.
func (c *collector) status() (api.Status, []api.BucketUsage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	if age := now.Sub(c.asked); c.asked != 0 && age >= 0 && age < fresh {
		return c.last, c.usage, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askTime)
	defer cancel()
	if c.last, c.err = c.asker.CachedStatus(ctx); c.err == nil {
		c.usage = nil
		if usage, err := c.asker.BucketGauges(ctx); err == nil { // the other series are worth a scrape all the same
			c.usage = usage
		}
	}
	c.asked = c.clock.Now()
	if c.err == nil && c.last.LedgerError == "" {
		c.drains.note(c.stopwatch.Now(), c.last.Routines)
	}
	return c.last, c.usage, c.err
}
