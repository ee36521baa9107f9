//go:build !unix

package engine

import (
	"errors"
	"os"
)

// lockFile fails: without a lock two processes could use one ledger.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("lethe needs file locks, which it supports on Unix systems only")
}

// freeBytes fails; no ledger opens on these systems, so it is never called.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
