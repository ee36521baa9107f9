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

// openBeneath opens a folder by one system call, in which neither names nor
// symbolic links lead out of the root. Every failure is left to os.Root, which
// walks folder by folder.
func (o *opened) openBeneath(folder string) (fd int, ok bool) {
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	var opening error
	err := o.raw.Control(func(root uintptr) { fd, opening = unix.Openat2(int(root), folder, &how) })
	return fd, err == nil && opening == nil
}

// readSmall implements smallReader. Every failure is left to the way by folders,
// which also checks that the root is in its place: that matters only for what is
// absent.
func (f *osFS) readSmall(path string, p []byte, offset int64) (n int, ok bool) {
	err := f.at.Load().raw.Control(func(root uintptr) {
		n, ok = readBeneath(int(root), path, p, offset)
	})
	return n, ok && err == nil
}

func readBeneath(root int, path string, p []byte, offset int64) (n int, ok bool) {
	how := unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NONBLOCK | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH,
	}
	fd, err := unix.Openat2(root, path, &how)
	if err != nil {
		return 0, false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return 0, false
	}
	for want := min(int64(len(p)), st.Size-offset); int64(n) < want; {
		got, err := unix.Pread(fd, p[n:want], offset+int64(n))
		if err == unix.EINTR {
			continue
		}
		if err != nil || got == 0 {
			return 0, false
		}
		n += got
	}
	return n, true
}
