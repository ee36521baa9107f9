package adopt

import (
	"context"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// QuarantineState is how far an object is on its way into quarantine, or out of it.
type QuarantineState int

// States of an object on record.
const (
	Moving      QuarantineState = iota + 1 // it is being copied; the object is untouched
	Quarantined                            // its copy is complete; the object may be gone any time
	Restoring                              // it is being copied back
	Purging                                // its copy may be gone any time
)

// Sighting is an object as it lies in its place.
type Sighting struct {
	Key    string `json:"key"` // the whole key
	Copy   string `json:"copy"`
	Size   int64  `json:"size"`
	Tag    string `json:"tag"`
	Absent bool   `json:"-"`
}

// Begun is what is to be done with objects that are to be moved, by their keys. Those
// in none of the lists are in other hands: they wait.
type Begun struct {
	Fence int64
	// Copy are to be copied, and then removed. Remove were copied before, and have not
	// changed since: their copy is still theirs.
	Copy, Remove []string
	// Gone are not in their place.
	Gone []string
}

// QuarantineMoves are the objects of a collection that move into quarantine. Each
// method is one transaction.
type QuarantineMoves interface {
	// Begin records that objects are about to be moved, for late: after that others may
	// take them over. One whose last delete may yet take effect is only begun again if
	// it has not changed.
	Begin(ctx context.Context, found []Sighting, late time.Duration) (Begun, error)
	// Moved records that copies are complete, after it has looked again that nothing
	// refers to the objects and no hold keeps them. It returns those that may be deleted now.
	Moved(ctx context.Context, fence int64, keys []string, g Terms) ([]string, error)
}

// Terms are how long an object stays in quarantine, and how long after it was sent a
// delete of it may take effect.
type Terms struct{ Retention, Late time.Duration }

// Held is an object on record.
type Held struct {
	Key, Copy string // whole keys
	Size      int64
	State     QuarantineState
	Since     lethe.Time // it has been in quarantine
	Until     lethe.Time // it is not purged before
	Late      lethe.Time // a delete of the object may take effect before
	Due       lethe.Time // it is somebody's before
	// Named: something refers to it. Known: what names it is there still, and may be
	// referred to without another upload. Wanted: somebody asked for it back by hand.
	// OnHold: a hold keeps it.
	Named, Known, Wanted, OnHold bool
}

// QuarantinePage is some of the objects on record, in the order of their keys.
type QuarantinePage struct {
	Now  lethe.Time // by the database's clock
	Held []Held
}

// Custody asks for objects on record: to restore, or to purge them.
type Custody struct {
	Keys []string
	For  QuarantineState // Restoring or Purging
	Late time.Duration   // after that others may take them over
	// Spare: the copies are not needed, whatever refers to the objects: those lie in
	// their place. Early: their retention need not be over.
	Spare, Early bool
}

// Ending is what became of objects that were claimed.
type Ending int

// Endings.
const (
	Left     Ending = iota + 1 // nothing was done; what was to be purged still is
	Restored                   // they lie in their place; their copies stay for a while
	Purged                     // there are no copies any more
	Lost                       // as Purged, and something refers to the objects
)

// QuarantineRecords are the objects of a collection in quarantine. Each method is one
// transaction.
type QuarantineRecords interface {
	// Held returns up to limit objects after the key.
	Held(ctx context.Context, after string, limit int) (QuarantinePage, error)
	// Claim takes objects that are in nobody's hands, after it has looked again: to be
	// restored, those that are wanted or that something refers to; to be purged, those
	// that nothing knows, nobody wants and no hold keeps, whose retention is over, and no
	// delete of which may yet take effect.
	Claim(ctx context.Context, c Custody) (fence int64, keys []string, err error)
	// End records what became of objects under the fence; it returns those that were
	// still under it.
	End(ctx context.Context, fence int64, keys []string, how Ending) ([]string, error)
	// Want notes that an object is to be restored although nothing refers to it. It
	// reports whether it is on record.
	Want(ctx context.Context, key string) (bool, error)
	// InQuarantine counts the objects on record.
	InQuarantine(ctx context.Context) (Backlog, error)
}

// QuarantineRows is the record of a quarantine.
type QuarantineRows interface {
	QuarantineMoves
	QuarantineRecords
	QuarantineUploads
}

// May reports whether an object on record may be claimed at an instant of the
// database's clock.
func (c Custody) May(h Held, now lethe.Time) bool {
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

// String describes how far the object is, in one line.
func (h Held) String() string {
	at := fmt.Sprintf("%s (%d bytes) lies in quarantine as %s since %s, until %s", h.Key, h.Size, h.Copy, h.Since, h.Until)
	switch {
	case h.State == Moving:
		return fmt.Sprintf("%s (%d bytes) is being copied into quarantine, and lies in its place", h.Key, h.Size)
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
