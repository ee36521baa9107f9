//go:build unix

package app

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks the file until it is closed; held says that another process has
// it.
func tryLock(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// privately runs fn while files and sockets are made for their owner only.
func privately(fn func() error) error {
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	return fn()
}
