package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/lethe-storage/lethe/blob"
)

var _ blob.Foreign = (*Store)(nil)

// StatForeign implements blob.Foreign.
func (s *Store) StatForeign(ctx context.Context, key string) (blob.ForeignInfo, error) {
	if err := checkForeign(ctx, key); err != nil {
		return blob.ForeignInfo{}, err
	}
	folder, name := split(key)
	entry, err := s.stat(folder, name)
	if err != nil {
		return blob.ForeignInfo{}, s.foreign("stat", key, err)
	}
	return foreignInfo(key, entry), nil
}

// OpenForeign implements blob.Foreign.
func (s *Store) OpenForeign(ctx context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	if err := checkForeign(ctx, seen.Key); err != nil {
		return nil, err
	}
	file, err := s.open(seen.Key)
	if err != nil {
		return nil, s.foreign("open", seen.Key, err)
	}
	entry, err := file.Stat()
	if err == nil && foreignInfo(seen.Key, entry).Tag != seen.Tag {
		err = blob.ErrChanged
	}
	if err != nil {
		return nil, errors.Join(s.foreign("open", seen.Key, err), file.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{io.LimitReader(file, seen.Size), file}, nil
}

// foreignInfo has a tag that distinguishes other bytes even if they have the same
// time and size, as after a copy that keeps times.
func foreignInfo(key string, e Entry) blob.ForeignInfo {
	return blob.ForeignInfo{
		Info: blob.Info{Key: key, Size: e.Size, ModTime: e.ModTime},
		Tag:  fmt.Sprintf("%d-%d-%d", e.ModTime, e.Changed, e.Size),
	}
}

// checkForeign refuses names that lead out of the folder, or that belong to the
// store.
func checkForeign(ctx context.Context, key string) error {
	err := blob.CheckForeign(key)
	if err == nil && blob.IsMarker(key) {
		err = fmt.Errorf("%w: %q is a folder", blob.ErrInvalidKey, key)
	}
	if first, _, _ := strings.Cut(key, "/"); err == nil && (first == tempFolder || first == lostFound) {
		err = fmt.Errorf("%w: %q is a name of Lethe's own", blob.ErrInvalidKey, key)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

// foreign is the error of a look-up of a foreign key.
func (s *Store) foreign(what, key string, err error) error {
	switch {
	case errors.Is(err, errSpecial), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		err = fmt.Errorf("%w: %w", blob.ErrInvalidKey, err)
	default:
		err = s.cause(err)
	}
	return fmt.Errorf("fsblob: %s foreign %q: %w", what, key, err)
}
