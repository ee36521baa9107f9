// Package strictfs is a file system in memory that keeps only what was flushed:
// an fsblob.FS for tests that cut the power. A file's bytes become durable by a
// flush of the file, a name by a flush of its folder; CrashClone returns what a
// disk may have after a crash. Hooks see every operation and can make it fail.
package strictfs

import (
	"errors"
	"sync"
	"syscall"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

// Op is one operation, as shown to the hooks.
type Op struct {
	Kind string // opendir, mkdir, move, syncall, create, open, stat, remove, names, syncdir, read, write, sync
	Path string // of the file or folder, from the root
}

// ErrLie, returned by Hooks.Before, omits the effect and reports success, as a disk
// does that ignores flushes.
var ErrLie = errors.New("lie")

// Hooks are called around every operation, without a lock held, possibly from
// several goroutines. A nil hook does nothing.
type Hooks struct {
	// Before returns an error with which the operation fails without effect.
	Before func(Op) error
	// After returns an error with which the operation fails after its effect.
	After func(Op) error
}

// FS is the file system. It is safe for concurrent use.
type FS struct {
	clock lethe.Clock

	mu    sync.Mutex
	hooks Hooks
	root  *node
}

var _ fsblob.FS = (*FS)(nil)

// New makes an empty file system; clock stamps the files, nil leaves zero.
func New(clock lethe.Clock) *FS { return &FS{clock: clock, root: newDir()} }

// SetHooks replaces the hooks.
func (f *FS) SetHooks(h Hooks) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hooks = h
}

// do runs one operation between its hooks.
func (f *FS) do(kind, path string, effect func() error) error {
	f.mu.Lock()
	hooks := f.hooks
	f.mu.Unlock()
	op := Op{Kind: kind, Path: path}
	if hooks.Before != nil {
		if err := hooks.Before(op); errors.Is(err, ErrLie) {
			return nil
		} else if err != nil {
			return err
		}
	}
	f.mu.Lock()
	err := effect()
	f.mu.Unlock()
	if err == nil && hooks.After != nil {
		err = hooks.After(op)
	}
	return err
}

func (f *FS) now() lethe.Time {
	if f.clock == nil {
		return 0
	}
	return f.clock.Now()
}

// OpenDir implements fsblob.FS.
func (f *FS) OpenDir(folder string) (fsblob.Dir, error) {
	var d *dir
	err := f.do("opendir", folder, func() error {
		n, err := f.root.walk(folder)
		if err == nil && !n.isDir() {
			err = syscall.ENOTDIR
		}
		d = &dir{fs: f, path: folder, node: n}
		return err
	})
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Mkdir implements fsblob.FS.
func (f *FS) Mkdir(folder string) error {
	return f.do("mkdir", folder, func() error {
		if folder == "" {
			return syscall.EEXIST
		}
		above, name := splitPath(folder)
		n, err := f.root.walk(above)
		if err != nil {
			return err
		}
		return n.link(name, newDir())
	})
}

// Move implements fsblob.FS. The new name and the loss of the old one become
// durable each with its own folder.
func (f *FS) Move(from fsblob.Dir, old string, to fsblob.Dir, name string) error {
	a, b := from.(*dir), to.(*dir)
	return f.do("move", joinPath(b.path, name), func() error {
		file, ok := a.node.names[old]
		if !ok {
			return syscall.ENOENT
		}
		if err := b.node.link(name, file); err != nil {
			return err
		}
		return a.node.unlink(old)
	})
}

// SyncAll implements fsblob.FS.
func (f *FS) SyncAll() error {
	return f.do("syncall", "", func() error {
		f.root.syncTree()
		return nil
	})
}

// Free implements fsblob.FS: a tebibyte, always.
func (f *FS) Free() (int64, error) { return 1 << 40, nil }

// Close implements fsblob.FS.
func (f *FS) Close() error { return nil }
