package servers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// attributes puts a server in a group of its own, so that an interrupt of the
// tests does not reach it first, and has the kernel end it with the tests.
func attributes(as owner, orphan syscall.Signal) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: orphan}
	if as.uid != os.Geteuid() {
		a.Credential = &syscall.Credential{Uid: uint32(as.uid), Gid: uint32(as.gid), NoSetGroups: false}
	}
	return a
}

// spawn starts the command on a thread that lives as long as this process: the
// kernel counts the end of the starting thread as the end of the parent.
func spawn(cmd *exec.Cmd) error {
	spawner.once.Do(func() {
		spawner.calls = make(chan func())
		go func() {
			runtime.LockOSThread()
			for call := range spawner.calls {
				call()
			}
		}()
	})
	done := make(chan error)
	spawner.calls <- func() { done <- cmd.Start() }
	return <-done
}

var spawner struct {
	once  sync.Once
	calls chan func()
}

// childrenOf lists the processes that the process started.
func childrenOf(parent int) []int {
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var out []int
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name in parentheses may hold anything; the parent is the second
		// field after it.
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		var ppid int
		if _, err := fmt.Sscan(rest, &state, &ppid); err == nil && ppid == parent {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// moves says that a process has a thread that is not stopped.
func moves(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*/stat", pid))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(stats, func(path string) bool {
		text, err := os.ReadFile(path)
		_, rest, _ := strings.Cut(string(text), ") ")
		return err == nil && !strings.HasPrefix(rest, "T") && !strings.HasPrefix(rest, "Z")
	})
}
