package app

import (
	"os"
	"runtime"
	"sync"
)

// manyProcessors are enough for requests to find one idle while reclaiming runs.
const manyProcessors = 8

// spareProcessors gives the Go runtime more processors than a small machine has. A
// goroutine that computes, or unlinks file by file, may run for 10 ms before
// another does. The runtime polls for requests only when a processor is idle, or as
// rarely. A transaction of reclaiming and its deletes keep two busy, so that a read
// has to wait several times. With spare processors the system schedules, and
// prefers threads that have slept.
//
// GOMAXPROCS in the environment overrides it. If a control group allows less than
// the machine has, nothing is changed: excess threads would be throttled.
var spareProcessors = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(withSpare(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
})

// withSpare returns the number of processors to use, of the allowed ones and
// the machine's.
func withSpare(allowed, all int) int {
	if allowed != all || all >= manyProcessors {
		return allowed
	}
	return min(max(2*all, 4), manyProcessors)
}
