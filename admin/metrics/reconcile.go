package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/reconcile"
)

// reconciling is the metrics of walks over backends.
type reconciling struct {
	found  *prometheus.CounterVec
	taken  *prometheus.CounterVec
	broken *prometheus.CounterVec
}

// reconcileKinds are the counts of a walk that are shown, zeros included.
var reconcileKinds = []string{
	reconcile.Orphans, reconcile.Condemned, reconcile.Foreign, reconcile.Elsewhere, reconcile.Missing,
	reconcile.WrongSize, reconcile.Lost, reconcile.Healing, reconcile.Healed, reconcile.HeldBack,
}

func (m *Metrics) reconciles() {
	m.reconcile.found = m.counter("reconcile_found_total", "What walks over backends found, by kind: orphans, condemned, foreign, elsewhere, missing, wrong_size, lost, healing, healed, held_back.", "backend", "kind")
	m.reconcile.taken = m.counter("reconcile_taken_total", "Orphans that had the bytes of lost blobs, and became their copies.", "backend")
	m.reconcile.broken = m.counter("reconcile_broken_total", "Walks over a backend that were cut off; the next run takes them up.", "backend")
}

// Reconciled counts the findings of a complete walk over a backend.
func (m *Metrics) Reconciled(backend string, counts map[string]int64) {
	for _, kind := range reconcileKinds {
		m.reconcile.found.WithLabelValues(backend, kind).Add(float64(counts[kind]))
	}
}

// reconcileLast is the ledger's record of the last complete walk. Every
// instance exports it, whichever walked, also after a restart.
var reconcileLast = gauge("reconcile_last", "What the last whole walk over a backend found, by kind.", "backend", "kind")

func tellWalk(tell teller, b api.BackendStatus) {
	if b.Compared == nil {
		return
	}
	for _, kind := range reconcileKinds {
		tell(reconcileLast, float64(b.Compared.Counts[kind]), b.ID, kind)
	}
}

// ReconcileBroken counts an interrupted walk.
func (m *Metrics) ReconcileBroken(backend string) { m.reconcile.broken.WithLabelValues(backend).Inc() }

// OrphanTaken counts an orphan that became the copy of a lost blob.
func (m *Metrics) OrphanTaken(backend string) { m.reconcile.taken.WithLabelValues(backend).Inc() }
