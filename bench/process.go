package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// pageBytes is the size of a page of the ledger.
const pageBytes = 4096

// usage is what this process has used up so far.
type usage struct {
	read, written int64 // bytes through system calls
	cpu           time.Duration
}

func (u usage) minus(v usage) usage {
	return usage{u.read - v.read, u.written - v.written, u.cpu - v.cpu}
}

// used reads what this process has used. Where there is no /proc the bytes are 0.
func used() usage {
	io := keyed("/proc/self/io")
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return usage{io["rchar"], io["wchar"], time.Duration(r.Utime.Nano() + r.Stime.Nano())}
}

// keyed reads a file of "name: number" lines; numbers in kB are answered in bytes.
func keyed(path string) map[string]int64 {
	data, _ := os.ReadFile(path)
	out := map[string]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		number, unit, _ := strings.Cut(strings.TrimSpace(rest), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		if err == nil && unit == "kB" {
			n <<= 10
		}
		out[name] = n
	}
	return out
}

// peakRSS is the most memory that a process had at once, in bytes; pid "self" is
// this one.
func peakRSS(pid string) int64 { return keyed("/proc/" + pid + "/status")["VmHWM"] }

// resetPeak gives memory back and begins a new peak.
func resetPeak() error {
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		return fmt.Errorf("bench: begin a new peak of memory: %w", err)
	}
	return nil
}

// CPUTime is the processor time that this process has used.
func CPUTime() time.Duration { return used().cpu }

// spent is the processor time that the server took for each of n requests.
func (s *server) spent(n int, fn func() error) (time.Duration, error) {
	before := cpuOf(s.cmd.Process.Pid)
	err := fn()
	return (cpuOf(s.cmd.Process.Pid) - before) / time.Duration(max(n, 1)), err
}

// cpuOf is the processor time that a process has used, in steps of 10 ms.
func cpuOf(pid int) time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
