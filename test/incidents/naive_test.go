package incidents_test

import (
	"slices"
	"testing"
	"time"
)

// naive is a store as peers have built it: bytes under names that may be used
// again, rows that name them, and a queue of names to be deleted.
type naive struct {
	bytes map[string]string // on the backend, by name
	rows  map[string]string // name, by key
	queue []string          // names to be deleted
}

func newNaive() *naive { return &naive{bytes: map[string]string{}, rows: map[string]string{}} }

// put stores bytes under a name, and a row that names them.
func (n *naive) put(key, name, body string) {
	n.bytes[name] = body
	n.rows[key] = name
}

// drain deletes what is queued.
func (n *naive) drain() {
	for _, name := range n.queue {
		delete(n.bytes, name)
	}
	n.queue = nil
}

// named says that some row names the bytes.
func (n *naive) named(name string) bool {
	for _, have := range n.rows {
		if have == name {
			return true
		}
	}
	return false
}

// sweepOlder deletes bytes that no row names, if they are older than the cutoff.
func (n *naive) sweepOlder(name string, age, cutoff time.Duration) {
	if !n.named(name) && age > cutoff {
		delete(n.bytes, name)
	}
}

// loses demands that a key which its client believes stored has no bytes.
func (n *naive) loses(t testing.TB, key string) {
	t.Helper()
	if name, there := n.rows[key]; there {
		if _, there := n.bytes[name]; there {
			t.Errorf("the naive design kept %s: this scenario proves nothing", key)
		}
	}
}

// leaks demands that bytes lie on the backend that nothing will ever delete.
func (n *naive) leaks(t testing.TB, name string) {
	t.Helper()
	if _, there := n.bytes[name]; !there || n.named(name) || slices.Contains(n.queue, name) {
		t.Errorf("the naive design did not leak %s: this scenario proves nothing", name)
	}
}

// harmed demands that the naive design comes to harm by what happened, and that it
// is just that: without it no harm is done.
func harmed(t testing.TB, design func(happened bool) (harm bool)) {
	t.Helper()
	if !design(true) {
		t.Error("the naive design came to no harm: this scenario proves nothing")
	}
	if design(false) {
		t.Error("the naive design comes to harm whatever happens: this scenario proves nothing")
	}
}
