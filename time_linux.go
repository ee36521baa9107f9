package lethe

import (
	"os"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// sinceBoot returns CLOCK_BOOTTIME, which includes time asleep; ok is false if the kernel
// lacks it.
func sinceBoot() (d time.Duration, ok bool) {
	const clockBoottime = 7
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}

// bootID returns the id that the kernel generates when the machine starts.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
