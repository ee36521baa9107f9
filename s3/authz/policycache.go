package authz

import (
	"bytes"
	"sync"
)

const (
	// MaxPolicy is how many bytes a policy may have, as on S3. Requests wait
	// while it is parsed.
	MaxPolicy = 20 << 10
	// maxParsed bounds the number of cached policies.
	maxParsed = 1000
)

// Policies caches the parsed form of each bucket's policy until it changes.
type Policies struct {
	// Parse parses a policy.
	Parse func([]byte) *Policy

	mu sync.Mutex
	by map[string]*Policy
}

// Of returns the parsed form of a bucket's policy.
func (p *Policies) Of(bucket string, body []byte) *Policy {
	p.mu.Lock()
	have := p.by[bucket]
	p.mu.Unlock()
	if have != nil && bytes.Equal(have.Body, body) {
		return have
	}
	have = p.Parse(body)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.by) >= maxParsed {
		clear(p.by)
	}
	if p.by == nil {
		p.by = map[string]*Policy{}
	}
	p.by[bucket] = have
	return have
}
