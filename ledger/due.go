package ledger

import (
	"time"

	"github.com/lethe-storage/lethe"
)

// Named is a row that a plan names: an object by bucket, key and the version that
// was seen there, or a trash entry by its id alone, as ID and Key.
type Named struct {
	Bucket lethe.ID `json:"bucket_id"`
	Key    string   `json:"key"`
	ID     lethe.ID `json:"id"`
}

// DueQuery pages through what a routine would take now, in the order in which it
// would: by due time, size and name. Reading changes nothing.
type DueQuery struct {
	State   lethe.State   // of blobs: Condemned, or Pending
	Backend string        // of blobs; of intents, empty for all
	MinAge  time.Duration // of intents: silent for so long
	After   DueMark       // the last row of the page before
	Limit   int           // rows read; not above zero: all
}

// DueMark is a place in the order of what is due.
type DueMark struct {
	Due    lethe.Time
	Size   int64
	Bucket lethe.ID // objects
	Name   string   // key of an object, id of a trash entry or blob
}

// Due is an object or a trash entry that is due.
type Due struct {
	Named
	BucketName string // as it is called; empty if it was deleted
	ObjectKey  string // of a trash entry
	Size       int64
	At         lethe.Time // due
	Rule       string     // the lifecycle rule that alone ends it
	Refs       int64      // of its content: whoever takes the last one frees the bytes
	Blobs      int64      // live blobs of its content
	BlobBytes  int64
	Held       bool // a hold keeps it: whoever comes to it puts it aside
}

// DuePage is a page of what is due. Objects that only a rule ends which is not in
// force any more are passed over, so a page may be shorter than its limit, and
// empty; Next is where to go on if More.
type DuePage struct {
	Rows []Due
	Next DueMark
	More bool
}
