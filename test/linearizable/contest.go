package linearizable

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// mostOps are the operations on a key, and mostOpen the writes without an answer,
	// after which it is left alone: checking takes time that grows with both.
	mostOps  = 60
	mostOpen = 6
)

// Contest is a number of registers that several clients work on at once. Each key is
// replaced by a new one after some operations, so that its history stays short. It is
// safe for concurrent use.
type Contest struct {
	mu    sync.Mutex
	keys  []string
	made  int
	value int64
	ops   map[string][]Op
	open  map[string]int
}

// NewContest returns a contest on so many keys at any time.
func NewContest(keys int) *Contest {
	c := &Contest{keys: make([]string, keys), ops: map[string][]Op{}, open: map[string]int{}}
	c.Renew()
	return c
}

// Renew replaces all keys.
func (c *Contest) Renew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.keys {
		c.replace(i)
	}
}

func (c *Contest) replace(i int) {
	c.made++
	c.keys[i] = fmt.Sprintf("register/%06d", c.made)
}

// Next returns the key in place i, and a value that nobody has written.
func (c *Contest) Next(i int) (key string, value int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := c.keys[i]; c.open[key] >= mostOpen || len(c.ops[key]) >= mostOps {
		c.replace(i)
	}
	c.value++
	return c.keys[i], c.value
}

// Record adds an operation to the history of a key.
func (c *Contest) Record(key string, o Op) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ops[key] = append(c.ops[key], o)
	if o.Unknown && o.Kind != Read {
		c.open[key]++
	}
}

// Keys returns the keys that have a history.
func (c *Contest) Keys() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.ops))
}

// Verdict checks all histories, each for as long as atMost, and begins new ones. It
// returns the number of keys and of operations that were checked.
func (c *Contest) Verdict(atMost time.Duration) (keys, ops int, err error) {
	c.Renew()
	c.mu.Lock()
	histories := c.ops
	c.ops, c.open = map[string][]Op{}, map[string]int{}
	c.mu.Unlock()
	var errs []error
	for key, h := range histories {
		ops += len(h)
		errs = append(errs, Check(key, h, atMost))
	}
	return len(histories), ops, errors.Join(errs...)
}
