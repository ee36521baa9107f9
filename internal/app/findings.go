package app

import (
	"maps"
	"slices"
	"sync"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim"
)

// wrongValues counts wrong values of the cache. It is safe for concurrent use.
type wrongValues struct {
	mu   sync.Mutex
	n    int64
	last lethe.Time
}

func (w *wrongValues) add(now lethe.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n, w.last = w.n+1, now
}

// seen returns nil if there were none.
func (w *wrongValues) seen() *api.WrongValues {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.n == 0 {
		return nil
	}
	return &api.WrongValues{Count: w.n, Last: w.last.Time()}
}

// contradictions are the kinds of problems within the ledger, by the routine that looks for
// them. What bytes lack is in the ledger, as suspect blobs and findings of walks.
var contradictions = map[string][]string{"verify": {"books", "receipts"}, "checksums": {"books", "receipts"}, "recount": {"counter"}}

// checks counts what the last checks found wrong within the ledger, by kind. It is safe for
// concurrent use.
type checks struct {
	mu            sync.Mutex
	current, last map[string]int64
}

func (c *checks) found(p reclaim.Problem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kinds := range contradictions {
		if slices.Contains(kinds, p.Kind) {
			if c.current == nil {
				c.current = map[string]int64{}
			}
			c.current[p.Kind]++
			return
		}
	}
}

// ended takes what a complete run of a routine found in place of what the one before did.
func (c *checks) ended(routine string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, kind := range contradictions[routine] {
		if c.last == nil {
			c.last = map[string]int64{}
		}
		delete(c.last, kind)
		if n := c.current[kind]; n > 0 {
			c.last[kind] = n
		}
		delete(c.current, kind)
	}
}

// list returns what the last complete runs and those in progress found.
func (c *checks) list() map[string]int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.last)
	for kind, n := range c.current {
		if out == nil {
			out = map[string]int64{}
		}
		out[kind] = max(out[kind], n)
	}
	return out
}
