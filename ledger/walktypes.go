package ledger

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// WalkDone is the place of a walk that has compared everything. It sorts after every blob's
// id.
const WalkDone lethe.ID = "~"

// Walk is one comparison of a backend's listing with the ledger. It may take several runs:
// an interrupted walk is resumed where it stopped.
type Walk struct {
	ID         lethe.ID
	Backend    string
	StartedAt  lethe.Time
	SavedAt    lethe.Time // last time that Place moved
	FinishedAt lethe.Time // 0: in progress or interrupted
	// Place is the last blob compared; WalkDone: all were.
	Place   lethe.ID
	Outcome string // "ok", or why it was abandoned
	Counts  map[string]int64
}

// WalkStart begins a walk, or resumes the interrupted one.
type WalkStart struct {
	ID      lethe.ID // of the new walk, if one begins
	Backend string
	// GiveUp is the age at which an interrupted walk is abandoned instead of resumed.
	GiveUp time.Duration
}

// WalkStep advances a walk.
type WalkStep struct {
	ID       lethe.ID
	From, To lethe.ID // places; WalkDone is the last
	Counts   map[string]int64
}

// FindingKind is what is wrong with a key of a backend.
type FindingKind string

// The kinds of finding.
const (
	FoundOrphan    FindingKind = "orphan"    // a name of this store that has no row
	FoundForeign   FindingKind = "foreign"   // not a name of this store
	FoundElsewhere FindingKind = "elsewhere" // a blob whose row names another backend
	FoundMissing   FindingKind = "missing"   // a live row without bytes
	FoundSize      FindingKind = "size"      // a live row with bytes of another size
)

// Finding is a problem that a walk found.
type Finding struct {
	Backend string
	Key     string // quoted if it is not valid text
	Kind    FindingKind
	Size    int64 // bytes stored under the key
	Detail  string
	// Content and Segment identify a missing blob; empty for a part of an upload.
	Content lethe.ID
	Segment int
	// First and Last are when, and by which walk, it was seen.
	FirstAt, LastAt     lethe.Time
	FirstWalk, LastWalk lethe.ID
}

// Sighting records findings of a walk.
type Sighting struct {
	Walk     lethe.ID
	Findings []Finding // Key, Kind, Size, Detail, Content and Segment; each key once
	Limit    int       // findings kept of one backend; more are not recorded
}

// FindingQuery asks for findings in the order of backend and key.
type FindingQuery struct {
	Backend string // empty: all
	Kind    FindingKind
	// AfterBackend and AfterKey are those of the previous page's last row.
	AfterBackend, AfterKey string
	Limit                  int
}

// OrphanRequest asks to condemn orphans of one backend that a complete walk has confirmed.
type OrphanRequest struct {
	Walk    lethe.ID
	Backend string
	Epoch   int64         // of the pairing with the backend, as checked
	Grace   time.Duration // least age of the first sighting, and of the name
	After   string        // key
	Limit   int
	// Only, unless nil, names the keys that may be condemned, if they are old enough.
	Only []string
}

// Check returns an error unless orphans may be condemned on the backend: ErrBackendMismatch
// while its deletes are held, ErrFenced if its epoch has changed, and ErrClock while its clock
// is in doubt (doubt is why).
func (r OrphanRequest) Check(b Backend, doubt string) error {
	switch {
	case b.Held != "":
		return fmt.Errorf("deletes on %s are held (%s): %w", r.Backend, b.Held, lethe.ErrBackendMismatch)
	case b.Epoch != r.Epoch || b.Intended != r.Epoch:
		return fmt.Errorf("the epoch of %s was %d when it was checked, now %d is confirmed and %d intended: %w", r.Backend, r.Epoch, b.Epoch, b.Intended, lethe.ErrFenced)
	case doubt != "":
		return fmt.Errorf("%s: %w", doubt, lethe.ErrClock)
	}
	return nil
}

// CheckWalk returns ErrFenced unless the walk has compared all of the backend.
func (r OrphanRequest) CheckWalk(w Walk) error {
	if w.Backend != r.Backend || w.Place != WalkDone {
		return fmt.Errorf("walk %s has not compared all of %s: %w", r.Walk, r.Backend, lethe.ErrFenced)
	}
	return nil
}

// Orphans are the orphans that were condemned.
type Orphans struct {
	Blobs []Blob
	// Seen is how many were looked at; Last is the last one's key, where the next batch
	// begins. Explained counts those that have a row by now.
	Seen, Explained int
	Last            string
}

// WalkEnd ends a walk.
type WalkEnd struct {
	ID      lethe.ID
	Outcome string // "ok", or why it was abandoned
	Counts  map[string]int64
}

// WalkEnded counts the earlier findings that this walk did not see again.
type WalkEnded struct {
	Healed int // missing and damaged blobs that have a sound copy
	Gone   int // everything else
}

// Stub is the part of a blob that a walk needs.
type Stub struct {
	ID      lethe.ID
	Backend string
	State   lethe.State
	Size    int64 // bytes
}

// Standing is what depends on a blob.
type Standing struct {
	Blob   Blob
	Copies int // other copies of its bytes that are live and not suspect
	// Objects are the first objects that need it, as "bucket/key"; those in the trash and
	// uploads are marked. More is set if there are others.
	Objects []string
	More    bool
}

// Found asks to place a lost blob where its bytes were found: under the name of an orphan, which
// was read to its end.
type Found struct {
	Lost    lethe.ID // live, suspect, without a sound copy
	Orphan  lethe.ID // the name without a row
	Backend string   // of the orphan
	Epoch   int64    // of the pairing with the backend, as checked
	Size    int64    // of what was read
	Digest  string   // hex SHA-256 of what was read
	Blocks  lethe.BlockSums
	Ago     time.Duration // since the read began
	// Wait is how long before that a person must have given the backend to this ledger: until then
	// deletes may take effect that another sent.
	Wait time.Duration
}

// Check returns an error unless the orphan may be the copy of the lost blob: ErrContentGone if that
// is not lost, ErrDigestMismatch if the bytes are others, ErrFenced within Wait, and those of
// OrphanRequest.Check.
func (f Found) Check(lost Blob, copies int, b Backend, doubt string, now lethe.Time) error {
	switch {
	case !lost.Suspect || copies > 0:
		return fmt.Errorf("blob %s is not lost: %w", lost.ID, lethe.ErrContentGone)
	case lost.Size != f.Size || lost.Digest != f.Digest:
		return fmt.Errorf("orphan %s has other bytes than blob %s: %w", f.Orphan, lost.ID, lethe.ErrDigestMismatch)
	case now.Add(-f.Ago) < b.AcceptedAt.Add(f.Wait):
		return fmt.Errorf("a delete that was sent before %s was accepted may yet take effect: %w", b.ID, lethe.ErrFenced)
	}
	if err := f.Blocks.Check(f.Size); err != nil {
		return err
	}
	return OrphanRequest{Backend: f.Backend, Epoch: f.Epoch}.Check(b, doubt)
}

// Copy returns the orphan as a copy of the lost blob.
func (f Found) Copy(lost Blob, now lethe.Time) Blob {
	b := CopyIntent{ID: f.Orphan, Backend: f.Backend}.Copy(lost, now)
	b.State, b.Block, b.VerifiedAt = lethe.Live, f.Blocks.Size, now.Add(-f.Ago)
	return b
}
