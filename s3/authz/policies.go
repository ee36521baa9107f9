package authz

import (
	"bytes"
	"sync"
)

const (
	// MaxPolicy is how many bytes a policy may have, as on S3. It is parsed while
	// requests wait for it.
	MaxPolicy = 20 << 10
	// maxParsed bounds how many policies are kept parsed.
	maxParsed = 1000
)

// Policies keeps the parsed form of each bucket's policy for as long as it is the same.
type Policies struct {
	// Parse takes a policy apart.
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
