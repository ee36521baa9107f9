package fsblob

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNoReplace renames in one step of the file system's journal.
func renameNoReplace(from int, old string, to int, name string) error {
	return unix.Renameat2(from, old, to, name, unix.RENAME_NOREPLACE)
}

// SyncAll implements FS: one flush of the file system that the root is on.
func (f *osFS) SyncAll() error {
	dir, err := f.OpenDir("")
	if err != nil {
		return err
	}
	defer dir.Close()
	err = unix.Syncfs(dir.(*osDir).fd)
	if errors.Is(err, errors.ErrUnsupported) {
		return f.syncTree("")
	}
	return err
}

// Free implements FS.
func (f *osFS) Free() (int64, error) {
	dir, err := f.OpenDir("")
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	var st unix.Statfs_t
	if err := retry(func() error { return unix.Fstatfs(dir.(*osDir).fd, &st) }); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * st.Frsize, nil
}
