package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxGets bounds the buckets whose gets are counted by themselves. Buckets that are read often come
// first, and none changes its series, as a counter must not fall.
const maxGets = 200

var bucketGets = gauge("bucket_gets_total", "Gets of a bucket's objects, by whether the object was found. The first 200 buckets that are read have series of their own; the others are summed up as \"(other)\".", "bucket", "outcome")

// gets counts the gets of buckets since the process started.
type gets struct {
	mu sync.Mutex
	by map[string]*found
}

type found struct{ yes, no int64 }

// Got counts a get of an object in a bucket that exists.
func (m *Metrics) Got(bucket string, wasFound bool) {
	g := &m.gets
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.by[bucket]
	if n == nil {
		if len(g.by) >= maxGets {
			bucket = other
		}
		if n = g.by[bucket]; n == nil {
			n = new(found)
			g.by[bucket] = n
		}
	}
	if wasFound {
		n.yes++
	} else {
		n.no++
	}
}

// Gets returns how many gets of a bucket found an object since the process started, and how many
// did not: 0, if the bucket is not counted by itself.
func (m *Metrics) Gets(bucket string) (hits, misses int64) {
	m.gets.mu.Lock()
	defer m.gets.mu.Unlock()
	if n := m.gets.by[bucket]; n != nil {
		return n.yes, n.no
	}
	return 0, 0
}

// Describe returns no descriptions: the set of series depends on the buckets.
func (*gets) Describe(chan<- *prometheus.Desc) {}

// Collect returns the counts of all buckets.
func (g *gets) Collect(out chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for bucket, n := range g.by {
		out <- prometheus.MustNewConstMetric(bucketGets, prometheus.CounterValue, float64(n.yes), bucket, "found")
		out <- prometheus.MustNewConstMetric(bucketGets, prometheus.CounterValue, float64(n.no), bucket, "missed")
	}
}
