package adopt

import "time"

// Grace has the times for which things are left alone, each with what it
// protects from.
type Grace struct {
	// Watchdog is the age at which a claim is taken to be of a dead worker. It
	// is longer than any batch takes.
	Watchdog time.Duration
	// Unreferenced is how long a content stays after its last reference, so
	// that an application that stores the same bytes again is not refused.
	Unreferenced time.Duration
	// LongestWrite is the application's longest time from the upload of an
	// object to the commit of the row that refers to it. A mark outlasts the
	// deletion by it, so that no upload before the deletion is committed after
	// it.
	LongestWrite time.Duration
	// Late is how long after it was sent a delete may take effect at the
	// bucket. The mark of a silent worker is not taken over earlier, and stays
	// that much longer if the end of a delete was not seen.
	Late time.Duration
	// CacheAgain is how long after a row is gone a reader that saw it before
	// may still fill the cache with it.
	CacheAgain time.Duration
	// ObjectAge is the age below which an object of a content stays for now:
	// its name may have been reused. 0 disables the check.
	ObjectAge time.Duration
}

// DefaultGrace applies where a description sets nothing.
var DefaultGrace = Grace{
	Watchdog:     2 * time.Hour,
	Unreferenced: 10 * time.Minute,
	LongestWrite: 5 * time.Minute,
	Late:         15 * time.Minute,
	CacheAgain:   10 * time.Second,
}

// minLate is the least Late: a request may take 30 s, and is retried.
const minLate = 3 * time.Minute

// sendWithin is the part of Late in which a worker may begin a delete after it
// has marked. In the rest what was sent takes effect.
func (g Grace) sendWithin() time.Duration { return g.Late / 3 }

// Landed is the time from a worker's beginning after which nothing that it sent
// can take effect.
func (g Grace) Landed() time.Duration { return g.sendWithin() + g.Late }

// LooksAgain is the time after which a moved object is looked for once more. By
// then nothing brings it back that began before: no copy back, and no upload
// whose row is not committed.
func (g Grace) LooksAgain() time.Duration { return max(g.LongestWrite, g.Landed()) }
