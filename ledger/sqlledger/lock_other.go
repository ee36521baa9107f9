//go:build !unix

package sqlledger

import (
	"errors"
	"os"
)

// lockFile refuses: without a lock two processes could use one ledger.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("this system has no file locks that lethe knows: run it on a Unix")
}

// freeBytes does not know; it is never asked where no ledger opens.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
