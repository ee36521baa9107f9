//go:build !linux

package lowpriority

// run runs f as it is: here a priority is of a process, and not of a thread.
func run(f func()) { f() }
