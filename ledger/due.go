package ledger

import (
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
)

// Named identifies a row of a plan. An object has bucket, key and the version that the plan
// saw; a trash entry has its id only, in ID and Key.
type Named struct {
	Bucket lethe.ID `json:"bucket_id"`
	Key    string   `json:"key"`
	ID     lethe.ID `json:"id"`
}

// DueQuery pages through the rows that a routine would take now, in its order: by due time,
// size and name. It changes nothing.
type DueQuery struct {
	State   lethe.State   // of blobs: Condemned, or Pending
	Backend string        // of blobs; of intents, empty for all
	MinAge  time.Duration // of intents: without a heartbeat for so long
	// By, of objects and trash entries, is the instant by which they are due; 0: now.
	By lethe.Time
	// All, of objects and trash entries, adds those that are not in the due index: deferred
	// ones, and objects that rules end which are not applied to them yet. The latter are found
	// by reading the whole bucket. They follow the others, and have no order by time.
	All bool
	// Bucket is the only bucket whose objects are read; empty: all.
	Bucket lethe.ID
	After  DueMark // the last row of the page before
	// Unapplied, with All, are the buckets whose rules were being reapplied when the first page
	// was read: DuePage.Unapplied of that page. One whose reapplication ends between two pages is
	// then neither missing nor there twice. Nil: those of now.
	Unapplied []lethe.ID
	// Rules, with All, is DuePage.Rules of the first page, 0 for the first one itself:
	// ErrRulesChanged if rules of any bucket were changed since.
	Rules int64
	Limit int // rows read; 0 or less: all
}

// ErrRulesChanged is returned for a page of what is due if lifecycle rules were changed since the
// first page. Rows may then be missing on later pages.
var ErrRulesChanged = errors.New("lifecycle rules were changed meanwhile: begin again")

// Revision returns the revision of the rules, which is now. It fails with ErrRulesChanged if the
// earlier pages were read by another one.
func (q DueQuery) Revision(now int64) (int64, error) {
	if q.Rules != 0 && q.Rules != now {
		return 0, ErrRulesChanged
	}
	return now, nil
}

// Covers reports whether the query reads the objects of a bucket.
func (q DueQuery) Covers(bucket lethe.ID) bool { return q.Bucket == "" || q.Bucket == bucket }

// DuePart is where a page of what is due comes from.
type DuePart int

// The parts, in their order.
const (
	DueIndexed   DuePart = iota // in the due index
	DueDeferred                 // taken out of it, for a hold or a limit
	DueUnapplied                // of a bucket whose rules are being reapplied
)

// DueMark is a position in the order of what is due.
type DueMark struct {
	Part   DuePart
	Due    lethe.Time
	Size   int64
	Bucket lethe.ID // objects, and deferred trash entries
	Key    string   // of a deferred trash entry's object
	Name   string   // key of an object, id of a trash entry or blob
}

// Due is an object or a trash entry that is due.
type Due struct {
	Named
	BucketName string // its current name; empty if the bucket was deleted
	ObjectKey  string // of a trash entry
	Size       int64
	Ending              // when it is due, and by what
	Content    lethe.ID // empty for zero bytes
	Refs       int64    // references to its content; the bytes are freed with the last one
	Blobs      int64    // live blobs of its content
	BlobBytes  int64
	Held       bool // a hold keeps it: the routine defers it
}

// Continue returns the query for the page after this one.
func (p DuePage) Continue(q DueQuery) DueQuery {
	q.After, q.Unapplied, q.Rules = p.Next, p.Unapplied, p.Rules
	return q
}

// Through makes a page that has no more of its part continue with the next one, up to the last.
func (p *DuePage) Through(last DuePart, q DueQuery) {
	if q.All && !p.More && q.After.Part < last {
		p.More, p.Next = true, DueMark{Part: q.After.Part + 1}
	}
}

// DuePage is a page of what is due. Objects due only by a rule that is no longer in force
// are left out, so a page may be shorter than its limit, or empty. If More is set, Next
// continues it.
type DuePage struct {
	Rows      []Due
	Next      DueMark
	Unapplied []lethe.ID // of DueQuery; not nil, if All was asked for
	Rules     int64      // revision of the lifecycle rules, if All was asked for
	More      bool
}
