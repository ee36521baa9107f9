// Package blob is the contract for bytes on a backend: a small Store that every
// backend implements, separate optional abilities, and the rules that all share.
// Implementations: memblob (in memory), fsblob (a directory), s3blob (a bucket),
// treeblob (files of another program). Package blobtest has the suite that each of
// them passes, and wrappers that inject faults and record the order of effects.
// Which bytes are kept or deleted is decided elsewhere.
package blob

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe"
)

// Errors of a Store, to be tested with errors.Is.
var (
	// ErrNotExist: there are no bytes under this key, for certain.
	ErrNotExist = errors.New("blob does not exist")
	// ErrExist: there are bytes under this key already; nothing was overwritten.
	ErrExist = errors.New("blob already exists")
	// ErrInvalidKey: the key cannot be a name on this backend.
	ErrInvalidKey = errors.New("invalid blob key")
	// ErrFull: the backend has no room left. Like ErrDown it names the cause and
	// not the outcome: only together with ErrNotDone is the outcome certain.
	ErrFull = errors.New("backend is full")
	// ErrDown: the backend as a whole cannot be reached or refuses to work; an
	// outage, not a failure of the one key. Blobs wait without using up attempts.
	// The outcome is open (a connection may break after the effect) unless the
	// error wraps ErrNotDone as well.
	ErrDown = errors.New("backend is down")
	// ErrMisplaced: the backend cannot be identified in its place: a disk is not
	// mounted, or another folder lies there. Always with ErrDown.
	ErrMisplaced = errors.New("backend is not in its place")
	// ErrUnfit: the backend works, but its settings (a bucket that keeps versions, a
	// disk that is mounted read-only) forbid writes or deletes. An operator has to
	// act, and the message gives the remedy. Always with ErrDown: blobs wait.
	ErrUnfit = errors.New("backend is not fit to be used")
	// ErrUnknown: the call may or may not have had its effect, or will have it
	// later. Every error of Put and Delete that Unknown does not exclude means the
	// same.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotDone: the call certainly had no effect and never will.
	ErrNotDone = errors.New("not done")
	// ErrLate: the bytes are gone, but an earlier request of the same Delete had no
	// response and may yet take effect. A success where names are not used again.
	ErrLate = errors.New("an earlier request had no response and may yet take effect")
)

// Unknown reports whether err, of a Put or of one key of a Delete, leaves the
// outcome open. The outcome is certain for nil and errors that wrap ErrNotExist,
// ErrExist, ErrInvalidKey, ErrNotDone or ErrLate; a wrapped ErrUnknown outweighs them.
func Unknown(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrUnknown):
		return true
	}
	return !errors.Is(err, ErrNotExist) && !errors.Is(err, ErrExist) &&
		!errors.Is(err, ErrInvalidKey) && !errors.Is(err, ErrNotDone) && !errors.Is(err, ErrLate)
}

// Info describes stored bytes.
type Info struct {
	Key     string
	Size    int64      // bytes
	ModTime lethe.Time // by the backend's clock; zero if it has none
}

// Result is the outcome of one key of a batch delete.
type Result struct {
	Key string
	// Err is nil when the bytes were deleted, wraps ErrNotExist when there were
	// none, or ErrLate (successes as well), and is any other error when the delete
	// failed or is unknown.
	Err error
}

// Store holds immutable bytes under write-once keys.
//
// Semantics required of every implementation:
//   - Keys are as CheckKey requires; for every other key calls return
//     ErrInvalidKey. A key that is the folder of another one ("a" beside "a/b") may
//     be refused in the same way; callers never use such names.
//   - Put is atomic: no reader and no List sees a partial blob under its key. It is
//     durable when it returns nil: it survives the loss of power. It reads r to its
//     end and stores exactly size bytes (UnknownSize: as many as come). If r ends
//     early, has more (both wrap ErrSize), or fails, nothing is left under the key,
//     and the error wraps the reader's error and ErrNotDone. It never overwrites:
//     ErrExist, at the latest after r was read. It calls the Check of ctx after r
//     was read, right before bytes can appear under the key, and again before each
//     further try. An error of it, wrapped together with ErrNotDone, leaves nothing
//     there if nothing was sent before.
//   - Get opens length bytes from offset (length -1: to the end). An open body can
//     be read to its end even if the key is deleted meanwhile. A range beyond the
//     end is cut there. The caller closes the body.
//   - Stat is exact: nil and ErrNotExist are proofs, and what they prove survives
//     the loss of power; other errors prove nothing.
//   - Delete deletes many keys. It returns exactly one Result per key, in order,
//     and a key given twice is absent the second time. Absent keys are no failure
//     (ErrNotExist in their Result, or nil on a backend that reports them as
//     deleted, as S3 does); invalid keys fail alone. A deletion, or an absence, is
//     durable when its Result reports it. The error is non-nil only if the call as
//     a whole failed; then the Results that exist count (see Unknown), and keys
//     without one are unknown.
//   - List calls fn for every key with the prefix in ascending byte order, after
//     the key `after` (exclusive). It returns nil only if it was complete: any
//     error means that absence from the listing proves nothing. Foreign names,
//     which CheckKey refuses, are listed as they are. What is put or deleted during
//     the walk may or may not be listed. fn may stop the walk by an error, which
//     List returns, and may call the store.
//
// Implementations are safe for concurrent use, and honour ctx: a call that was
// cancelled before it had an effect wraps the context's error and ErrNotDone.
type Store interface {
	Put(ctx context.Context, key string, r io.Reader, size int64) error
	Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	Stat(ctx context.Context, key string) (Info, error)
	Delete(ctx context.Context, keys []string) ([]Result, error)
	List(ctx context.Context, prefix, after string, fn func(Info) error) error
}

// The optional abilities may return errors.ErrUnsupported, as a wrapper around a
// store without them does.

// Unfinished is the optional ability of backends that may keep bytes of uploads
// that never finished (temporary files, multipart uploads of the backend).
type Unfinished interface {
	// SweepUnfinished removes remains of uploads that were begun before the instant
	// and are not in flight in this process. It returns their number and their
	// bytes.
	SweepUnfinished(ctx context.Context, before lethe.Time) (n int, bytes int64, err error)
}

// Spacer is the optional ability to report the room left on the backend, in bytes.
type Spacer interface {
	Free(ctx context.Context) (int64, error)
}

// Downer is the optional ability to report, without a call to the backend, that it
// is down now: every call would return ErrDown.
type Downer interface {
	// Down returns the reason, empty if it is not known to be down.
	Down() string
}

// Placed is the optional ability of backends whose place another one can take while
// they are open: a folder, on which a disk is mounted or not.
type Placed interface {
	// InPlace returns ErrDown with ErrMisplaced once the place holds another
	// backend than was opened. Until Reopen every call of the store then returns
	// that.
	InPlace() error
	// Reopen opens what lies in the place now. The caller has to identify it before
	// any other call.
	Reopen() error
}
