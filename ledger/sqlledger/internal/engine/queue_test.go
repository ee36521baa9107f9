package engine

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestTheWriterSeesTheEndFirst: if the writer takes a member back before its caller does,
// the caller gets a result and does not wait forever.
func TestTheWriterSeesTheEndFirst(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	m := &member{ctx: ctx, done: make(chan struct{})}
	leave()
	if m.start() {
		t.Fatal("the member of a caller who has left was begun")
	}
	if m.withdraw() {
		t.Fatal("the member was taken back twice")
	}
	select {
	case <-m.done:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody answers the caller")
	}
	if !errors.Is(m.err, context.Canceled) {
		t.Errorf("the answer is %v", m.err)
	}
}

// TestCallersLeaveAllTheTime: whichever sees the end of the context first, every caller
// returns.
func TestCallersLeaveAllTheTime(t *testing.T) {
	e := openTest(t, Memory, Options{})
	returned := make(chan error)
	const callers = 500
	for i := range callers {
		go func() {
			ctx, leave := context.WithTimeout(context.Background(), time.Duration(i%50)*20*time.Microsecond)
			defer leave()
			returned <- write(ctx, e, func(*Tx) error { return nil })
		}()
	}
	for range callers {
		select {
		case err := <-returned:
			if err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("a caller waits for ever")
		}
	}
}
