package adopt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
)

// Row is a claimed row.
type Row struct {
	Key string
	// Copies are the keys under which the application caches it.
	Copies []string
}

// Claim is rows that one worker has claimed. At, the time of their stamp, is
// their fence.
type Claim struct {
	At   lethe.Time
	Rows []Row
}

// Settled is the outcome of claimed rows.
type Settled struct {
	Gone     int // removed, or kept as deleted
	Returned int // not expired any more: the application extended them
	Lost     int // no longer of this claim
	Refused  int // refused by the database: they are held for RefusedRest
	Held     int // live again: a hold keeps them
	// Unreferenced is how many contents lost their last reference.
	Unreferenced int
	// Drifted are contents whose count was lower than their number of
	// references.
	Drifted []string
}

// Backlog is the work that waits.
type Backlog struct {
	Due    int64      // counted up to MaxCounted
	Oldest lethe.Time // 0 if there is none
}

// MaxCounted bounds the count of a Backlog, so that counting stays cheap.
const MaxCounted = 1_000_000

// Records are the rows of one collection. Each method is one transaction, and several where
// the database refuses rows of Release and Recover.
type Records interface {
	// Claim stamps up to limit rows that have expired, are not claimed and not
	// held, the oldest first. It skips rows that are locked. It may fail with a
	// *Refusal.
	Claim(ctx context.Context, limit int) (Claim, error)
	// Settle removes the rows that still carry the claim and are still expired,
	// and decrements their contents' counts. Extended and held ones become live
	// again. Copies under the claim's keys and the row's present keys are
	// recorded to be dropped again after again, the latter at once as well. It
	// may fail with a *Refusal.
	Settle(ctx context.Context, c Claim, again time.Duration) (Settled, error)
	// Release makes the rows of a claim live again. It fails with a *Refusal if some of them
	// may not, after all others.
	Release(ctx context.Context, c Claim) (int, error)
	// Recover makes up to limit rows whose claim is older than age live again. If some of them
	// may not, it goes on with all others, by limit, and fails with a *Refusal then.
	Recover(ctx context.Context, age time.Duration, limit int) (int, error)
	// Due counts the rows that Claim would take.
	Due(ctx context.Context) (Backlog, error)
}

// Ender is records whose contents can be marked together with them.
type Ender interface {
	// End is Settle and, in the same transaction, Mark of the contents that
	// lost their last reference, whose rows it removes as well: from then on
	// only their marks know of the objects. It leaves to Mark what it cannot
	// mark at once. It may fail with a *Refusal.
	End(ctx context.Context, c Claim, r EndRequest) (Settled, Marked, error)
}

// EndRequest has the parameters of End.
type EndRequest struct {
	Again time.Duration // as Settle's
	Late  time.Duration // as that of a MarkRequest
}

// Condemned is a content whose object is to be deleted.
type Condemned struct {
	Content string // its key in the table of contents
	Object  string // its key in the bucket
	// Again: the object was moved, and is looked for once more now that its
	// content has no row.
	Again bool
}

// Marked is contents that carry the mark of one worker.
type Marked struct {
	Fence    int64
	Contents []Condemned
	// Kept counts those referenced again, Busy those that the application has
	// locked, Held the objects that a hold keeps.
	Kept, Busy, Held int
	// Drifted are contents whose count is 0 although rows refer to them.
	Drifted []string
	// Outside are objects that are not below the prefix, and are left alone:
	// their delete would always be refused, and so would that of the rows that
	// name them.
	Outside []string
}

// Outcome is the outcome of one object's deletion.
type Outcome struct {
	Content string
	// Failed is why the object may still exist, empty if it is gone.
	Failed string
	// Unseen reports that a delete was sent whose end was not seen: it may yet take
	// effect, also after one that succeeded.
	Unseen bool
	Again  bool // as that of a Condemned
}

// Confirmed is what Confirm recorded. Gone excludes objects that were looked for
// again.
type Confirmed struct {
	Gone, Failed, Lost int
	// Broken are contents that stay although their objects were deleted: rows
	// refer to them, past the guard, or the database objects to removing them.
	Broken []string
}

// ErrUnguarded reports that nothing in the database prevents new references to
// a condemned content. Nothing was marked.
var ErrUnguarded = errors.New("no guard keeps new references from contents that are being deleted: \"lethe adopt guard install\" installs one")

// ErrChanged reports that the tables of a collection are not as they were when it was
// opened, and that nothing was done: its statements were made for others.
var ErrChanged = errors.New("its tables, or foreign keys to its contents, have changed since it was opened: \"lethe adopt check\" looks at them anew")

// MarkRequest bounds one Mark.
type MarkRequest struct {
	Limit int
	// Late is the silence after which another worker's mark is taken over.
	Late time.Duration
}

// Contents are what the rows of one collection refer to. Each method is one
// transaction.
type Contents interface {
	// Find examines up to limit contents after the key, of counted ones only
	// those with 0, and records the unreferenced ones, to be condemned after
	// the grace. next is the key to continue at, empty at the end.
	Find(ctx context.Context, after string, limit int, grace time.Duration) (found int, next string, err error)
	// Mark condemns contents that are due and whose objects are not held. It
	// locks each and checks again that nothing refers to it. It fails with
	// ErrUnguarded.
	Mark(ctx context.Context, r MarkRequest) (Marked, error)
	// Confirm records outcomes under the fence. Contents whose objects are gone
	// are removed; those of which no delete can have had an effect may be
	// referred to again. Their marks end LongestWrite after the last instant at
	// which a delete may take effect: now, or Late after one whose end was not
	// seen. If the database objects to removing a content, it is several
	// transactions.
	//
	// Without a guard an object may come back while its worker takes it for gone:
	// referred to for a while, it is copied back or uploaded again. So its mark
	// stays for LooksAgain, and ends once the object was looked for again, unless
	// the content has a row.
	Confirm(ctx context.Context, fence int64, outcomes []Outcome, g Grace) (Confirmed, error)
	// Unmark removes up to limit marks that have ended. Without a guard those of
	// contents without a row wait again instead, so that their objects are looked
	// for once more.
	Unmark(ctx context.Context, limit int) (int, error)
	// Waiting counts the contents that are to go.
	Waiting(ctx context.Context) (Backlog, error)
}

// Again is copies to drop from the cache once more.
type Again struct {
	ID   int64
	Keys []string
}

// Cached are the copies to drop from the cache once more. Each method is one
// transaction.
type Cached interface {
	// DropAgain returns up to limit batches of copies that are due.
	DropAgain(ctx context.Context, limit int) ([]Again, error)
	// Dropped deletes batches.
	Dropped(ctx context.Context, ids []int64) error
}

// Copies are the application's copies in a cache.
type Copies interface {
	// Drop deletes keys in one round trip. It returns nil only if all are gone.
	Drop(ctx context.Context, keys []string) error
}

// Events are called with what the routines do, after the transaction. Nil
// functions are skipped.
type Events struct {
	// Drifted receives contents whose counts were wrong.
	Drifted func(collection string, contents []string)
	// Broken receives contents whose references bypassed the guard while their
	// objects were deleted.
	Broken func(collection string, contents []string)
	// Failed receives the number of objects that could not be deleted, and the
	// first reason.
	Failed func(collection string, objects int, why string)
	// Refused receives a row that the database refuses to remove, and the
	// reason.
	Refused func(collection, key, why string)
	// Missing receives keys that rows name and that have no object.
	Missing func(collection string, keys []string)
	// HookFailed receives the error of a hook for missing objects.
	HookFailed func(collection string, err error)
	// Outside receives objects that are not below the prefix, and are left
	// alone.
	Outside func(collection string, keys []string)
	// Restored receives objects that were copied back from quarantine.
	Restored func(collection string, keys []string)
	// Lost receives referenced objects whose copies are gone.
	Lost func(collection string, keys []string)
	// FolderCancelled receives a marked folder that is not to be deleted any
	// more.
	FolderCancelled func(collection, folder, why string)
	// FolderKept receives a folder without a row that cannot be deleted.
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
	keys = slices.DeleteFunc(keys, func(key string) bool { return key == "" }) // with no name
	if e != nil && e.Outside != nil && len(keys) > 0 {
		e.Outside(collection, keys)
	}
}

func (e *Events) hookFailed(collection string, err error) {
	if e != nil && e.HookFailed != nil {
		e.HookFailed(collection, err)
	}
}

func (e *Events) failed(collection string, objects int, why string) {
	if e != nil && e.Failed != nil && objects > 0 {
		e.Failed(collection, objects, why)
	}
}
