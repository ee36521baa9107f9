package reconcile

import (
	"github.com/lethe-storage/lethe/ledger"
)

// The names of a walk's counts.
const (
	Keys      = "keys"       // keys listed
	Rows      = "rows"       // rows of the backend compared
	Orphans   = "orphans"    // names of this store without a row
	Condemned = "condemned"  // orphans that were condemned
	Freed     = "bytes"      // bytes of the condemned
	Foreign   = "foreign"    // keys outside the store's naming
	Elsewhere = "elsewhere"  // blobs whose row names another backend
	Missing   = "missing"    // live rows without bytes
	WrongSize = "wrong_size" // live rows with bytes of another size
	Lost      = "lost"       // missing or damaged blobs without a sound copy
	Healing   = "healing"    // missing or damaged blobs with a sound copy
	Healed    = "healed"     // found by an earlier walk, sound by now
	Skipped   = "skipped"    // differences beyond what one walk checks
	HeldBack  = "held_back"  // orphans that were not condemned, as they may be no orphans
	Taken     = "taken"      // orphans that are lost blobs, and have a row now
	WouldTake = "would_take"
	RipeCount = "would_condemn"
	Unread    = "unread" // backends with rows that no walk comes to: the configuration lacks them
)

// Loss is a live blob whose bytes are missing or damaged.
type Loss struct {
	Finding ledger.Finding
	ledger.Standing
}

// Events are the reports of walks, from which logs, audit lines and metrics are
// made elsewhere. Nil funcs are silent. They are called after the ledger's
// transaction, from several goroutines, and must not block for long.
type Events struct {
	// Walked: a walk over a backend ended; counts as named above.
	Walked func(backend string, counts map[string]int64)
	// Broken: a walk was interrupted; the next run continues it.
	Broken func(backend string, err error)
	// Dangling: a live blob's bytes are missing or damaged. Copies is 0 if it is
	// lost; otherwise it is healed.
	Dangling func(l Loss)
	// Condemned: orphans were condemned.
	Condemned func(backend string, blobs []ledger.Blob)
	// Taken: an orphan has the bytes of a lost blob, and is its copy now.
	Taken func(Change)
	// HeldBack: orphans were not condemned, and why.
	HeldBack func(backend string, orphans int64, why string)
}

func (e *Events) walked(backend string, counts map[string]int64) {
	if e != nil && e.Walked != nil {
		e.Walked(backend, counts)
	}
}

func (e *Events) broken(backend string, err error) {
	if e != nil && e.Broken != nil {
		e.Broken(backend, err)
	}
}

func (e *Events) dangling(l Loss) {
	if e != nil && e.Dangling != nil {
		e.Dangling(l)
	}
}

func (e *Events) condemned(backend string, blobs []ledger.Blob) {
	if e != nil && e.Condemned != nil && len(blobs) > 0 {
		e.Condemned(backend, blobs)
	}
}

func (e *Events) taken(ch Change) {
	if e != nil && e.Taken != nil {
		e.Taken(ch)
	}
}

func (e *Events) heldBack(backend string, orphans int64, why string) {
	if e != nil && e.HeldBack != nil {
		e.HeldBack(backend, orphans, why)
	}
}
