//go:build !unix

package app

import (
	"io/fs"
	"os"
)

// noFollow is zero where the system does not have it.
const noFollow = 0

// tryLock always succeeds where the system has no flock; the ledger's own lock
// remains.
func tryLock(*os.File) (held bool, err error) { return false, nil }

// checkOwner accepts everything; the folder's access list remains.
func checkOwner(string, fs.FileInfo, fs.FileInfo) error { return nil }

func privately(fn func() error) error { return fn() }

// syncFolder does nothing: Windows flushes no folder that is open for reading.
func syncFolder(string) error { return nil }
