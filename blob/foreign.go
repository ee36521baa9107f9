package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrChanged: the bytes under a foreign key are not those requested.
var ErrChanged = errors.New("it was changed meanwhile")

// ForeignInfo describes bytes that another program keeps on a backend.
type ForeignInfo struct {
	Info
	// Tag changes with the bytes: their ETag on S3, the times of the last changes
	// and the size of a file. It is not empty.
	Tag string
	// MD5 of the bytes, in hex; empty if the backend does not report it.
	MD5 string
	// Alike proves equality: bytes with equal Alike are equal. Unequal ones prove
	// nothing: an ETag may depend on the parts of an upload, and a file may have
	// two names.
	Alike string
	// Sums are checksums of all bytes that the backend keeps, by their algorithms.
	Sums map[string]string
	// Headers are those that an S3 service keeps with the bytes, by their names.
	Headers map[string]string
	// User is the metadata that their owner set, by lower-case names.
	User map[string]string
}

// Foreign is the optional ability to read what another program keeps on a backend,
// under any name. Nothing of it is ever changed. Errors: ErrNotExist; ErrInvalidKey
// for an ambiguous name (CheckForeign), or one without bytes (a link, a device).
type Foreign interface {
	StatForeign(ctx context.Context, key string) (ForeignInfo, error)
	// OpenForeign opens the bytes that StatForeign described: ErrChanged if others
	// are there. The body has at most the described size. Another StatForeign shows
	// whether they were changed during the read. The caller closes the body.
	OpenForeign(ctx context.Context, seen ForeignInfo) (io.ReadCloser, error)
}

// Copier is the optional ability to copy on the backend what another program keeps
// there.
type Copier interface {
	Foreign
	// CopyForeign copies the bytes that another store of the same backend has
	// described (StatForeign of from), with their metadata, to a key of this store.
	// ErrChanged if others are there by now, ErrNotExist if none are: there was no
	// effect. Bytes under the key are replaced; with fresh they are not, where the
	// backend supports that (ErrExist). It calls the Check of ctx as Put does, and
	// its outcome is as open as that of Put (Unknown). errors.ErrUnsupported,
	// together with ErrNotDone, means that from is no store of this backend.
	CopyForeign(ctx context.Context, from Foreign, seen ForeignInfo, key string, fresh bool) error
}

// maxForeign is the longest name of S3, in bytes.
const maxForeign = 1024

// CheckForeign returns an error that wraps ErrInvalidKey for a name that backends,
// or proxies before them, may read in different ways: with an empty segment, one of
// dots, a control character, or bytes that are not UTF-8. A request for it could
// yield other bytes. One slash may end a name: consoles of S3 services mark folders
// so (IsMarker).
func CheckForeign(key string) error {
	switch {
	case key == "" || len(key) > maxForeign:
		return fmt.Errorf("%w: %d bytes, not 1 to %d", ErrInvalidKey, len(key), maxForeign)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: %q is not UTF-8", ErrInvalidKey, key)
	}
	for _, r := range key {
		if r < ' ' || r == 0x7f || r == '\\' || r == 0xfffe || r == 0xffff {
			return fmt.Errorf("%w: %q has the character %U", ErrInvalidKey, key, r)
		}
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(key, "/"), "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fmt.Errorf("%w: %q has the segment %q", ErrInvalidKey, key, segment)
		}
	}
	return nil
}

// IsMarker reports whether a name marks a folder. Only a marker without bytes is
// known to be the marker, and not the folder or the name without the slash.
func IsMarker(key string) bool { return strings.HasSuffix(key, "/") }
