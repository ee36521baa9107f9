package adopt

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
)

// QuarantineState is the state of an object on its way into or out of
// quarantine.
type QuarantineState int

// States of a recorded object.
const (
	Moving      QuarantineState = iota + 1 // it is being copied; the object is untouched
	Quarantined                            // its copy is complete; the object may be gone at any time
	Restoring                              // it is being copied back
	Purging                                // its copy may be gone at any time
)

// FoundObject is an object at its original key.
type FoundObject struct {
	Key    string `json:"key"` // the whole key
	Copy   string `json:"copy"`
	Size   int64  `json:"size"`
	Tag    string `json:"tag"`
	Absent bool   `json:"-"`
}

// Begun is what to do with objects that are to be moved, by their keys. Those
// in no list belong to another worker, and wait.
type Begun struct {
	Fence int64
	// Copy are to be copied, and then deleted. Remove were copied before and
	// are unchanged: their copies are valid.
	Copy, Remove []string
	// Gone do not exist.
	Gone []string
}

// QuarantineMoves are the objects of a collection that move into quarantine. Each
// method is one transaction.
type QuarantineMoves interface {
	// Begin records that objects are about to be moved, for late: after that
	// others may take them over. An object whose last delete may yet take
	// effect is begun again only if it is unchanged.
	Begin(ctx context.Context, found []FoundObject, late time.Duration) (Begun, error)
	// Moved records that copies are complete, unless something refers to the
	// objects again or a hold keeps them. It returns those that may be deleted
	// now.
	Moved(ctx context.Context, fence int64, keys []string, g Terms) ([]string, error)
}

// Terms are how long an object stays in quarantine, and how long after it was
// sent a delete may take effect.
type Terms struct{ Retention, Late time.Duration }

// QuarantinedObject is a recorded object: one in quarantine, or on its way into or out of it.
type QuarantinedObject struct {
	Key, Copy string // whole keys
	Size      int64
	State     QuarantineState
	Since     lethe.Time // since when it is in quarantine
	Until     lethe.Time // earliest purge
	Late      lethe.Time // until when a delete of the object may take effect
	Due       lethe.Time // until when a worker has it
	// Named: something refers to it. Known: its referrer exists and may be
	// referred to without another upload. Wanted: its restoration was
	// requested. OnHold: a hold keeps it.
	Named, Known, Wanted, OnHold bool
}

// QuarantinePage is some recorded objects, in the order of their keys.
type QuarantinePage struct {
	Now     lethe.Time // by the database's clock
	Objects []QuarantinedObject
}

// ClaimRequest requests recorded objects, to restore or to purge them.
type ClaimRequest struct {
	Keys []string
	For  QuarantineState // Restoring or Purging
	Late time.Duration   // after that others may take them over
	// Spare: the copies are not needed, since the objects are at their original
	// keys. Early: the retention is ignored.
	Spare, Early bool
}

// QuarantineOutcome is the outcome of claimed objects.
type QuarantineOutcome int

// Outcomes of claimed objects.
const (
	Left     QuarantineOutcome = iota + 1 // nothing was done; a purge is still due
	Restored                              // they are at their original keys; their copies stay for a while
	Purged                                // their copies are gone
	Lost                                  // as Purged, and something refers to the objects
)

// QuarantineRecords are the objects of a collection in quarantine. Each method is one
// transaction.
type QuarantineRecords interface {
	// Page returns up to limit recorded objects after the key.
	Page(ctx context.Context, after string, limit int) (QuarantinePage, error)
	// Claim takes objects that no worker has, after a check. To restore: those
	// that are wanted or referenced. To purge: those that are not known, wanted
	// or held, whose retention is over, and no delete of which may yet take
	// effect.
	Claim(ctx context.Context, c ClaimRequest) (fence int64, keys []string, err error)
	// End records the outcome of objects under the fence. It returns those that
	// were still under it.
	End(ctx context.Context, fence int64, keys []string, how QuarantineOutcome) ([]string, error)
	// Want records a request to restore an object although nothing refers to
	// it. It reports whether the object is recorded.
	Want(ctx context.Context, key string) (bool, error)
	// Found records copies of which there is no record, as in quarantine from now on, if
	// something refers to their objects, or anyway. It returns how many.
	Found(ctx context.Context, copies []FoundObject, t Terms, anyway bool) (int, error)
	// InQuarantine counts the recorded objects.
	InQuarantine(ctx context.Context) (Backlog, error)
}

// QuarantineRows is the record of a quarantine.
type QuarantineRows interface {
	QuarantineMoves
	QuarantineRecords
	QuarantineUploads
}

// May reports whether a recorded object may be claimed at an instant of the
// database's clock.
func (c ClaimRequest) May(h QuarantinedObject, now lethe.Time) bool {
	switch {
	case h.Due > now:
		return false
	case c.For == Restoring:
		return h.State != Moving && (h.Named || h.Wanted)
	case h.Late > now:
		return false
	case c.Spare:
		return true
	}
	return h.State != Moving && !h.Known && !h.Wanted && !h.OnHold && (c.Early || h.Until <= now)
}

// String describes the object's state in one line.
func (h QuarantinedObject) String() string {
	size := words.Plural(h.Size, "byte", "bytes")
	at := fmt.Sprintf("%s (%s) lies in quarantine as %s since %s, until %s", h.Key, size, h.Copy, h.Since, h.Until)
	switch {
	case h.State == Moving:
		return fmt.Sprintf("%s (%s) is being copied into quarantine, and lies in its place", h.Key, size)
	case h.State == Purging:
		return at + "; its copy is being deleted"
	case h.OnHold:
		return at + "; a hold keeps it"
	case h.Wanted:
		return at + "; it is wanted back"
	case h.Named:
		return at + "; something refers to it again: it is copied back if nothing lies in its place"
	case h.Known:
		return at + "; it is not purged while what names it is there"
	}
	return at
}
