//go:build !linux

package engine

// FileSite returns nothing: here a file cannot be distinguished from its copies.
func FileSite(string) (Site, error) { return nil, nil }
