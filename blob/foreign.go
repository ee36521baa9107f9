package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// ErrChanged: other bytes lie under a foreign key than those that were asked for.
var ErrChanged = errors.New("it was changed meanwhile")

// ForeignInfo describes bytes that somebody else keeps on a backend.
type ForeignInfo struct {
	Info
	// Tag changes with the bytes: their ETag on S3, the times of the last changes and
	// the size of a file. It is not empty.
	Tag string
	// MD5 of the bytes, in hex; empty if the backend does not tell it.
	MD5 string
	// Alike vouches for the bytes if it is that of others, too; if it is not, it says
	// nothing: an ETag that depends on the parts of an upload, a file with two names.
	Alike string
	// Sums are checksums of all bytes that the backend keeps, by their algorithms.
	Sums map[string]string
	// Headers are what an S3 service keeps beside the bytes, by the names of its headers.
	Headers map[string]string
	// User is the metadata that their owner gave them, by lower-case names.
	User map[string]string
}

// Foreign is the optional ability to read what somebody else keeps on a backend,
// under whatever name. Nothing of it is ever changed. Errors: ErrNotExist;
// ErrInvalidKey of a name that cannot be asked for unmistakably (CheckForeign), or
// that no bytes lie under (a link, a device).
type Foreign interface {
	StatForeign(ctx context.Context, key string) (ForeignInfo, error)
	// OpenForeign opens the bytes that StatForeign described: ErrChanged if others lie
	// there. The body has at most as many bytes as were described; whether its owner
	// changed them while they were read another StatForeign tells. The caller closes
	// it.
	OpenForeign(ctx context.Context, seen ForeignInfo) (io.ReadCloser, error)
}

// Copier is the optional ability to copy what somebody else keeps on a backend without
// reading it here.
type Copier interface {
	Foreign
	// CopyForeign lays the bytes that another store of the same backend has described
	// (StatForeign of from), with what is kept beside them, under a key of this one.
	// ErrChanged if others lie there by now, ErrNotExist if none do: nothing was done.
	// What lies under the key is replaced; with fresh it is not, where the backend can
	// tell (ErrExist). It asks the Check of ctx as Put does, and its outcome is as open
	// as that of Put (Unknown). errors.ErrUnsupported, together with ErrNotDone, says
	// that bytes cannot be copied so: from is no store of this backend.
	CopyForeign(ctx context.Context, from Foreign, seen ForeignInfo, key string, fresh bool) error
}

// maxForeign is the longest name of S3, in bytes.
const maxForeign = 1024

// CheckForeign returns an error that wraps ErrInvalidKey for a name that not every
// backend and every proxy before it reads in the same way: with an empty segment,
// one of dots, a control character, or bytes that are not UTF-8. Asked for it, a
// backend may answer with something else. One slash may end a name: so the consoles
// of S3 services mark folders (IsMarker).
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

// IsMarker says that a name is one that marks a folder. Only if no bytes lie under
// it is it sure that a service has answered for it, and not for the folder or for
// the name without its slash.
func IsMarker(key string) bool { return strings.HasSuffix(key, "/") }
