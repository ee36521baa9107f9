//go:build !linux

package sqlledger

import "os"

// allocate gives the file its size, with room on the disk that is its own.
func allocate(f *os.File, size int64) error { return pour(f, size) }
