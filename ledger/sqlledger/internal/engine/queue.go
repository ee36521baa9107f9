package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// The states of a member.
const (
	waiting int32 = iota
	running
	withdrawn
)

// member is one write that waits for its group.
type member struct {
	Job
	ctx   context.Context
	state atomic.Int32
	err   error
	done  chan struct{} // closed when err is final
}

// start claims the member for the writer; false if its caller has left. Whichever takes the
// member back must also reply to the caller: if the writer is the first to see the end of
// the context, it replies.
func (m *member) start() bool {
	if err := m.ctx.Err(); err != nil {
		if m.withdraw() {
			m.answer(err)
		}
		return false
	}
	return m.state.CompareAndSwap(waiting, running)
}

// withdraw takes the member back; false if it has started.
func (m *member) withdraw() bool { return m.state.CompareAndSwap(waiting, withdrawn) }

func (m *member) answer(err error) {
	m.err = err
	close(m.done)
}

// queue holds the waiting members.
type queue struct {
	mu      sync.Mutex
	waiting [2][]*member
	last    Kind          // kind of the last group
	wake    chan struct{} // holds a token when members may wait
	closed  bool
	enough  chan struct{} // closed when as many requests wait as are wanted; nil: nobody wants any
	wanted  int
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds a member; false if the queue is closed.
func (q *queue) put(k Kind, m *member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.waiting[k] = append(q.waiting[k], m)
	if q.enough != nil && len(q.waiting[Request]) >= q.wanted {
		close(q.enough)
		q.enough = nil
	}
	q.signal()
	return true
}

// await returns when n requests wait, or after a time.
func (q *queue) await(n int, d time.Duration) {
	q.mu.Lock()
	if len(q.waiting[Request]) >= n {
		q.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	q.enough, q.wanted = enough, n
	q.mu.Unlock()
	select {
	case <-enough:
	case <-time.After(d):
	}
	q.mu.Lock()
	q.enough = nil
	q.mu.Unlock()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next waits for members and returns the kind whose group runs next; false when the queue is
// closed and empty.
func (q *queue) next() (Kind, bool) {
	for {
		if k, ok, closed := q.turn(); ok || closed {
			return k, ok
		}
		<-q.wake
	}
}

func (q *queue) turn() (k Kind, ok, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	requests, batches := len(q.waiting[Request]) > 0, len(q.waiting[Batch]) > 0
	switch {
	case !requests && !batches:
		return 0, false, q.closed
	case !requests, batches && q.last == Request:
		k = Batch
	}
	q.last = k
	return k, true, false
}

// pop takes the oldest member, nil if none waits.
func (q *queue) pop(k Kind) *member {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.waiting[k]
	if len(list) == 0 {
		return nil
	}
	m := list[0]
	list[0] = nil
	q.waiting[k] = list[1:]
	return m
}

// close refuses further members.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

// length returns how many members wait.
func (q *queue) length(k Kind) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting[k])
}
