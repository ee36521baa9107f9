//go:build !unix

package engine

import (
	"errors"
	"os"
	"runtime"
)

const ownedFile = ""

// lockFile fails: without a lock two processes could use one ledger.
func lockFile(string) (*os.File, error) {
	return nil, errors.New("a ledger in SQLite needs file locks, which lethe does not have on " + runtime.GOOS + ": use PostgreSQL (database.url)")
}

// freeBytes fails; no ledger opens on these systems, so it is never called.
func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
