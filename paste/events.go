package paste

import (
	"time"

	"github.com/lethe-storage/lethe/ledger"
)

// RequestEvent describes one request, after its response.
type RequestEvent struct {
	Method   string
	Path     string
	Address  string // the client's IP address
	Status   int
	BytesOut int64 // of the body
	Duration time.Duration
}

// Events are called as things happen, by many goroutines at once; they return fast.
// Any may be nil. None of them receives a delete token.
type Events struct {
	Request func(RequestEvent)
	Deleted func(o ledger.Object) // by its delete token
	Limited func(address string)  // refused for its rate
	// Failed reports an error that the client was not shown in full.
	Failed func(what string, err error)
}

func (e Events) request(r RequestEvent) {
	if e.Request != nil {
		e.Request(r)
	}
}

func (e Events) deleted(o ledger.Object) {
	if e.Deleted != nil {
		e.Deleted(o)
	}
}

func (e Events) limited(address string) {
	if e.Limited != nil {
		e.Limited(address)
	}
}

func (e Events) failed(what string, err error) {
	if e.Failed != nil {
		e.Failed(what, err)
	}
}
