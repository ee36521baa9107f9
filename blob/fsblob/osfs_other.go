//go:build !(linux || darwin || freebsd)

package fsblob

import (
	"errors"
	"fmt"
	"runtime"
)

// openOS fails. A folder keeps what it acknowledged only where a file can be moved
// without replacing another one, and where folders can be flushed.
func openOS(Options) (FS, error) {
	return nil, fmt.Errorf("%w: lethe keeps blobs in folders on Linux, macOS and FreeBSD, not on %s: use a backend of kind s3",
		errors.ErrUnsupported, runtime.GOOS)
}
