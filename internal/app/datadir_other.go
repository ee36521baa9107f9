//go:build !unix

package app

import (
	"io/fs"
	"os"
)

// noFollow is nothing where the system does not know it.
const noFollow = 0

// tryLock relies on the ledger's own lock where the system has no flock.
func tryLock(*os.File) (held bool, err error) { return false, nil }

// checkOwner relies on the folder's access list.
func checkOwner(string, fs.FileInfo, fs.FileInfo) error { return nil }

func privately(fn func() error) error { return fn() }
