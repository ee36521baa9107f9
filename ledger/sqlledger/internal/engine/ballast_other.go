//go:build !linux

package engine

import "os"

// allocate gives the file its size and reserves the space on disk.
func allocate(f *os.File, size int64) error { return pour(f, size) }
