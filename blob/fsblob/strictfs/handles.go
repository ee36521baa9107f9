package strictfs

import (
	"io"
	"maps"
	"slices"
	"syscall"

	"github.com/lethe-storage/lethe/blob/fsblob"
)

// dir is an open folder.
type dir struct {
	fs   *FS
	path string
	node *node
}

// Create implements fsblob.Dir.
func (d *dir) Create(name string) (fsblob.File, error) {
	return d.file("create", name, func() (*node, error) {
		n := &node{made: d.fs.now()}
		return n, d.node.link(name, n)
	})
}

// Open implements fsblob.Dir.
func (d *dir) Open(name string) (fsblob.File, error) {
	return d.file("open", name, func() (*node, error) { return d.node.walk(name) })
}

func (d *dir) file(kind, name string, open func() (*node, error)) (fsblob.File, error) {
	path := joinPath(d.path, name)
	var n *node
	err := d.fs.do(kind, path, func() (err error) {
		n, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{fs: d.fs, path: path, node: n}, nil
}

// Stat implements fsblob.Dir.
func (d *dir) Stat(name string) (entry fsblob.Entry, err error) {
	err = d.fs.do("stat", joinPath(d.path, name), func() error {
		n, err := d.node.walk(name)
		if err == nil {
			entry = n.entry(name)
		}
		return err
	})
	return entry, err
}

// Remove implements fsblob.Dir.
func (d *dir) Remove(name string) error {
	return d.fs.do("remove", joinPath(d.path, name), func() error { return d.node.unlink(name) })
}

// Names implements fsblob.Dir.
func (d *dir) Names() (names []string, err error) {
	err = d.fs.do("names", d.path, func() error {
		names = slices.Sorted(maps.Keys(d.node.names))
		return nil
	})
	return names, err
}

// Sync implements fsblob.Dir.
func (d *dir) Sync() error {
	return d.fs.do("syncdir", d.path, func() error {
		d.node.sync()
		return nil
	})
}

// Close implements fsblob.Dir.
func (d *dir) Close() error { return nil }

// file is an open file.
type file struct {
	fs     *FS
	path   string
	node   *node
	offset int64
}

// Read implements fsblob.File.
func (f *file) Read(p []byte) (n int, err error) {
	err = f.fs.do("read", f.path, func() error {
		if f.node.isDir() {
			return syscall.EISDIR
		}
		if f.offset >= int64(len(f.node.data)) {
			return io.EOF
		}
		n = copy(p, f.node.data[f.offset:])
		f.offset += int64(n)
		return nil
	})
	return n, err
}

// Write implements fsblob.File.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.fs.do("write", f.path, func() error {
		f.node.write(f.offset, p)
		f.node.made = f.fs.now()
		f.offset += int64(len(p))
		n = len(p)
		return nil
	})
	return n, err
}

// Seek implements fsblob.File, from the start only.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekStart || offset < 0 {
		return 0, syscall.EINVAL
	}
	f.offset = offset
	return offset, nil
}

// Sync implements fsblob.File.
func (f *file) Sync() error {
	return f.fs.do("sync", f.path, func() error {
		f.node.sync()
		return nil
	})
}

// Stat implements fsblob.File.
func (f *file) Stat() (fsblob.Entry, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return f.node.entry(""), nil
}

// Close implements fsblob.File.
func (f *file) Close() error { return nil }
