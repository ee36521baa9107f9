package object

import (
	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Events are called as things happen, in the goroutine that does them. They return
// fast and may run concurrently. Any may be nil; the zero value is silent.
type Events struct {
	// Begun: an intent was committed; size is what it reserves, in bytes.
	Begun func(b ledger.Blob, size int64)
	// Committed: an object was made; duplicate reports whether its content existed
	// already.
	Committed func(o ledger.Object, duplicate bool)
	// Abandoned: a write was given up because of cause. late: its bytes may still
	// land. sure is false if the ledger did not confirm; the reaper then resolves
	// it.
	Abandoned func(blob lethe.ID, late, sure bool, cause error)
	// Deduped: an object references bytes that existed; saved is their number,
	// uploaded reports whether they were sent nonetheless.
	Deduped func(o ledger.Object, saved int64, uploaded bool)
	// Unrecorded: bytes may lie on a backend for which the ledger has recorded
	// neither their purpose nor their abandonment, or may not have. It is called
	// once for each blob and stage, whether the ledger did not answer or certainly
	// did nothing. The row of their intent exists, and the reaper resolves it; but
	// at stage "late" there may be none, and reconcile finds the bytes.
	Unrecorded func(u Unrecorded)
	// Unknown: a transaction returned that its outcome is unknown.
	Unknown func(op lethe.ID, what string)
	// Failover: a copy could not be opened or broke off; the next one is tried.
	Failover func(b ledger.Blob, err error)
	// Corrupt: the bytes of a copy do not match their digest.
	Corrupt func(b ledger.Blob, err error)
	// WrongCached: the cache returned bytes that do not match the digest of the content.
	// They are dropped, and a backend is read.
	WrongCached func(content lethe.ID)
	// Extended: the deletion of a content was postponed for a reader; err if that
	// failed.
	Extended func(content lethe.ID, err error)
	// Unnoted: so many reads will not be noted, as too many wait for the ledger. Their
	// objects may end as if nobody had read them.
	Unnoted func(reads int)
	// Evicted: objects made room for a write.
	Evicted func(r ledger.Reclaimed)
}

// Unrecorded is a blob whose state the ledger has not recorded, or may not have.
type Unrecorded struct {
	Blob    lethe.ID
	Backend string
	Size    int64  // bytes
	Stage   string // the transaction: "commit", "abandon" or "late"
	Err     error
}

func (e Events) unrecorded(u Unrecorded) {
	if e.Unrecorded != nil {
		e.Unrecorded(u)
	}
}

func (e Events) evicted(r ledger.Reclaimed) {
	if e.Evicted != nil && r.Objects > 0 {
		e.Evicted(r)
	}
}

func (e Events) begun(b ledger.Blob, size int64) {
	if e.Begun != nil {
		e.Begun(b, size)
	}
}

func (e Events) committed(o ledger.Object, duplicate bool) {
	if e.Committed != nil {
		e.Committed(o, duplicate)
	}
}

func (e Events) abandoned(a abandonment) {
	if e.Abandoned != nil {
		e.Abandoned(a.blob, a.late, a.sure, a.cause)
	}
}

func (e Events) deduped(o ledger.Object, uploaded bool) {
	if e.Deduped != nil {
		e.Deduped(o, o.Size, uploaded)
	}
}

func (e Events) unknown(op lethe.ID, what string) {
	if e.Unknown != nil {
		e.Unknown(op, what)
	}
}

func (e Events) failover(b ledger.Blob, err error) {
	if e.Failover != nil {
		e.Failover(b, err)
	}
}

func (e Events) corrupt(b ledger.Blob, err error) {
	if e.Corrupt != nil {
		e.Corrupt(b, err)
	}
}

func (e Events) wrongCached(content lethe.ID) {
	if e.WrongCached != nil {
		e.WrongCached(content)
	}
}

func (e Events) extended(content lethe.ID, err error) {
	if e.Extended != nil {
		e.Extended(content, err)
	}
}
