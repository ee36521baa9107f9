package lethe

import (
	"syscall"
	"time"
	"unsafe"
)

// sinceBoot reads CLOCK_BOOTTIME, which goes on while the machine sleeps; ok is
// false where the kernel does not have it.
func sinceBoot() (d time.Duration, ok bool) {
	const clockBoottime = 7
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
