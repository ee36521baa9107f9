//go:build unix

package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noFollow refuses to open a symbolic link.
const noFollow = unix.O_NOFOLLOW

// checkOwner refuses a file of the data folder, or the folder, that belongs to
// another user or that others may write. Root is trusted, and may itself work in
// another user's folder, as commands beside a service do.
func checkOwner(path string, info, folder fs.FileInfo) error {
	self, owner := os.Geteuid(), uid(info)
	ours := owner == 0 || owner == self || self == 0 && owner == uid(folder)
	switch {
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%w: others may write %s (mode %04o); check that nothing was changed, then run: chmod go-w %[2]s",
			ErrUnsafe, path, info.Mode().Perm())
	case !ours:
		return fmt.Errorf("%w: %s belongs to user %d, and this is user %d; run as that user, or check that nothing was changed and run: chown %[4]d %[2]s",
			ErrUnsafe, path, owner, self)
	}
	return nil
}

func uid(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return 0
}

// tryLock locks the file until it is closed; held reports whether another process
// has it.
func tryLock(f *os.File) (held bool, err error) {
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// privately runs fn while new files and sockets are accessible to their owner only.
func privately(fn func() error) error {
	old := unix.Umask(0o177)
	defer unix.Umask(old)
	return fn()
}

// syncFolder makes the names in a folder durable.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
