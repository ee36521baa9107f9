package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// outcomes are the metrics of the outcomes of routines.
type outcomes struct {
	cleaned, dead, begun, unrecorded, audits *prometheus.CounterVec
	took                                     *prometheus.HistogramVec
	batch, interval                          *prometheus.GaugeVec
}

// spans are the histogram buckets of the length of a run.
var spans = []float64{.01, .1, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600, 12 * 3600}

func (m *Metrics) outcome() {
	vector := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "lethe_" + name, Help: help}, labels)
		m.registry.MustRegister(g)
		return g
	}
	m.outcomes = outcomes{
		cleaned: m.counter("cleanup_processed_total",
			"Attempts to delete a condemned blob: success, success_absent (it was not there), retry, exhausted (now a dead letter), waits (the backend was down).", "backend", "outcome"),
		dead:       m.counter("dead_letters_total", "Condemned blobs whose attempts were used up.", "backend"),
		begun:      m.counter("intents_enqueued_total", "Intents that were committed before a byte was sent.", "backend"),
		unrecorded: m.counter("enqueue_failures_total", "Results that the ledger may not know: a transaction failed, or its outcome is unknown, after bytes were sent or deleted.", "backend", "reason", "stage"),
		audits:     m.counter("audit_events_total", "Lines of the audit log.", "event"),
		batch:      vector("routine_batch", "Items that a routine takes at once, by its configuration.", "routine"),
		interval:   vector("routine_interval_seconds", "Time between two runs of a routine, by its schedule.", "routine"),
	}
	m.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "lethe_run_seconds", Help: "Time of a run that did something or failed.", Buckets: spans,
	}, []string{"routine"})
	m.registry.MustRegister(m.took)
}

// Cleaned counts the delete attempts of a batch.
func (m *Metrics) Cleaned(backend string, items []ledger.SettleItem) {
	for _, i := range items {
		m.cleaned.WithLabelValues(backend, cleanOutcome(i)).Inc()
	}
}

func cleanOutcome(i ledger.SettleItem) string {
	switch {
	case i.Result == ledger.Gone:
		return "success"
	case i.Result == ledger.Absent:
		return "success_absent"
	case i.Result == ledger.Waits:
		return "waits"
	case i.Dead:
		return "exhausted"
	}
	return "retry"
}

// passage counts the intents and dead letters of a move.
func (m *Metrics) passage(v ledger.Move) {
	n := float64(v.Blobs)
	switch {
	case v.From == 0 && v.To == lethe.Pending:
		m.begun.WithLabelValues(v.Backend).Add(n)
	case v.From == lethe.Pending && v.To == lethe.Live && v.Reason == "":
		m.intents.WithLabelValues("committed").Add(n)
	case v.From == lethe.Pending && v.To == lethe.Condemned && v.Reason == lethe.ReasonDuplicate:
		m.intents.WithLabelValues("duplicate").Add(n)
	case v.To == lethe.Dead:
		m.dead.WithLabelValues(v.Backend).Add(n)
	}
}

// IntentAbandoned counts an intent that its writer abandoned.
func (m *Metrics) IntentAbandoned() { m.intents.WithLabelValues("abandoned").Inc() }

// EnqueueFailed counts a result that may be missing in the ledger. stage is the
// transaction that failed, reason how.
func (m *Metrics) EnqueueFailed(backend, reason, stage string) {
	m.unrecorded.WithLabelValues(backend, reason, stage).Inc()
}

// Audited counts a line of the audit log.
func (m *Metrics) Audited(event string) { m.audits.WithLabelValues(event).Inc() }

// Routine exports the configuration of a scheduled routine; interval is the
// time between two runs.
func (m *Metrics) Routine(name string, batch int, interval time.Duration) {
	m.batch.WithLabelValues(name).Set(float64(batch))
	m.interval.WithLabelValues(name).Set(interval.Seconds())
}

// Backend initialises the counters of a backend with zero, so that the first
// event is an increase.
func (m *Metrics) Backend(name string) {
	for _, outcome := range []string{"success", "success_absent", "retry", "exhausted", "waits"} {
		m.cleaned.WithLabelValues(name, outcome)
	}
	for _, state := range []lethe.State{lethe.Pending, lethe.Condemned} {
		m.recovered.WithLabelValues(name, state.String())
	}
	for _, stage := range []string{"commit", "abandon", "condemn", "settle"} {
		m.unrecorded.WithLabelValues(name, "unavailable", stage)
		m.unrecorded.WithLabelValues(name, "unknown", stage)
	}
	for _, v := range []*prometheus.CounterVec{m.dead, m.begun, m.deleteCalls, m.absent, m.down, m.breakers, m.throttled, m.contradicted} {
		v.WithLabelValues(name)
	}
}
