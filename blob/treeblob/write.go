//go:build linux || darwin || freebsd

package treeblob

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe/blob"
)

// Delete deletes files, and returns a Result for each key, in order. A deletion
// survives a loss of power. Folders that are then empty are removed as well.
func (s *Store) Delete(ctx context.Context, keys []string) ([]blob.Result, error) {
	if err := errors.Join(ctx.Err(), s.inPlace()); err != nil {
		return nil, fmt.Errorf("treeblob: delete %d files: %w: %w", len(keys), blob.ErrNotDone, err)
	}
	results := make([]blob.Result, len(keys))
	folders := map[string][]int{}
	for i, key := range keys {
		results[i].Key = key
		if err := s.check(ctx, key); err != nil {
			results[i].Err = fmt.Errorf("treeblob: delete %q: %w: %w", key, blob.ErrNotDone, err)
			continue
		}
		folder, _ := s.split(key)
		folders[folder] = append(folders[folder], i)
	}
	for folder, at := range folders {
		s.deleteIn(ctx, folder, at, results)
	}
	return results, nil
}

// deleteIn deletes the files of one folder, those at these indexes of the results.
func (s *Store) deleteIn(ctx context.Context, folder string, at []int, results []blob.Result) {
	say := func(i int, kind, err error) {
		results[i].Err = fmt.Errorf("treeblob: delete %q: %w: %w", results[i].Key, kind, err)
	}
	dir, err := s.openDir(folder)
	if err != nil {
		for _, i := range at {
			say(i, blob.ErrNotDone, cause(err))
			if err := cause(err); errors.Is(err, blob.ErrNotExist) {
				results[i].Err = err
			}
		}
		return
	}
	defer dir.Close()
	before, _ := statAt(fd(dir), ".")
	for _, i := range at {
		_, name := s.split(results[i].Key)
		e, err := statAt(fd(dir), name)
		switch {
		case err == nil && !e.regular:
			err = errSpecial
		case err == nil:
			if err = blob.Check(ctx); err == nil {
				err = unix.Unlinkat(fd(dir), name, 0)
			}
		}
		if err != nil {
			say(i, blob.ErrNotDone, cause(err))
		}
		if errors.Is(err, unix.ENOENT) {
			results[i].Err = cause(err)
		}
	}
	if err := dir.Sync(); err != nil {
		for _, i := range at {
			if results[i].Err == nil {
				say(i, blob.ErrUnknown, cause(err))
			}
		}
	}
	after, _ := statAt(fd(dir), ".")
	s.leave(folder, before.mtime, after.mtime)
	s.tidy(ctx, folder)
}

// leave records the age of a folder before files were removed from it, and its
// state after.
func (s *Store) leave(folder string, before, after int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.changed) > 10_000 { // folders that are forgotten only stay a while longer
		clear(s.changed)
	}
	if old, ok := s.changed[folder]; ok && old.after == before {
		before = old.before
	}
	s.changed[folder] = touched{before, after}
}

// idle reports whether no other program has changed a folder for a while: an upload
// that has just made it may be about to use it.
func (s *Store) idle(folder string, mtime int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.changed[folder]; ok && old.after == mtime {
		mtime = old.before
	}
	return s.o.Clock.Now().Time().UnixNano()-mtime >= s.o.Idle.Nanoseconds()
}

// tidy removes a folder if it is empty, and its parents, but never that of the
// prefix.
func (s *Store) tidy(ctx context.Context, folder string) {
	for strings.HasPrefix(folder, s.o.Prefix) && blob.Check(ctx) == nil {
		i := strings.LastIndexByte(folder, '/')
		above, name := folder[:i], folder[i+1:]
		dir, err := s.openDir(above)
		if err != nil {
			return
		}
		before, _ := statAt(fd(dir), ".")
		e, err := statAt(fd(dir), name)
		if err == nil && e.dir && s.idle(folder, e.mtime) {
			err = unix.Unlinkat(fd(dir), name, unix.AT_REMOVEDIR) // refused unless it is empty
		} else {
			err = unix.ENOTEMPTY
		}
		after, _ := statAt(fd(dir), ".")
		_ = dir.Close()
		if err != nil {
			return
		}
		s.leave(above, before.mtime, after.mtime)
		folder = above
	}
}

// temp returns a name for a temporary file.
func temp() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return own + "-" + hex.EncodeToString(b[:])
}

// folderFor opens the folder of a key, and makes it if it is missing, with the
// process's default mode.
func (s *Store) folderFor(key string) (*os.File, string, error) {
	folder, name := s.split(key)
	if dir, err := s.openDir(folder); err == nil || !errors.Is(err, unix.ENOENT) {
		return dir, name, err
	}
	path := ""
	for segment := range strings.SplitSeq(folder, "/") {
		dir, err := s.openDir(path)
		if err != nil {
			return nil, "", err
		}
		if err = unix.Mkdirat(fd(dir), segment, 0o777); err == nil {
			err = dir.Sync()
		}
		_ = dir.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, "", err
		}
		path = strings.TrimPrefix(path+"/"+segment, "/")
	}
	dir, err := s.openDir(folder)
	return dir, name, err
}

// Put stores bytes under a key, whole or not at all, and never over an existing
// file: blob.ErrExist. They survive the loss of power.
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := s.check(ctx, key); err != nil {
		return fmt.Errorf("treeblob: put %q: %w: %w", key, blob.ErrNotDone, err)
	}
	if err := s.put(ctx, key, r, size); err != nil {
		return fmt.Errorf("treeblob: put %q: %w", key, err)
	}
	return nil
}

func (s *Store) put(ctx context.Context, key string, r io.Reader, size int64) error {
	dir, name, err := s.folderFor(key)
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	defer dir.Close()
	made := temp()
	at, err := unix.Openat(fd(dir), made, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	defer func() { _ = unix.Unlinkat(fd(dir), made, 0) }()
	file := os.NewFile(uintptr(at), made)
	_, err = io.Copy(file, blob.Exactly(ctx, r, size))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = errors.Join(ctx.Err(), blob.Check(ctx))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	return s.link(dir, made, dir, name)
}

// link gives a file another name, durably and never over an existing one.
func (s *Store) link(from *os.File, old string, to *os.File, name string) error {
	err := unix.Linkat(fd(from), old, fd(to), name, 0)
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EMLINK), errors.Is(err, unix.ENOTSUP):
		return fmt.Errorf("%w: %w: a second name for a file is refused there: run lethe as the user that owns the files (%w)", blob.ErrNotDone, errors.ErrUnsupported, err)
	case errors.Is(err, unix.EEXIST):
		return cause(err)
	case err != nil:
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	if err := to.Sync(); err != nil {
		return fmt.Errorf("%w: %w", blob.ErrUnknown, cause(err))
	}
	return nil
}

// CopyForeign implements blob.Copier: the file gets a second name, and no byte is
// copied. In-place writes to the file change both.
func (s *Store) CopyForeign(ctx context.Context, from blob.Foreign, seen blob.ForeignInfo, key string, fresh bool) error {
	source, ok := from.(*Store)
	if !ok || !os.SameFile(source.is, s.is) {
		return fmt.Errorf("treeblob: copy %q: %w: %w: the bytes lie in another folder", key, blob.ErrNotDone, errors.ErrUnsupported)
	}
	if err := errors.Join(s.check(ctx, key), source.check(ctx, seen.Key)); err != nil {
		return fmt.Errorf("treeblob: copy %q: %w: %w", key, blob.ErrNotDone, err)
	}
	if err := s.second(ctx, source, seen, key, fresh); err != nil {
		return fmt.Errorf("treeblob: copy %q: %w", key, err)
	}
	return nil
}

func (s *Store) second(ctx context.Context, source *Store, seen blob.ForeignInfo, key string, fresh bool) error {
	folder, old := source.split(seen.Key)
	from, err := source.openDir(folder)
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	defer from.Close()
	e, err := statAt(fd(from), old)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	case e.tag != seen.Tag || !e.regular:
		return fmt.Errorf("%w: %w", blob.ErrNotDone, blob.ErrChanged)
	}
	to, name, err := s.folderFor(key)
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, cause(err))
	}
	defer to.Close()
	if err := errors.Join(ctx.Err(), blob.Check(ctx)); err != nil {
		return fmt.Errorf("%w: %w", blob.ErrNotDone, err)
	}
	if fresh {
		return s.link(from, old, to, name)
	}
	made := temp()
	if err := s.link(from, old, to, made); err != nil {
		return err
	}
	err = unix.Renameat(fd(to), made, fd(to), name)
	_ = unix.Unlinkat(fd(to), made, 0) // a rename between two names of one file leaves both
	if err == nil {
		err = to.Sync()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", blob.ErrUnknown, cause(err))
	}
	return nil
}
