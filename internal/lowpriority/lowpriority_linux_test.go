package lowpriority

import (
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

func TestRun(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := current()
	if err != nil {
		t.Fatal(err)
	}
	inside := before
	Run(func() { inside, err = current() })
	if want := min(before+niceness, 19); err != nil || inside != want {
		t.Errorf("work runs at niceness %d, %v, want %d", inside, err, want)
	}
	if after, err := current(); err != nil || after != before {
		t.Errorf("after it the caller has niceness %d, %v, want %d", after, err, before)
	}
}

// TestFirstThread: the niceness of the process, which is that of its first thread, stays.
func TestFirstThread(t *testing.T) {
	before := firstThread(t)
	var all sync.WaitGroup
	for range 1000 {
		all.Go(func() { Run(func() {}) })
	}
	all.Wait()
	if after := firstThread(t); after != before {
		t.Errorf("the process has niceness %d, want %d", after, before)
	}
}

func firstThread(t *testing.T) int {
	t.Helper()
	n, err := syscall.Getpriority(syscall.PRIO_PROCESS, os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return 20 - n
}

// TestThreadEnds: no goroutine gets a thread of less priority afterwards.
func TestThreadEnds(t *testing.T) {
	before, err := current()
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		Run(func() {})
		got := make(chan int)
		go func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			n, _ := current()
			got <- n
		}()
		if n := <-got; n != before {
			t.Fatalf("another goroutine has niceness %d, want %d", n, before)
		}
	}
}
