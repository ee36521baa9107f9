package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// reconciling is what walks over backends found.
type reconciling struct {
	found  *prometheus.CounterVec
	last   *prometheus.GaugeVec
	broken *prometheus.CounterVec
}

// reconcileKinds are the counts of a walk that are shown, zeros included.
var reconcileKinds = []string{
	reconcile.Orphans, reconcile.Condemned, reconcile.Foreign, reconcile.Elsewhere, reconcile.Missing,
	reconcile.WrongSize, reconcile.Lost, reconcile.Healing, reconcile.Healed, reconcile.HeldBack,
}

func (m *Metrics) reconciles() {
	m.reconcile.found = m.counter("reconcile_found_total", "What walks over backends found, by kind: orphans, condemned, foreign, elsewhere, missing, wrong_size, lost, healing, healed, held_back.", "backend", "kind")
	m.reconcile.broken = m.counter("reconcile_broken_total", "Walks over a backend that were cut off; the next run takes them up.", "backend")
	m.reconcile.last = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "lethe_reconcile_last", Help: "What the last whole walk over a backend found, by kind.",
	}, []string{"backend", "kind"})
	m.registry.MustRegister(m.reconcile.last)
}

// Reconciled counts what a whole walk over a backend found.
func (m *Metrics) Reconciled(backend string, counts map[string]int64) {
	for _, kind := range reconcileKinds {
		n := float64(counts[kind])
		m.reconcile.found.WithLabelValues(backend, kind).Add(n)
		m.reconcile.last.WithLabelValues(backend, kind).Set(n)
	}
}

// ReconcileBroken counts a walk that was cut off.
func (m *Metrics) ReconcileBroken(backend string) { m.reconcile.broken.WithLabelValues(backend).Inc() }
