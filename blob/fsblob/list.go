package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lethe-storage/lethe/blob"
)

// List implements blob.Store. It holds the names of one folder and its parents in
// memory.
func (s *Store) List(ctx context.Context, prefix, after string, fn func(blob.Info) error) error {
	w := &walk{store: s, ctx: ctx, prefix: prefix, after: after, fn: fn}
	err := w.folder("")
	if err == nil || w.stopped {
		return err
	}
	return fmt.Errorf("fsblob: list %q: %w", prefix, s.cause(err))
}

// walk is one List.
type walk struct {
	store         *Store
	ctx           context.Context
	prefix, after string
	fn            func(blob.Info) error
	stopped       bool // by fn
}

func (w *walk) folder(folder string) error {
	entries, err := w.entries(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		key := join(folder, e.Name)
		if e.Dir {
			err = w.folder(key)
		} else {
			err = w.fn(blob.Info{Key: key, Size: e.Size, ModTime: e.ModTime})
			w.stopped = err != nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entries returns the entries of a folder that the walk needs, in the byte order of
// keys: a folder sorts as its name with a slash.
func (w *walk) entries(folder string) ([]Entry, error) {
	dir, err := w.store.fs.OpenDir(folder)
	if err != nil {
		return nil, vanished(folder, err)
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		if !w.concerns(folder, name) {
			continue
		}
		if err := w.ctx.Err(); err != nil {
			return nil, err
		}
		e, err := dir.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			return nil, err
		case w.wants(join(folder, name), e.Dir):
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.order(), b.order()) })
	return entries, nil
}

func (e Entry) order() string {
	if e.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// vanished skips a folder that was removed during the walk; the root never is.
func vanished(folder string, err error) error {
	if folder == "" {
		return outage(err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// concerns avoids a stat of names that the walk does not want, as file or folder.
func (w *walk) concerns(folder, name string) bool {
	if folder == "" && (name == tempFolder || name == lostFound) {
		return false
	}
	key := join(folder, name)
	return w.wants(key, false) || w.wants(key, true)
}

// wants reports whether the key, or any key in the folder of that name, is
// requested.
func (w *walk) wants(key string, dir bool) bool {
	if !dir {
		return key > w.after && strings.HasPrefix(key, w.prefix)
	}
	key += "/"
	return (strings.HasPrefix(key, w.prefix) || strings.HasPrefix(w.prefix, key)) &&
		(key > w.after || strings.HasPrefix(w.after, key))
}
