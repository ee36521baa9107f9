// Package metrics has the store's metrics for Prometheus: counters and
// histograms of events, and a collector that reads depths and ages from the
// ledger at a scrape. Measuring is elsewhere: events bring the values. Names
// and labels are stable; a test compares them with testdata/series.txt.
package metrics

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// Metrics counts events. Its methods are safe for concurrent use, and take the
// values of other packages' events.
type Metrics struct {
	registry *prometheus.Registry
	outcomes

	transitions, transitionBytes *prometheus.CounterVec
	died                         prometheus.Histogram
	removed, removedBytes        *prometheus.CounterVec
	deleteCalls, deleteFailures  *prometheus.CounterVec
	absent, down, recovered      *prometheus.CounterVec
	breakers, takenOver          *prometheus.CounterVec
	throttled, contradicted      *prometheus.CounterVec
	copies, copyBytes, noCopies  *prometheus.CounterVec
	redisDown                    prometheus.Counter
	runs, intents, problems      *prometheus.CounterVec
	limited                      *prometheus.CounterVec
	uploads                      prometheus.Counter
	dedup                        prometheus.Counter
	writes, reads                *prometheus.CounterVec
	requests                     *prometheus.CounterVec
	latency                      *prometheus.HistogramVec
	traffic                      *prometheus.CounterVec
	calls                        calls
	gets                         gets
	reconcile                    reconciling
}

// New returns the metrics of a process.
func New() *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), gets: gets{by: map[string]*found{}}}
	m.outcome()
	m.engine()
	m.clients()
	m.calling()
	m.reconciles()
	m.registry.MustRegister(&m.gets, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves scrapes.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "lethe_" + name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) plain(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "lethe_" + name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// diedBuckets are the histogram buckets, in seconds, of the time from the end of a
// blob's last reference until its bytes are gone: the read grace is a minute, the
// late window an hour, the longest backoff a day.
var diedBuckets = []float64{1, 5, 15, 30, 60, 90, 120, 300, 900, 3600, 4500, 7200, 6 * 3600, 86400, 3 * 86400, 10 * 86400}

func (m *Metrics) engine() {
	m.transitions = m.counter("blob_transitions_total", "Blobs that changed their state, by reason. State none is no row.", "backend", "from", "to", "reason")
	m.transitionBytes = m.counter("blob_transition_bytes_total", "Bytes of blobs that changed their state.", "backend", "from", "to", "reason")
	m.died = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "lethe_blob_died_to_gone_seconds", Help: "Time from the last reference's end (an expiry's due time) to the bytes confirmed gone.", Buckets: diedBuckets,
	})
	m.registry.MustRegister(m.died)
	m.removed = m.counter("objects_reclaimed_total", "Objects removed by the engine.", "reason")
	m.removedBytes = m.counter("objects_reclaimed_bytes_total", "Logical bytes of objects removed by the engine.", "reason")
	m.deleteCalls = m.counter("backend_delete_calls_total", "Delete calls to a backend.", "backend")
	m.deleteFailures = m.counter("backend_delete_failures_total", "Blobs that could not be deleted, by whether that was the last attempt.", "backend", "dead")
	m.absent = m.counter("backend_delete_absent_total", "Blobs to be deleted that the backend did not have.", "backend")
	m.down = m.counter("backend_down_total", "Batches that found the backend down.", "backend")
	m.recovered = m.counter("stale_claims_recovered_total", "Claims of dead workers that were taken back.", "backend", "state")
	m.breakers = m.counter("backend_breaker_opened_total", "Times that a backend's breaker opened: it did not work, and was spared.", "backend")
	m.throttled = m.counter("backend_throttled_total", "Times that a backend asked to slow down, or took too long.", "backend")
	m.contradicted = m.counter("backend_contradictions_total", "Answers of a backend that contradict the request.", "backend")
	m.copies = m.counter("copies_total", "Copies that placement made on a backend.", "backend")
	m.copyBytes = m.counter("copy_bytes_total", "Bytes of those copies.", "backend")
	m.noCopies = m.counter("copies_failed_total", "Copies to a backend that were given up.", "backend")
	m.takenOver = m.counter("stale_runs_taken_over_total", "Runs without a heartbeat that were ended, so that others could go on.", "routine")
	m.redisDown = m.plain("redis_down_total", "Times that Redis ceased to respond.")
	m.runs = m.counter("runs_total", "Runs that did something or failed.", "routine", "outcome")
	m.limited = m.counter("runs_limited_total", "Runs that ended as they had taken as much as one run may, and more was due.", "routine")
	for _, routine := range []string{"expire", "purge", "clean", "reap", "multipart", "lifecycle"} {
		m.limited.WithLabelValues(routine)
	}
	m.intents = m.counter("intents_resolved_total", "Intents by how they ended: committed, duplicate, abandoned by their writer; and of silent writers by the reaper: promoted, dropped, superseded, vanished, or ambiguous for now.", "resolution")
	for _, r := range []reclaim.Resolution{reclaim.Promoted, reclaim.Dropped, reclaim.Superseded, reclaim.Ambiguous} {
		m.intents.WithLabelValues(string(r))
	}
	m.uploads = m.plain("uploads_aborted_total", "Stale multipart uploads that were aborted.")
	m.problems = m.counter("verify_problems_total", "Problems that checks have found. Anything but 0 wants a look.", "kind")
}

func (m *Metrics) clients() {
	m.dedup = m.plain("dedup_bytes_total", "Bytes that did not have to be stored, as they were there already.")
	m.writes = m.counter("writes_total", "Writes by how they ended: committed, duplicate, abandoned, unknown.", "outcome")
	m.reads = m.counter("read_troubles_total", "Troubles while reading: failover, corrupt, cached (a wrong value of the cache), extended (a slow reader's grace).", "kind")
	m.requests = m.counter("requests_total", "Requests by front (s3, paste), operation and status.", "front", "operation", "status")
	m.traffic = m.counter("request_bytes_total", "Bytes of bodies, in and out.", "front", "direction")
	m.latency = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "lethe_request_seconds", Help: "Time from a request's first to its answer's last byte.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120, 600},
	}, []string{"front", "operation"})
	m.registry.MustRegister(m.latency)
}

// Moved counts committed changes of state.
func (m *Metrics) Moved(list []ledger.Move) {
	for _, v := range list {
		labels := []string{v.Backend, stateName(v.From), stateName(v.To), string(v.Reason)}
		m.transitions.WithLabelValues(labels...).Add(float64(v.Blobs))
		m.transitionBytes.WithLabelValues(labels...).Add(float64(v.Bytes))
		m.passage(v)
	}
}

func stateName(s lethe.State) string {
	if s == 0 {
		return "none"
	}
	return s.String()
}

// Reclaimed counts objects that expire or purge deleted.
func (m *Metrics) Reclaimed(reason lethe.Reason, r ledger.Reclaimed) {
	m.removed.WithLabelValues(string(reason)).Add(float64(r.Objects))
	m.removedBytes.WithLabelValues(string(reason)).Add(float64(r.Bytes))
}

// Deleting counts a delete call.
func (m *Metrics) Deleting(backend string) { m.deleteCalls.WithLabelValues(backend).Inc() }

// Settled counts the outcome of a batch.
func (m *Metrics) Settled(backend string, absent int, s ledger.Settled) {
	m.absent.WithLabelValues(backend).Add(float64(absent))
	for _, d := range s.DiedAt {
		m.died.Observe(max(s.Now.Sub(d), 0).Seconds())
	}
}

// DeleteFailed counts a blob that could not be deleted.
func (m *Metrics) DeleteFailed(backend string, dead bool) {
	text := "false"
	if dead {
		text = "true"
	}
	m.deleteFailures.WithLabelValues(backend, text).Inc()
}

// BackendDown counts a batch that found its backend down.
func (m *Metrics) BackendDown(backend string) { m.down.WithLabelValues(backend).Inc() }

// BreakerOpened counts a breaker that opened.
func (m *Metrics) BreakerOpened(backend string) { m.breakers.WithLabelValues(backend).Inc() }

// BackendThrottled counts a backend's request to slow down.
func (m *Metrics) BackendThrottled(backend string) { m.throttled.WithLabelValues(backend).Inc() }

// BackendContradicted counts a response that contradicts its request.
func (m *Metrics) BackendContradicted(backend string) { m.contradicted.WithLabelValues(backend).Inc() }

// Copied counts a copy.
func (m *Metrics) Copied(backend string, bytes int64) {
	m.copies.WithLabelValues(backend).Inc()
	m.copyBytes.WithLabelValues(backend).Add(float64(bytes))
}

// CopyFailed counts an abandoned copy.
func (m *Metrics) CopyFailed(backend string) { m.noCopies.WithLabelValues(backend).Inc() }

// RunTakenOver counts a stale run that was ended.
func (m *Metrics) RunTakenOver(r ledger.Run) { m.takenOver.WithLabelValues(r.Routine).Inc() }

// RedisDown counts a loss of Redis.
func (m *Metrics) RedisDown() { m.redisDown.Inc() }

// Recovered counts recovered claims.
func (m *Metrics) Recovered(r ledger.Recovered) {
	m.recovered.WithLabelValues(r.Backend, r.State.String()).Add(float64(r.Claims))
}

// IntentResolved counts an intent that the reaper resolved.
func (m *Metrics) IntentResolved(r reclaim.Resolution) { m.intents.WithLabelValues(string(r)).Inc() }

// UploadAborted counts a stale upload that was aborted.
func (m *Metrics) UploadAborted() { m.uploads.Inc() }

// Found counts a problem that a check found.
func (m *Metrics) Found(p reclaim.Problem) { m.problems.WithLabelValues(p.Kind).Inc() }

// RunEnded counts a run. Its outcome is "ok", "failed" or "interrupted".
func (m *Metrics) RunEnded(r ledger.Run) {
	outcome, _, _ := strings.Cut(r.Outcome, ":")
	m.runs.WithLabelValues(r.Routine, outcome).Inc()
	if r.Counts[reclaim.Limited] > 0 {
		m.limited.WithLabelValues(r.Routine).Inc()
	}
	m.took.WithLabelValues(r.Routine).Observe(max(r.FinishedAt.Sub(r.StartedAt), 0).Seconds())
}

// Write counts a finished write.
func (m *Metrics) Write(outcome string) { m.writes.WithLabelValues(outcome).Inc() }

// Deduped counts bytes that were stored already.
func (m *Metrics) Deduped(bytes int64) { m.dedup.Add(float64(bytes)) }

// ReadTrouble counts a fault during a read.
func (m *Metrics) ReadTrouble(kind string) { m.reads.WithLabelValues(kind).Inc() }

// Request is one finished request of a front.
type Request struct {
	Front     string // "s3" or "paste"
	Operation string // from a fixed set of names
	Status    string
	In, Out   int64 // bytes of the bodies; negative if unknown
	Took      time.Duration
}

// Requested counts a request.
func (m *Metrics) Requested(r Request) {
	m.requests.WithLabelValues(r.Front, r.Operation, r.Status).Inc()
	m.latency.WithLabelValues(r.Front, r.Operation).Observe(r.Took.Seconds())
	m.traffic.WithLabelValues(r.Front, "in").Add(float64(max(r.In, 0)))
	m.traffic.WithLabelValues(r.Front, "out").Add(float64(max(r.Out, 0)))
}
