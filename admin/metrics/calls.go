package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// quick are the histogram buckets of operations that should take milliseconds:
// calls of backends, and transactions.
var quick = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 120}

// calls are the metrics of calls to ledger and backends.
type calls struct {
	backend      *prometheus.HistogramVec
	backendFails *prometheus.CounterVec
	backendBytes *prometheus.CounterVec
	ledger       *prometheus.HistogramVec
	ledgerFails  *prometheus.CounterVec
	ledgerAgain  *prometheus.CounterVec
}

func (m *Metrics) calling() {
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "lethe_" + name, Help: help, Buckets: quick}, labels)
		m.registry.MustRegister(h)
		return h
	}
	m.calls = calls{
		backend:      histogram("backend_call_seconds", "Time that a backend took to answer a call: of a get, to open the body; of a put, to take all of it.", "backend", "op"),
		backendFails: m.counter("backend_call_errors_total", "Calls of a backend that did not end well, by how they did.", "backend", "op", "outcome"),
		backendBytes: m.counter("backend_call_bytes_total", "Bytes of bodies sent to (put) and read from (get) a backend.", "backend", "op"),
		ledger:       histogram("ledger_transaction_seconds", "Time of a transaction of the ledger, the wait for its turn included.", "name"),
		ledgerFails:  m.counter("ledger_errors_total", "Transactions of the ledger that failed, for reasons of the database, by how they did.", "name", "outcome"),
		ledgerAgain:  m.counter("ledger_retries_total", "Times that a transaction was run again: it lost a race, or its connection.", "name"),
	}
}

// BackendCall is one call of a backend.
type BackendCall struct {
	Backend string
	Op      string // from a fixed set
	Outcome string // "ok", or from a fixed set
	Bytes   int64
	Took    time.Duration
}

// wellKnown are the outcomes of calls that do not indicate a fault of a backend
// or the database: definite results, and cancelled callers.
var wellKnown = map[string]bool{"ok": true, "absent": true, "exists": true, "refused": true, "fenced": true, "canceled": true, "held": true}

// BackendCall counts a call of a backend.
func (m *Metrics) BackendCall(c BackendCall) {
	m.calls.backend.WithLabelValues(c.Backend, c.Op).Observe(c.Took.Seconds())
	if c.Bytes > 0 {
		m.calls.backendBytes.WithLabelValues(c.Backend, c.Op).Add(float64(c.Bytes))
	}
	if !wellKnown[c.Outcome] {
		m.calls.backendFails.WithLabelValues(c.Backend, c.Op, c.Outcome).Inc()
	}
}

// Transaction is one transaction of the ledger.
type Transaction struct {
	Name    string // of the transition, from a fixed set
	Engine  string
	Write   bool
	Tries   int
	Outcome string // "ok", or from a fixed set
	Took    time.Duration
}

// troubles are the outcomes of transactions that indicate a fault of the
// database.
var troubles = map[string]bool{"unknown": true, "unavailable": true, "corrupt": true, "timeout": true, "full": true}

// Transaction counts a transaction of the ledger.
func (m *Metrics) Transaction(t Transaction) {
	m.calls.ledger.WithLabelValues(t.Name).Observe(t.Took.Seconds())
	if t.Tries > 1 {
		m.calls.ledgerAgain.WithLabelValues(t.Name).Add(float64(t.Tries - 1))
	}
	if troubles[t.Outcome] {
		m.calls.ledgerFails.WithLabelValues(t.Name, t.Outcome).Inc()
	}
}
