package fsblob

import (
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/lethe-storage/lethe/blob"
)

// full are the errors of a file system without room.
var full = []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT}

// down are the errors that concern the whole file system or process, for any key.
var down = []syscall.Errno{
	syscall.EROFS, syscall.ENODEV, syscall.ENXIO, syscall.ESTALE, syscall.ENOTCONN,
	syscall.ESHUTDOWN, syscall.ETIMEDOUT, syscall.EHOSTDOWN, syscall.EMFILE, syscall.ENFILE,
}

// without are the errors after which a change certainly did not happen.
var without = []syscall.Errno{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EACCES, syscall.EPERM,
	syscall.ENOENT, syscall.EEXIST, syscall.ENOTDIR, syscall.EXDEV, syscall.EMLINK,
	syscall.EBUSY, syscall.EMFILE, syscall.ENFILE, syscall.ENAMETOOLONG, syscall.ELOOP,
}

func isOneOf(err error, set []syscall.Errno) bool {
	return slices.ContainsFunc(set, func(e syscall.Errno) bool { return errors.Is(err, e) })
}

// cause adds blob.ErrFull or blob.ErrDown to an error that is one of these. An
// input/output error is an outage only if the root returns one as well.
func (s *Store) cause(err error) error {
	switch {
	case err == nil, errors.Is(err, blob.ErrDown), errors.Is(err, blob.ErrFull):
		return err
	case isOneOf(err, full):
		return fmt.Errorf("%w: %w", blob.ErrFull, err)
	case isOneOf(err, down), errors.Is(err, syscall.EIO) && s.rootFails():
		return outage(err)
	}
	return err
}

// shared is cause for a step that every Put needs: a failure there is an outage.
func (s *Store) shared(err error) error {
	if isOneOf(err, full) {
		return s.cause(err)
	}
	return outage(err)
}

// outage returns err as one that wraps blob.ErrDown, of a disk that may only be read
// blob.ErrUnfit as well. Its text says so once.
func outage(err error) error {
	switch {
	case errors.Is(err, blob.ErrDown):
		return err
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%w: %w: %w", blob.ErrDown, blob.ErrUnfit, err)
	}
	return fmt.Errorf("%w: %w", blob.ErrDown, err)
}

func (s *Store) rootFails() bool {
	dir, err := s.fs.OpenDir("")
	if err != nil {
		return true
	}
	defer dir.Close()
	_, err = dir.Names()
	return err != nil
}

// outcome adds to the error of a change whether it can have happened.
func (s *Store) outcome(err error) error {
	if isOneOf(err, without) {
		return notDone(s.cause(err))
	}
	return unknown(s.cause(err))
}

func notDone(err error) error { return fmt.Errorf("%w: %w", blob.ErrNotDone, err) }

func unknown(err error) error { return fmt.Errorf("%w: %w", blob.ErrUnknown, err) }
