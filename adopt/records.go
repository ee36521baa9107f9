package adopt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Row is one row that was claimed.
type Row struct {
	Key string
	// Copies are the keys under which the application caches it.
	Copies []string
}

// Claim is rows that one worker has taken. At is their fence: the instant with
// which they were stamped.
type Claim struct {
	At   lethe.Time
	Rows []Row
}

// Settled is what became of claimed rows.
type Settled struct {
	Gone     int // removed, or kept as deleted
	Returned int // not expired any more: the application extended them meanwhile
	Lost     int // not this claim's any more
	Refused  int // the database does not let them go: they are held for RefusedRest
	Held     int // live again: a hold keeps them
	// Unreferenced is how many contents lost their last reference.
	Unreferenced int
	// Drifted are contents whose count was lower than their references.
	Drifted []string
}

// Backlog is what waits.
type Backlog struct {
	Due    int64      // counted up to MaxCounted
	Oldest lethe.Time // 0: nothing
}

// MaxCounted is the most that a Backlog counts: the question has to stay cheap.
const MaxCounted = 1_000_000

// Records are the rows of one collection. Each method is one transaction.
type Records interface {
	// Claim stamps up to limit rows that have expired, that nobody has claimed and that no
	// hold keeps, the oldest first. Rows that others have locked are passed over.
	Claim(ctx context.Context, limit int) (Claim, error)
	// Settle removes those rows that still carry the claim and are still expired, and
	// counts their contents down. Those that were extended, or are held, become live
	// again. Copies under the claim's keys and under those that the row has now are written
	// down to be dropped once more after again, the latter at once as well: *Refusal.
	Settle(ctx context.Context, c Claim, again time.Duration) (Settled, error)
	// Release makes the rows of a claim live again.
	Release(ctx context.Context, c Claim) (int, error)
	// Recover makes up to limit rows live again whose claim is older than age.
	Recover(ctx context.Context, age time.Duration, limit int) (int, error)
	// Due counts the rows that Claim would take.
	Due(ctx context.Context) (Backlog, error)
}

// Ender is records whose contents may go along with them.
type Ender interface {
	// End is Settle and, in the same transaction, Mark of the contents that lost their last
	// reference by it, whose rows it removes as well: only their marks know of the objects
	// then. It leaves to Mark what it cannot mark at once: *Refusal.
	End(ctx context.Context, c Claim, r EndRequest) (Settled, Marked, error)
}

// EndRequest is what an End needs to know.
type EndRequest struct {
	Again time.Duration // as Settle's
	Late  time.Duration // as that of a MarkRequest
}

// Condemned is one content whose object is to be deleted.
type Condemned struct {
	Content string // its key in the table of contents
	Object  string // its key in the bucket
}

// Marked is contents that carry the mark of one worker.
type Marked struct {
	Fence    int64
	Contents []Condemned
	// Kept is how many were referenced again, Busy how many the application has locked,
	// Held how many objects a hold keeps.
	Kept, Busy, Held int
	// Drifted are contents whose count is 0 although rows refer to them.
	Drifted []string
	// Outside are objects that do not lie below the prefix, and are left alone: a delete
	// of one would be refused for ever, and so would the rows that name it.
	Outside []string
}

// Outcome is what became of one object.
type Outcome struct {
	Content string
	// Failed is why the object may still be there; empty: it is gone.
	Failed string
	// Unseen: the delete was sent, and may yet take effect.
	Unseen bool
}

// Confirmed is what was recorded of outcomes.
type Confirmed struct {
	Gone, Failed, Lost int
	// Broken are contents that rows refer to, though their objects were deleted:
	// references that were made past the guard.
	Broken []string
}

// ErrUnguarded: nothing in the database keeps new references from a content that is
// condemned. Nothing was marked.
var ErrUnguarded = errors.New("no guard keeps new references from contents that are being deleted: \"lethe adopt guard install\" installs one")

// MarkRequest bounds one Mark.
type MarkRequest struct {
	Limit int
	// Late is after how long without a word another worker's mark is taken over.
	Late time.Duration
}

// Contents are what the rows of one collection refer to. Each method is one
// transaction.
type Contents interface {
	// Find looks at up to limit contents after the key, of those that are counted only at
	// the ones with 0, and writes down which nobody refers to, to be condemned after the
	// grace; next is where to go on, empty at the end.
	Find(ctx context.Context, after string, limit int, grace time.Duration) (found int, next string, err error)
	// Mark condemns contents that are due and whose objects no hold keeps, after it has
	// locked each and looked again that nobody refers to it: ErrUnguarded.
	Mark(ctx context.Context, r MarkRequest) (Marked, error)
	// Confirm records outcomes under the fence: contents whose objects are gone are
	// removed, and those of which no delete can have had an effect may be referred to again. Their marks end LongestWrite after the last instant at which a delete may
	// take effect: now, or when Late is over since one whose end was not seen.
	Confirm(ctx context.Context, fence int64, outcomes []Outcome, g Grace) (Confirmed, error)
	// Unmark removes up to limit marks whose time is over.
	Unmark(ctx context.Context, limit int) (int, error)
	// Waiting counts the contents that are to go.
	Waiting(ctx context.Context) (Backlog, error)
}

// Again is copies that are to be dropped from the cache once more.
type Again struct {
	ID   int64
	Keys []string
}

// Cached are the copies that are to be dropped once more. Each method is one
// transaction.
type Cached interface {
	// DropAgain returns up to limit batches of copies that are due.
	DropAgain(ctx context.Context, limit int) ([]Again, error)
	// Dropped forgets batches.
	Dropped(ctx context.Context, ids []int64) error
}

// Copies are the application's copies in a cache.
type Copies interface {
	// Drop removes keys in one round trip; it returns nil only if all are gone.
	Drop(ctx context.Context, keys []string) error
}

// Events are called with what the routines do. Nil functions are silent; they are called
// after the transaction.
type Events struct {
	// Drifted: counts of contents were wrong.
	Drifted func(collection string, contents []string)
	// Broken: contents were referenced past the guard while their objects were deleted.
	Broken func(collection string, contents []string)
	// Failed: objects could not be deleted, with the first reason.
	Failed func(collection string, objects int, why string)
	// Refused: the database does not let a row go, with the reason.
	Refused func(collection, key, why string)
	// Missing: rows name keys that have no object.
	Missing func(collection string, keys []string)
	// Untold: a hook was not told of all keys that have no object.
	Untold func(collection string, err error)
	// Outside: objects do not lie below the prefix, and are left alone.
	Outside func(collection string, keys []string)
	// Restored: objects were copied back from quarantine.
	Restored func(collection string, keys []string)
	// Lost: something refers to objects whose copies are gone.
	Lost func(collection string, keys []string)
	// FolderCancelled: a folder that was marked is not to go any more.
	FolderCancelled func(collection, folder, why string)
	// FolderKept: a folder without a row cannot be removed.
	FolderKept func(collection, folder, why string)
}

func (e *Events) refused(collection, key, why string) {
	if e != nil && e.Refused != nil {
		e.Refused(collection, key, why)
	}
}

func (e *Events) missing(collection string, keys []string) {
	if e != nil && e.Missing != nil && len(keys) > 0 {
		e.Missing(collection, keys)
	}
}

func (e *Events) restored(collection string, keys []string) {
	if e != nil && e.Restored != nil && len(keys) > 0 {
		e.Restored(collection, keys)
	}
}

func (e *Events) lost(collection string, keys []string) {
	if e != nil && e.Lost != nil && len(keys) > 0 {
		e.Lost(collection, keys)
	}
}

func (e *Events) folderCancelled(collection, folder, why string) {
	if e != nil && e.FolderCancelled != nil {
		e.FolderCancelled(collection, folder, why)
	}
}

func (e *Events) folderKept(collection, folder, why string) {
	if e != nil && e.FolderKept != nil {
		e.FolderKept(collection, folder, why)
	}
}

func (e *Events) drifted(collection string, contents []string) {
	if e != nil && e.Drifted != nil && len(contents) > 0 {
		e.Drifted(collection, contents)
	}
}

func (e *Events) broken(collection string, contents []string) {
	if e != nil && e.Broken != nil && len(contents) > 0 {
		e.Broken(collection, contents)
	}
}

func (e *Events) outside(collection string, keys []string) {
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" }) // which names none
	if e != nil && e.Outside != nil && len(keys) > 0 {
		e.Outside(collection, keys)
	}
}

func (e *Events) untold(collection string, err error) {
	if e != nil && e.Untold != nil {
		e.Untold(collection, err)
	}
}

func (e *Events) failed(collection string, objects int, why string) {
	if e != nil && e.Failed != nil && objects > 0 {
		e.Failed(collection, objects, why)
	}
}
