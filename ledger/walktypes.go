package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// WalkDone is the place of a walk that has compared everything. No blob's id
// follows it.
const WalkDone lethe.ID = "~"

// Walk is one comparison of a backend's listing with the ledger, over any number
// of runs: one that was cut off is taken up where it stopped.
type Walk struct {
	ID         lethe.ID
	Backend    string
	StartedAt  lethe.Time
	SavedAt    lethe.Time // last time that Place moved
	FinishedAt lethe.Time // 0: it goes on, or was cut off
	// Place is the blob up to which all was compared; WalkDone: all was.
	Place   lethe.ID
	Outcome string // "ok", or why it was given up
	Counts  map[string]int64
}

// WalkStart begins a walk, or takes up the one that was cut off.
type WalkStart struct {
	ID      lethe.ID // of the new walk, if one begins
	Backend string
	// GiveUp is the age from which on a walk that was cut off is given up instead of
	// taken up.
	GiveUp time.Duration
}

// WalkStep moves a walk on.
type WalkStep struct {
	ID       lethe.ID
	From, To lethe.ID // places; WalkDone is the last
	Counts   map[string]int64
}

// FindingKind says what is wrong with a key of a backend.
type FindingKind string

// The kinds of finding.
const (
	FoundOrphan    FindingKind = "orphan"    // a name of this store without a row
	FoundForeign   FindingKind = "foreign"   // not a name of this store
	FoundElsewhere FindingKind = "elsewhere" // a blob whose row names another backend
	FoundMissing   FindingKind = "missing"   // a live row without bytes
	FoundSize      FindingKind = "size"      // a live row with bytes of another size
)

// Finding is something that a walk came upon.
type Finding struct {
	Backend string
	Key     string // as it is, or quoted if it is no text
	Kind    FindingKind
	Size    int64 // bytes that lie there
	Detail  string
	// Content and Segment are those of a missing blob; empty for a part of an upload.
	Content lethe.ID
	Segment int
	// First and Last say when, and by which walk, it was seen.
	FirstAt, LastAt     lethe.Time
	FirstWalk, LastWalk lethe.ID
}

// Sighting records findings of a walk.
type Sighting struct {
	Walk     lethe.ID
	Findings []Finding // Key, Kind, Size, Detail, Content and Segment; each key once
	Limit    int       // findings kept of one backend; what is beyond is not recorded
}

// FindingQuery asks for findings in the order of backend and key.
type FindingQuery struct {
	Backend string // empty: all
	Kind    FindingKind
	// AfterBackend and AfterKey are those of the last one of the page before.
	AfterBackend, AfterKey string
	Limit                  int
}

// OrphanRequest asks to condemn orphans of one backend that a walk has confirmed.
type OrphanRequest struct {
	Walk    lethe.ID
	Backend string
	Epoch   int64         // of the pairing with the backend, as it was checked
	Grace   time.Duration // age of the first sighting, and of the name
	After   string        // key
	Limit   int
	// Only, unless nil, are the keys that may be condemned, of those that are ripe.
	Only []string
}

// Orphans are orphans that were condemned.
type Orphans struct {
	Blobs []Blob
	// Seen is how many were looked at, Last the last one's key: the place of the next
	// batch. Explained have a row by now.
	Seen, Explained int
	Last            string
}

// WalkEnd ends a walk.
type WalkEnd struct {
	ID      lethe.ID
	Outcome string // "ok" or why it was given up
	Counts  map[string]int64
}

// WalkEnded is what became of what earlier walks had found and this one did not.
type WalkEnded struct {
	Healed int // missing and damaged blobs of which there is a sound copy
	Gone   int // everything else
}

// Stub is what a walk needs of a blob.
type Stub struct {
	ID      lethe.ID
	Backend string
	State   lethe.State
	Size    int64 // bytes
}

// Standing says what depends on a blob.
type Standing struct {
	Blob   Blob
	Copies int // other copies of its bytes that are live and not suspect
	// Objects are the first of the objects that need it, as "bucket/key"; those in
	// the trash and uploads are marked. There may be more.
	Objects []string
	More    bool
}
