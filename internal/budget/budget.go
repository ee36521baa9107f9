// Package budget bounds the memory of all requests in progress, with a share
// for each client.
package budget

import "sync"

// Budget is a number of bytes that may be held at once. It is safe for
// concurrent use.
type Budget struct {
	total, share int64

	mu   sync.Mutex
	held int64
	by   map[string]int64
}

// New returns a budget of total bytes, of which one client may hold share.
func New(total, share int64) *Budget {
	return &Budget{total: total, share: share, by: map[string]int64{}}
}

// Take takes n bytes for a client, or nothing: then it returns false.
func (b *Budget) Take(client string, n int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.held+n > b.total || b.by[client]+n > b.share {
		return false
	}
	b.held += n
	b.by[client] += n
	return true
}

// Give returns n bytes that the client took.
func (b *Budget) Give(client string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= n
	if b.by[client] -= n; b.by[client] <= 0 {
		delete(b.by, client)
	}
}
