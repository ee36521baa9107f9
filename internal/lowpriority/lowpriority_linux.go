package lowpriority

import (
	"runtime"
	"syscall"
)

// lower gives the goroutine a thread with less priority, which ends with it: a thread may not
// raise its priority again.
func lower() {
	runtime.LockOSThread()
	if now, err := current(); err == nil {
		_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, now+Niceness) // else as before
	}
}

// current returns the niceness of the thread.
func current() (int, error) {
	now, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return 20 - now, err // the system call returns 20 less the niceness
}
