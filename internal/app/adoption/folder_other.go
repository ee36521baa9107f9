//go:build !(linux || darwin || freebsd)

package adoption

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/lethe-storage/lethe/adopt"
)

// openFolder fails: deletions in a folder would not survive a loss of power.
func openFolder(b adopt.BucketSpec, _ beside) (bucket, error) {
	return nil, fmt.Errorf("%w: %s: lethe works in folders on Linux, macOS and FreeBSD, not on %s: run it where the folder lies",
		errors.ErrUnsupported, b.Path, runtime.GOOS)
}
