// Package lowpriority runs work that may wait on threads which the system schedules after
// those of requests. A thread of equal priority keeps a processor for some milliseconds
// before a request that has just arrived takes it.
package lowpriority

// niceness is what Run adds to a thread's niceness. While others compute, such a thread has a
// tenth of a processor, so that work that requests wait for always goes on: a batch holds
// the ledger's writer.
const niceness = 10

// Run runs f on a thread of its own with less priority, and returns after it. Where the
// system cannot or may not do so, f runs as any other goroutine.
func Run(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(f)
	}()
	<-ended
}
