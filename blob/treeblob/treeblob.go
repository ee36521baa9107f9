//go:build linux || darwin || freebsd

// Package treeblob reads, copies and deletes files in a folder that another program
// owns: a key is the path of a file below a prefix, with slashes.
//
// The layout of the other program is kept: there is no index, and temporary files
// begin with a dot, so that it does not take them for its own. Symbolic links are
// never followed, other file systems below the root never entered, names that begin
// with a dot listed only below a prefix that has one. A folder that is empty after its
// last file was deleted is removed as well, unless another program has changed it
// recently.
//
// A disk that is not mounted leaves an empty folder in its place. While the folder
// of the prefix is missing or empty, or the path leads to another root than was
// opened, every call returns blob.ErrMisplaced, and nothing is taken for absent.
// Lethe's own blobs in a folder are fsblob's.
package treeblob

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Options of a Store.
type Options struct {
	// Root is the path of the folder.
	Root string
	// Prefix stands before every key: it ends in a slash.
	Prefix string
	// Beside is the prefix whose folder has to exist and not be empty (default
	// Prefix). A different Prefix is the caller's own, and may be absent.
	Beside string
	// Idle is how long a folder must be unchanged before it is removed once it is
	// empty (default 10 minutes).
	Idle time.Duration
	// Clock measures Idle against times of the file system. nil is
	// lethe.SystemClock.
	Clock lethe.Clock
}

// own begins the names of temporary files.
const own = ".lethe"

// Store is the files below a prefix. It is safe for concurrent use.
type Store struct {
	o    Options
	root int // the open folder
	is   os.FileInfo
	dev  uint64

	mu sync.Mutex
	// changed records the ages of folders before this store removed files, and
	// their state after.
	changed map[string]touched
}

// touched is a folder from which files were removed.
type touched struct{ before, after int64 }

var (
	_ blob.Store  = (*Store)(nil)
	_ blob.Copier = (*Store)(nil)
)

// Open opens the folder, which has to exist: blob.ErrDown.
func Open(o Options) (*Store, error) {
	if o.Beside == "" {
		o.Beside = o.Prefix
	}
	if o.Idle == 0 {
		o.Idle = 10 * time.Minute
	}
	if o.Clock == nil {
		o.Clock = lethe.SystemClock{}
	}
	if !filepath.IsAbs(o.Root) || !strings.HasSuffix(o.Prefix, "/") || blob.CheckForeign(o.Prefix) != nil {
		return nil, fmt.Errorf("%s, %q: the path has to be absolute, and the prefix has to end in a slash", o.Root, o.Prefix)
	}
	s := &Store{o: o, changed: map[string]touched{}}
	file, err := os.Open(o.Root)
	if err == nil {
		defer file.Close()
		s.is, err = file.Stat()
	}
	if err == nil && !s.is.IsDir() {
		err = unix.ENOTDIR
	}
	if err == nil {
		s.root, err = unix.Dup(int(file.Fd()))
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w: %w", o.Root, blob.ErrDown, err)
	}
	unix.CloseOnExec(s.root)
	var st unix.Stat_t
	if err := unix.Fstat(s.root, &st); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w: %w", o.Root, blob.ErrDown, err), s.Close())
	}
	s.dev = uint64(st.Dev)
	return s, nil
}

// Close closes the folder.
func (s *Store) Close() error { return unix.Close(s.root) }

// Probe checks that the folder is in its place, now.
func (s *Store) Probe(context.Context) error { return s.inPlace() }

// inPlace refuses calls in a place that may be another one.
func (s *Store) inPlace() error {
	wrong := func(what string, err error) error {
		return fmt.Errorf("%w: %w: %s: %s (%w); mount the disk, correct the path or the prefix, or make the folder with a file in it", blob.ErrDown, blob.ErrMisplaced, s.o.Root, what, err)
	}
	now, err := os.Stat(s.o.Root)
	if err != nil {
		return wrong("it is not there", err)
	}
	if !os.SameFile(now, s.is) {
		return wrong("another folder lies there than the one that was opened", errMoved)
	}
	dir, err := s.openDir(strings.TrimSuffix(s.o.Beside, "/"))
	if err != nil {
		return wrong("there is no folder "+s.o.Beside+" on its file system", err)
	}
	defer dir.Close()
	if names, err := dir.Readdirnames(1); err != nil || len(names) == 0 {
		return wrong("nothing lies below "+s.o.Beside, err)
	}
	return nil
}

var (
	errMoved   = errors.New("it was mounted or moved meanwhile")
	errOther   = errors.New("another file system is mounted there")
	errSpecial = errors.New("it is not a regular file")
)

// openDir opens a folder by its path below the root, "" for the root itself. It
// follows no link and enters no other file system.
func (s *Store) openDir(path string) (*os.File, error) {
	fd, err := openAt(s.root, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" {
			continue
		}
		next, err := openAt(fd, segment, unix.O_RDONLY|unix.O_DIRECTORY)
		_ = unix.Close(fd)
		if err != nil {
			return nil, err
		}
		var st unix.Stat_t
		if err = unix.Fstat(next, &st); err == nil && uint64(st.Dev) != s.dev {
			err = errOther
		}
		if fd = next; err != nil {
			_ = unix.Close(fd)
			return nil, err
		}
	}
	return os.NewFile(uintptr(fd), path), nil
}

func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// fd is an open folder's descriptor.
func fd(dir *os.File) int { return int(dir.Fd()) }

// split returns the path of the folder, below the root, and the name of a key.
func (s *Store) split(key string) (folder, name string) {
	path := s.o.Prefix + key
	i := strings.LastIndexByte(path, '/')
	return path[:i], path[i+1:]
}

// maxName is the longest name that every file system takes, in bytes.
const maxName = 255

// check refuses keys that cannot be names of the other program's files, and returns
// what is wrong with the place.
func (s *Store) check(ctx context.Context, key string) error {
	if err := blob.CheckForeign(key); err != nil {
		return err
	}
	if blob.IsMarker(key) {
		return fmt.Errorf("%w: %q is a folder", blob.ErrInvalidKey, key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if len(segment) > maxName {
			return fmt.Errorf("%w: %q has a name of %d bytes", blob.ErrInvalidKey, key, len(segment))
		}
	}
	return errors.Join(ctx.Err(), s.inPlace())
}

// cause turns an error of the system into an error of package blob.
func cause(err error) error {
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%w: %w", blob.ErrNotExist, err)
	case errors.Is(err, unix.EEXIST):
		return fmt.Errorf("%w: %w", blob.ErrExist, err)
	case errors.Is(err, unix.ELOOP), errors.Is(err, errSpecial), errors.Is(err, errOther), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w: %w", blob.ErrInvalidKey, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case errors.Is(err, unix.EROFS), errors.Is(err, unix.EIO), errors.Is(err, unix.ESTALE), errors.Is(err, unix.EMFILE):
		return fmt.Errorf("%w: %w", blob.ErrDown, err)
	}
	return err
}
