//go:build linux || darwin || freebsd

package treeblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// entry is what lies under a name.
type entry struct {
	name    string
	dir     bool
	regular bool
	info    blob.Info
	tag     string
	dev     uint64
	mtime   int64 // nanoseconds since 1970
}

func entryOf(name string, st *unix.Stat_t) entry {
	kind := uint32(st.Mode) & unix.S_IFMT
	mtime := time.Unix(st.Mtim.Unix())
	return entry{
		name: name, dir: kind == unix.S_IFDIR, regular: kind == unix.S_IFREG, dev: uint64(st.Dev), mtime: mtime.UnixNano(),
		info: blob.Info{Size: st.Size, ModTime: lethe.FromTime(mtime)},
		// Another name of the same file changes the time of its last change, so
		// that is left out.
		tag: fmt.Sprintf("%d-%d-%d", st.Ino, mtime.UnixNano(), st.Size),
	}
}

// statAt stats a name in a folder; it follows no link.
func statAt(dir int, name string) (entry, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return entryOf(name, &st), err
	}
}

// look stats the file of a key.
func (s *Store) look(ctx context.Context, key string) (e entry, err error) {
	if err := s.check(ctx, key); err != nil {
		return e, fmt.Errorf("treeblob: stat %q: %w", key, err)
	}
	folder, name := s.split(key)
	dir, err := s.openDir(folder)
	if err != nil {
		return e, fmt.Errorf("treeblob: stat %q: %w", key, cause(err))
	}
	defer dir.Close()
	e, err = statAt(fd(dir), name)
	switch {
	case err == nil && e.dir:
		err = unix.ENOENT
	case err == nil && !e.regular:
		err = errSpecial
	}
	if err != nil {
		return e, fmt.Errorf("treeblob: stat %q: %w", key, cause(err))
	}
	e.info.Key = key
	return e, nil
}

// Stat describes the file of a key: blob.ErrNotExist, blob.ErrInvalidKey.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	e, err := s.look(ctx, key)
	return e.info, err
}

// StatForeign implements blob.Foreign.
func (s *Store) StatForeign(ctx context.Context, key string) (blob.ForeignInfo, error) {
	e, err := s.look(ctx, key)
	return blob.ForeignInfo{Info: e.info, Tag: e.tag, Alike: fmt.Sprintf("%d-%s", e.dev, e.tag)}, err
}

// Get implements blob.Store.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := s.check(ctx, key); err != nil {
		return nil, fmt.Errorf("treeblob: get %q: %w", key, err)
	}
	if offset < 0 || length < -1 {
		return nil, fmt.Errorf("treeblob: get %q: there is no range %d+%d", key, offset, length)
	}
	file, _, err := s.open(key)
	if err != nil {
		return nil, fmt.Errorf("treeblob: get %q: %w", key, err)
	}
	if length < 0 {
		length = math.MaxInt64 - offset
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(file, offset, length), file}, nil
}

// OpenForeign implements blob.Foreign.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	if err := s.check(ctx, seen.Key); err != nil {
		return nil, fmt.Errorf("treeblob: open %q: %w", seen.Key, err)
	}
	file, e, err := s.open(seen.Key)
	if err == nil && e.tag != seen.Tag {
		err = errors.Join(blob.ErrChanged, file.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("treeblob: open %q: %w", seen.Key, err)
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(file, seen.Size), file}, nil
}

// open opens the file of a key.
func (s *Store) open(key string) (*os.File, entry, error) {
	folder, name := s.split(key)
	dir, err := s.openDir(folder)
	if err != nil {
		return nil, entry{}, cause(err)
	}
	defer dir.Close()
	at, err := openAt(fd(dir), name, unix.O_RDONLY)
	if err != nil {
		return nil, entry{}, cause(err)
	}
	file := os.NewFile(uintptr(at), name)
	var st unix.Stat_t
	err = unix.Fstat(at, &st)
	e := entryOf(name, &st)
	switch {
	case err == nil && e.dir:
		err = unix.ENOENT
	case err == nil && !e.regular:
		err = errSpecial
	}
	if err != nil {
		return nil, e, errors.Join(cause(err), file.Close())
	}
	return file, e, nil
}

// List calls fn for every file with the prefix in ascending byte order of keys,
// after the key `after`. It holds the names of one folder and its parents in
// memory. Links, devices and names that begin with a dot are omitted, unless the
// prefix leads into that folder; other odd names are listed as they are. An error
// means that it was not complete.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	if err := errors.Join(ctx.Err(), s.inPlace()); err != nil {
		return fmt.Errorf("treeblob: list %q: %w", prefix, err)
	}
	w := &walk{s: s, ctx: ctx, prefix: prefix, after: after, fn: fn}
	err := w.folder("")
	if err == nil || w.stopped {
		return err
	}
	return fmt.Errorf("treeblob: list %q: %w", prefix, err)
}

// walk is one List.
type walk struct {
	s             *Store
	ctx           context.Context
	prefix, after string
	fn            func(blob.Info) error
	stopped       bool // by fn
}

// folder passes on the files of a folder, which is named as keys are: "" or with a
// slash at its end.
func (w *walk) folder(folder string) error {
	entries, err := w.entries(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.dir {
			err = w.folder(folder + e.name + "/")
		} else {
			e.info.Key = folder + e.name
			err = w.fn(e.info)
			w.stopped = w.stopped || err != nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a folder that the walk needs, in the byte order of
// keys: a folder sorts as its name with a slash.
func (w *walk) entries(folder string) ([]entry, error) {
	dir, err := w.s.openDir(w.s.o.Prefix + folder)
	switch {
	case err != nil && (folder != "" || w.s.o.Beside != w.s.o.Prefix) && (errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)):
		return nil, nil // it was removed meanwhile
	case errors.Is(err, errOther):
		return nil, nil
	case err != nil:
		return nil, cause(err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var out []entry
	for _, name := range names {
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(w.prefix, folder+name+"/")
		if hidden || name == "lost+found" && w.s.o.Prefix+folder == "" || !w.wants(folder+name) {
			continue
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		e, err := statAt(fd(dir), name)
		switch {
		case errors.Is(err, unix.ENOENT): // it was deleted meanwhile
		case err != nil:
			return nil, err
		case e.dir && e.dev == w.s.dev, e.regular && w.tells(folder+name):
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.order(), b.order()) })
	return out, nil
}

func (e entry) order() string {
	if e.dir {
		return e.name + "/"
	}
	return e.name
}

// tells reports whether a file is requested, wants whether a file or a folder may
// be.
func (w *walk) tells(key string) bool { return key > w.after && strings.HasPrefix(key, w.prefix) }

func (w *walk) wants(key string) bool {
	folder := key + "/"
	return w.tells(key) || (strings.HasPrefix(folder, w.prefix) || strings.HasPrefix(w.prefix, folder)) &&
		(folder > w.after || strings.HasPrefix(w.after, folder))
}
