//go:build !linux

package lowpriority

// lower does nothing: here a priority is of a process, and not of a thread.
func lower() {}
