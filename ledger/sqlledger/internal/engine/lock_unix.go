//go:build unix

package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
)

// ownedFile has SQLite keep its own lock on the file, so that a transaction takes and gives
// none, and keep the index of the log in memory (https://www.sqlite.org/vfs.html, unix-excl). The
// lock is lost once this process closes the file elsewhere: nothing may open it beside SQLite.
const ownedFile = "&vfs=unix-excl"

// lockFile creates and locks the file at path, until it is closed or the process ends. The
// file is never removed: then two processes could each lock a file of that name.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("another lethe has it open (it holds the lock %s): stop that one, or use another data folder: %w", path, lethe.ErrUnavailable)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}

// freeBytes returns how many more bytes a file in the folder can take.
func freeBytes(folder string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(folder, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}
