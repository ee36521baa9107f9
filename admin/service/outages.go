package service

import (
	"sync"

	"github.com/lethe-storage/lethe"
)

// outages are since when the process has found each service that it needs not to answer.
type outages struct {
	mu    sync.Mutex
	since map[string]lethe.Time
}

// note records whether a service answers, and returns since when it has not; 0: it does.
func (o *outages) note(name string, down bool, now lethe.Time) lethe.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !down {
		delete(o.since, name)
		return 0
	}
	if o.since == nil {
		o.since = map[string]lethe.Time{}
	}
	if o.since[name] == 0 {
		o.since[name] = now
	}
	return o.since[name]
}
