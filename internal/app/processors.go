package app

import (
	"os"
	"runtime"
	"sync"
)

// manyProcessors are enough for requests to find one idle beside all that reclaiming
// does at once.
const manyProcessors = 8

// spareProcessors gives the Go runtime more processors than a small machine has. It
// lets whoever computes, or unlinks file by file, go on for 10 ms before another one
// has its turn, and looks for requests only when a processor is idle, or as seldom: a
// transaction of reclaiming and its deletes keep two busy for as long as they last, and
// a read has to wait several times. With spare ones the system decides, which lets who
// has slept go first. GOMAXPROCS in the environment overrides it, and where less than
// the machine is allowed (by a control group) it is left alone: what goes beyond would
// be stopped for a while.
var spareProcessors = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(withSpare(runtime.GOMAXPROCS(0), runtime.NumCPU()))
	}
})

// withSpare is how many processors to use, of those that are allowed and those that
// the machine has.
func withSpare(allowed, all int) int {
	if allowed != all || all >= manyProcessors {
		return allowed
	}
	return min(max(2*all, 4), manyProcessors)
}
