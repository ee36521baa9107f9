package metrics

import "github.com/prometheus/client_golang/prometheus"

// spooling counts what the spool holds and what became of it.
type spooling struct {
	open     prometheus.Gauge
	resolved *prometheus.CounterVec
	lost     *prometheus.CounterVec
}

func (m *Metrics) spools() {
	m.spool = spooling{
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "lethe_spool_entries", Help: "Results that the ledger may not have recorded, and of which nobody knows yet what became of them.",
		}),
		resolved: m.counter("spool_resolved_total", "Entries of the spool that were looked up, by what had become of them.", "outcome"),
		lost:     m.counter("spool_lost_total", "Entries of the spool that could not be kept or read; reconcile finds what they were about.", "cause"),
	}
	m.registry.MustRegister(m.spool.open)
}

// SpoolReplayed notes a replay: what became of entries, and how many stay open.
func (m *Metrics) SpoolReplayed(resolved map[string]int64, open int64) {
	for outcome, n := range resolved {
		m.spool.resolved.WithLabelValues(outcome).Add(float64(n))
	}
	m.spool.open.Set(float64(open))
}

// SpoolLost counts entries that could not be kept (dropped) or read (corrupt, torn).
func (m *Metrics) SpoolLost(cause string, n int64) {
	if n > 0 {
		m.spool.lost.WithLabelValues(cause).Add(float64(n))
	}
}
