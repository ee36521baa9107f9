package lowpriority

import (
	"os"
	"runtime"
	"syscall"
)

// run runs f on a thread with less priority, which ends with the goroutine: a thread may not
// raise its priority again. The first thread of a process never ends, and stands for the process
// where priorities are shown: it is passed over.
func run(f func()) {
	runtime.LockOSThread()
	if syscall.Gettid() == os.Getpid() {
		Run(f) // elsewhere, as this goroutine has the thread until f returns
		runtime.UnlockOSThread()
		return
	}
	if now, err := current(); err == nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, now+niceness) // else as before
	}
	f()
}

// current returns the niceness of the thread.
func current() (int, error) {
	now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return 20 - now, err // the system call returns 20 less the niceness
}
