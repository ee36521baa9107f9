//go:build !linux

package servers

import (
	"os/exec"
	"syscall"
)

// attributes puts a server in a group of its own, so that an interrupt of the
// tests does not reach it first.
func attributes(owner, syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

func spawn(cmd *exec.Cmd) error { return cmd.Start() }

func childrenOf(int) []int { return nil }

func moves(int) bool { return false }
