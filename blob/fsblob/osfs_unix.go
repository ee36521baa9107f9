//go:build linux || darwin || freebsd

package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// osFS is the operating system's folder tree below one folder. Folders are
// opened through os.Root, which neither names nor symbolic links can leave;
// files are reached from an open folder by a single name, without following
// links.
type osFS struct {
	at  atomic.Pointer[opened]
	opt Options
}

// opened is an open root folder and its identity.
type opened struct {
	root *os.Root
	is   os.FileInfo
	// self is the folder as a file, and raw its descriptor, which stays open while
	// it is used.
	self *os.File
	raw  syscall.RawConn
}

// openOS opens the root folder; opt.Create makes it if it does not exist.
func openOS(opt Options) (*osFS, error) {
	if opt.Create {
		if err := os.MkdirAll(opt.Root, folderPerm); err != nil {
			return nil, err
		}
	}
	o, err := openRoot(opt.Root)
	if err != nil {
		return nil, err
	}
	f := &osFS{opt: opt}
	f.at.Store(o)
	return f, nil
}

func openRoot(path string) (*opened, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	o := &opened{root: root}
	if o.self, err = root.Open("."); err == nil {
		o.is, err = o.self.Stat()
	}
	if err == nil {
		o.raw, err = o.self.SyscallConn()
	}
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *opened) close() error {
	err := o.root.Close()
	if o.self != nil {
		err = errors.Join(err, o.self.Close())
	}
	return err
}

// Close implements FS.
func (f *osFS) Close() error { return f.at.Load().close() }

// inPlace checks that the folder that was opened still lies under its path:
// mounting or unmounting a disk there replaces it.
func (f *osFS) inPlace() error {
	now, err := os.Stat(f.opt.Root)
	switch {
	case err != nil:
		var named *fs.PathError
		if errors.As(err, &named) {
			err = named.Err
		}
		return fmt.Errorf("%w: %w: folder %s: %s", blob.ErrDown, blob.ErrMisplaced, f.opt.Root, err)
	case !os.SameFile(now, f.at.Load().is):
		return fmt.Errorf("%w: %w: another folder lies at %s than the one that was opened: a disk was mounted or unmounted there",
			blob.ErrDown, blob.ErrMisplaced, f.opt.Root)
	}
	return nil
}

// reopen opens the folder that lies under the path now.
func (f *osFS) reopen() error {
	o, err := openRoot(f.opt.Root)
	if err != nil {
		return err
	}
	return f.at.Swap(o).close()
}

// OpenDir implements FS. It opens nothing in a root that is not in its place: every
// call begins with it, and absence in another root proves nothing.
func (f *osFS) OpenDir(folder string) (Dir, error) {
	if folder == "" {
		folder = "."
	}
	if err := f.inPlace(); err != nil {
		return nil, err
	}
	at := f.at.Load()
	if fd, ok := at.openBeneath(folder); ok {
		return &osDir{fd: fd}, nil
	}
	file, err := at.root.OpenFile(folder, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &osDir{file: file, fd: int(file.Fd())}, nil
}

// Mkdir implements FS.
func (f *osFS) Mkdir(folder string) error { return f.at.Load().root.Mkdir(folder, folderPerm) }

// Move implements FS.
func (f *osFS) Move(from Dir, old string, to Dir, name string) error {
	a, b := from.(*osDir), to.(*osDir)
	err := retry(func() error { return renameNoReplace(a.fd, old, b.fd, name) })
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, unix.EINVAL) {
		err = linkAndUnlink(a.fd, old, b.fd, name)
	}
	return pathError("move", name, err)
}

// linkAndUnlink is the move on file systems that cannot rename without replacing.
// If the old name cannot be removed it stays as a temporary file, to be swept.
func linkAndUnlink(from int, old string, to int, name string) error {
	err := retry(func() error { return unix.Linkat(from, old, to, name, 0) })
	if err == nil {
		_ = unix.Unlinkat(from, old, 0)
	}
	return err
}

// osDir is an open folder.
type osDir struct {
	fd   int
	file *os.File // owner of the descriptor; nil: the folder's own
}

// Close implements Dir.
func (d *osDir) Close() error {
	if d.file == nil {
		return unix.Close(d.fd)
	}
	return d.file.Close()
}

// Create implements Dir.
func (d *osDir) Create(name string) (File, error) {
	return d.open("create", name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL)
}

// Open implements Dir. It does not block on the other end of a pipe.
func (d *osDir) Open(name string) (File, error) {
	return d.open("open", name, unix.O_RDONLY|unix.O_NONBLOCK)
}

func (d *osDir) open(op, name string, flags int) (File, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(d.fd, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, filePerm)
		return err
	})
	if err != nil {
		return nil, pathError(op, name, err)
	}
	return &osFile{os.NewFile(uintptr(fd), name)}, nil
}

// Stat implements Dir.
func (d *osDir) Stat(name string) (Entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return Entry{}, pathError("stat", name, err)
	}
	return entryOf(name, &st), nil
}

// Remove implements Dir.
func (d *osDir) Remove(name string) error {
	return pathError("unlink", name, retry(func() error { return unix.Unlinkat(d.fd, name, 0) }))
}

// Names implements Dir.
func (d *osDir) Names() ([]string, error) { return d.asFile().Readdirnames(-1) }

// Sync implements Dir.
func (d *osDir) Sync() error { return d.asFile().Sync() }

// asFile makes a file of the folder, for operations that only files have.
func (d *osDir) asFile() *os.File {
	if d.file == nil {
		d.file = os.NewFile(uintptr(d.fd), "folder")
	}
	return d.file
}

// osFile is an open file.
type osFile struct{ *os.File }

// Stat implements File.
func (f *osFile) Stat() (Entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	if err != nil {
		return Entry{}, pathError("stat", f.Name(), err)
	}
	return entryOf("", &st), nil
}

func entryOf(name string, st *unix.Stat_t) Entry {
	kind := uint32(st.Mode) & unix.S_IFMT
	return Entry{
		Name:    name,
		Size:    st.Size,
		ModTime: lethe.FromTime(time.Unix(st.Mtim.Unix())),
		Changed: lethe.FromTime(time.Unix(st.Ctim.Unix())),
		Dir:     kind == unix.S_IFDIR,
		Regular: kind == unix.S_IFREG,
	}
}

// retry repeats a call that a signal interrupted.
func retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// syncTree flushes the given folder and every folder below it, on systems that
// cannot flush a whole file system in one call.
func (f *osFS) syncTree(folder string) error {
	dir, err := f.OpenDir(folder)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil {
		return err
	}
	for _, name := range names {
		entry, err := dir.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !entry.Dir {
			continue
		}
		if err := f.syncTree(join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("folder %q: %w", folder, err)
	}
	return nil
}
