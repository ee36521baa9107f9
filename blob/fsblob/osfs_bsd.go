//go:build darwin || freebsd

package fsblob

import (
	"errors"

	"golang.org/x/sys/unix"
)

// renameNoReplace does not exist on every version of these systems.
func renameNoReplace(int, string, int, string) error { return errors.ErrUnsupported }

// SyncAll implements FS: a flush of every folder.
func (f *osFS) SyncAll() error { return f.syncTree("") }

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
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// openBeneath does not exist on these systems.
func (*opened) openBeneath(string) (fd int, ok bool) { return 0, false }
