package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// SweepUnfinished implements blob.Unfinished: it removes temporary files that
// were last written before the instant and do not belong to a Put of this store.
func (s *Store) SweepUnfinished(ctx context.Context, before lethe.Time) (int, int64, error) {
	n, bytes, err := s.sweep(ctx, before)
	if err != nil {
		err = fmt.Errorf("fsblob: sweep unfinished: %w", s.cause(err))
	}
	return n, bytes, err
}

func (s *Store) sweep(ctx context.Context, before lethe.Time) (n int, bytes int64, err error) {
	dir, err := s.fs.OpenDir(tempFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer dir.Close()
	names, err := dir.Names()
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		if err = ctx.Err(); err != nil {
			break
		}
		size, serr := s.sweepOne(dir, name, before)
		if errors.Is(serr, blob.ErrNotExist) {
			continue
		}
		if err = serr; err != nil {
			break
		}
		n++
		bytes += size
	}
	if n > 0 {
		err = errors.Join(err, s.syncDir(dir))
	}
	return n, bytes, err
}

// sweepOne removes one stale file and returns its size; blob.ErrNotExist if there
// is nothing to remove. A Put registers its file before it creates it, so an
// unregistered name belongs to no Put, or is gone already.
func (s *Store) sweepOne(dir Dir, name string, before lethe.Time) (int64, error) {
	if _, active := s.active.Load(name); active {
		return 0, blob.ErrNotExist
	}
	entry, err := dir.Stat(name)
	if err != nil {
		return 0, absent(err)
	}
	if entry.Dir || entry.ModTime >= before {
		return 0, blob.ErrNotExist
	}
	return entry.Size, absent(dir.Remove(name))
}
