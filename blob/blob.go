// Package blob is the contract for bytes on a backend: a small Store that every
// backend implements, optional abilities apart, and the rules that all share.
// Implementations: memblob (in memory), fsblob (a directory), s3blob (a bucket).
// blobtest holds the suite that each of them passes, and wrappers that inject
// faults and record the order of effects.
package blob

import (
	"context"
	"errors"
	"io"

	"github.com/lethe-storage/lethe"
)

// Errors of a Store, to be tested with errors.Is.
var (
	// ErrNotExist: no bytes under this key. Certain, not a guess.
	ErrNotExist = errors.New("blob does not exist")
	// ErrExist: bytes lie under this key already; nothing was overwritten.
	ErrExist = errors.New("blob already exists")
	// ErrInvalidKey: the key cannot be a name on this backend.
	ErrInvalidKey = errors.New("invalid blob key")
	// ErrFull: the backend has no room left. Like ErrDown it names the cause and
	// not the outcome: only together with ErrNotDone is it certain.
	ErrFull = errors.New("backend is full")
	// ErrDown: the backend as a whole cannot be reached or refuses to work; an
	// outage, not a failure of the one key. Items wait and burn no attempts. The
	// outcome is open (a connection may break after the effect) unless the error
	// wraps ErrNotDone as well.
	ErrDown = errors.New("backend is down")
	// ErrMisplaced: what lies in the backend's place is not known to be the backend:
	// a disk that is not mounted, another folder. Always with ErrDown.
	ErrMisplaced = errors.New("backend is not in its place")
	// ErrUnfit: the backend works, but as it is set up it must not be written to or
	// deleted from (a bucket that keeps versions, say): a person has to act, and the
	// message says how. Always with ErrDown: items wait.
	ErrUnfit = errors.New("backend is not fit to be used")
	// ErrUnknown: the call may or may not have had its effect, or will have it
	// later. So may every error of Put and Delete that is not certain by Unknown.
	ErrUnknown = errors.New("outcome unknown")
	// ErrNotDone: the call certainly had no effect and never will.
	ErrNotDone = errors.New("not done")
)

// Unknown reports whether err, of a Put or of one key of a Delete, leaves the
// outcome open. Certain are nil and what wraps ErrNotExist, ErrExist,
// ErrInvalidKey or ErrNotDone; a wrapped ErrUnknown outweighs them.
func Unknown(err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, ErrUnknown):
		return true
	}
	return !errors.Is(err, ErrNotExist) && !errors.Is(err, ErrExist) &&
		!errors.Is(err, ErrInvalidKey) && !errors.Is(err, ErrNotDone)
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
	// none (the goal is reached just the same), and is anything else when it
	// failed or is unknown.
	Err error
}

// Store holds immutable bytes under write-once keys.
//
// Semantics required of every implementation:
//   - Keys are as CheckKey has them; every other key is answered ErrInvalidKey. A
//     key that is the folder of another one ("a" beside "a/b") may be refused in
//     the same way; callers never use such names.
//   - Put is atomic: no reader and no List sees a partial blob under its key. It
//     is durable when it returns nil: it survives the loss of power. It reads r
//     to its end and stores exactly size bytes (UnknownSize: as many as come);
//     when r ends early, has more (both wrap ErrSize), or fails, nothing is left
//     under the key and the error wraps the reader's error and ErrNotDone. It
//     never overwrites: ErrExist, found out after r was read at the latest. It asks
//     the Check of ctx after r was read, right before bytes can come to lie under the
//     key, and again before each further try; an error of it, wrapped together with
//     ErrNotDone, leaves nothing there if nothing was sent before.
//   - Get opens length bytes from offset (length -1: to the end); what it opened
//     is read to the end even if the key is deleted meanwhile. Reading beyond
//     the end yields what is there. The caller closes it.
//   - Stat is exact: nil and ErrNotExist are proofs, and what they prove survives
//     the loss of power; other errors prove nothing.
//   - Delete deletes many keys; the answer has exactly one Result per key asked,
//     in order, and a key asked twice is absent the second time. Absent keys are
//     no failure (ErrNotExist in their Result, or nil on a backend that says
//     "deleted" of them, as S3 does), invalid keys fail alone. A deletion is
//     durable when its Result says so, and so is an absence. The error is non-nil
//     only if the call as a whole failed; then those Results that are there count
//     (see Unknown), and keys without one are unknown.
//   - List calls fn for every key with the prefix in ascending byte order, after
//     the key `after` (exclusive). It returns nil only if it was complete: any
//     error means that absence from the listing proves nothing. Foreign names,
//     which CheckKey refuses, are listed as they are. What is put or deleted
//     during the walk may or may not be listed. fn may stop the walk by returning
//     an error, which List returns, and may call the store.
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

// The optional abilities may answer errors.ErrUnsupported, as a wrapper around a
// store without them does.

// Unfinished is the optional ability of backends that may keep bytes of uploads
// that never finished (temporary files, multipart uploads of the backend).
type Unfinished interface {
	// SweepUnfinished removes remains of uploads that were begun before the
	// instant and are not under way in this process; it returns how many, and
	// their bytes.
	SweepUnfinished(ctx context.Context, before lethe.Time) (n int, bytes int64, err error)
}

// Spacer is the optional ability to tell the room left on the backend, in bytes.
type Spacer interface {
	Free(ctx context.Context) (int64, error)
}

// Downer is the optional ability to say, without asking the backend, that it is
// down now: every call would answer ErrDown.
type Downer interface {
	// Down says why; empty: it is not known to be down.
	Down() string
}

// Placed is the optional ability of backends in whose place another one can come
// to lie while they are open: a folder, on which a disk is mounted or not.
type Placed interface {
	// InPlace returns ErrDown with ErrMisplaced once what lies in the place is not
	// what was opened. Until Reopen the store then returns every call so.
	InPlace() error
	// Reopen turns to what lies in the place now. Whose that is the caller has to
	// find out before anything else is asked of the store.
	Reopen() error
}
