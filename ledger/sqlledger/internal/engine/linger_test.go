package engine

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// TestCrowdSharesMore: after a group of several the next one waits for members that come a
// moment later, and they share its commit; after a group of one it does not.
func TestCrowdSharesMore(t *testing.T) {
	e := openTest(t, Memory, Options{})
	waits := 0
	var wg sync.WaitGroup
	come := func(waiting int, ids ...string) {
		for _, id := range ids {
			wg.Go(func() {
				if err := write(context.Background(), e, note(id)); err != nil {
					t.Error(err)
				}
			})
		}
		awaitQueue(e, waiting+len(ids))
	}
	release := hold(t, e)
	e.File.w.linger = func() {
		if waits++; waits == 1 {
			come(1, "e", "f", "g", "h")
		}
	}
	come(0, "a", "b", "c")
	release()
	wg.Wait()
	before := e.Stats()
	if err := write(context.Background(), e, note("d")); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if waits != 1 || e.Stats().Groups != before.Groups+1 || e.Stats().Members != before.Members+5 {
		t.Errorf("waited %d times, %+v after %+v", waits, e.Stats(), before)
	}
	all := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	if got := notes(t, e, all...); !slices.Equal(got, all) {
		t.Errorf("committed %v", got)
	}
	// Each of these comes alone; only the first waits.
	if waits > 2 {
		t.Errorf("single writes waited %d times", waits-1)
	}
}

// TestEnoughWait: whoever awaits requests goes on once as many wait, and at once if they do.
func TestEnoughWait(t *testing.T) {
	q := newQueue()
	q.put(Request, &member{})
	ended := make(chan struct{})
	go func() {
		q.await(3, time.Hour)
		close(ended)
	}()
	q.put(Batch, &member{})
	q.put(Request, &member{})
	select {
	case <-ended:
		t.Error("two were enough for three")
	default:
	}
	q.put(Request, &member{})
	<-ended
	q.await(3, time.Hour)
	q.await(4, time.Microsecond)
}
