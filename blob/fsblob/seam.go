package fsblob

import (
	"io"

	"github.com/lethe-storage/lethe"
)

// FS is the folder tree of a Store. Tests replace it by a file system that loses
// unflushed changes. A folder is named by its path from the root, with slashes; the
// root is "". Errors match those of io/fs (fs.ErrNotExist, fs.ErrExist) and are
// syscall errors otherwise. It is safe for concurrent use; a Dir and a File are
// not.
type FS interface {
	io.Closer
	// OpenDir opens a folder. It never leads out of the root.
	OpenDir(folder string) (Dir, error)
	// Mkdir makes one folder in an existing one.
	Mkdir(folder string) error
	// Move gives a file of one folder a name in another one, atomically and never
	// over an existing name (fs.ErrExist). The old name may remain.
	Move(from Dir, old string, to Dir, name string) error
	// SyncAll makes durable all that was changed before, in all folders.
	SyncAll() error
	// Free returns the room left, in bytes.
	Free() (int64, error)
}

// Dir is an open folder. Names are single path elements.
type Dir interface {
	io.Closer
	DirSelf
	// Create makes a new file, for writing.
	Create(name string) (File, error)
	// Open opens a file for reading. It follows no symbolic link.
	Open(name string) (File, error)
	// Stat describes what lies under the name; it follows no symbolic link.
	Stat(name string) (Entry, error)
	// Remove removes a file, never a folder.
	Remove(name string) error
}

// DirSelf are the operations on an open folder as a whole.
type DirSelf interface {
	// Names returns the names in the folder, in any order. It is called once per
	// Dir.
	Names() ([]string, error)
	// Sync makes the names in the folder durable.
	Sync() error
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	io.Seeker
	// Sync makes the file's bytes durable, not its name.
	Sync() error
	// Stat describes the file; Name is empty.
	Stat() (Entry, error)
}

// Entry describes what lies under a name.
type Entry struct {
	Name    string
	Size    int64 // bytes
	ModTime lethe.Time
	// Changed is when the file was last changed in any way, by the system, which
	// lets no program set it.
	Changed lethe.Time
	Dir     bool // a folder
	Regular bool // an ordinary file: neither folder nor link, pipe, device
}
