package adopt

import "time"

// Grace is how long things are left alone, each with what it protects from.
type Grace struct {
	// Watchdog: rows that are claimed for so long belong to a worker that died. It is
	// longer than any batch takes.
	Watchdog time.Duration
	// Unreferenced: how long a content stays after its last reference, so that an
	// application that stores the same bytes again need not be refused.
	Unreferenced time.Duration
	// LongestWrite: the application's longest time from the upload of an object to the
	// commit of the row that refers to it. A mark outlasts the deletion by it: whoever
	// uploaded before the deletion must not commit after it.
	LongestWrite time.Duration
	// Late: how long after it was sent a delete may still take effect at the bucket. A
	// mark whose worker is silent is taken over no sooner, and stays that much longer
	// when the end of a delete was not seen.
	Late time.Duration
	// CacheAgain: how long after a row is gone a reader that saw it before may still
	// fill the cache with it.
	CacheAgain time.Duration
	// ObjectAge: an object of a content that was written more recently stays for the
	// moment: somebody may have used its name again. 0: its age is not looked at.
	ObjectAge time.Duration
}

// DefaultGrace is what a description that is silent gets.
var DefaultGrace = Grace{
	Watchdog:     2 * time.Hour,
	Unreferenced: 10 * time.Minute,
	LongestWrite: 5 * time.Minute,
	Late:         15 * time.Minute,
	CacheAgain:   10 * time.Second,
}

// minLate is the least Late: a request may take 30 s, and is repeated.
const minLate = 3 * time.Minute

// sendWithin is the part of Late in which a worker may begin a delete after it has
// marked: the rest is for what was sent to take effect.
func (g Grace) sendWithin() time.Duration { return g.Late / 3 }

// Landed is how long after a worker has begun nothing that it sent can take effect any
// more.
func (g Grace) Landed() time.Duration { return g.sendWithin() + g.Late }
