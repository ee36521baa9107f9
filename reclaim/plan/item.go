package plan

import (
	"errors"
	"fmt"
	"time"
)

// Item is one thing that would be taken, and its state when it was seen.
type Item struct {
	// Do is the name of the routine or command that takes it.
	Do string `json:"do"`
	// Kind is one of object, trash, blob, intent, upload, dead, backend, rules,
	// foreign, content, part.
	Kind string `json:"kind"`
	// ID identifies it permanently: the version of an object, the id of an entry,
	// blob or upload; the name of a backend or a bucket; the key of a foreign
	// object.
	ID       string `json:"id"`
	Bucket   string `json:"bucket,omitempty"`
	BucketID string `json:"bucket_id,omitempty"`
	Key      string `json:"key,omitempty"`
	Backend  string `json:"backend,omitempty"`
	Size     int64  `json:"size"`             // bytes, logical for objects
	Copies   int64  `json:"copies,omitempty"` // made for it
	Blobs    int64  `json:"blobs,omitempty"`  // condemned with it, as far as known
	Frees    int64  `json:"frees,omitempty"`  // bytes of those blobs, or of an inline content
	// Refs is how many references to Content there are, if more than this one: then the
	// last of them condemns Blobs.
	Refs    int64  `json:"refs,omitempty"`
	Content string `json:"content,omitempty"`
	Why     string `json:"why"`
	// Stays is why it will not be taken although it is due: a hold or a limit; empty: it is
	// taken.
	Stays string    `json:"stays,omitempty"`
	Due   time.Time `json:"due,omitzero"`
	// Seen is further state that it must still have, in a form of its kind.
	Seen string `json:"seen,omitempty"`
	// With is what the command was given for it.
	With string `json:"with,omitempty"`
}

// PerRun is why an item stays of a routine of which one run takes so many at least, as it ends with
// the batch that comes to them.
func PerRun(most int64) string {
	return fmt.Sprintf("one run takes at least %d of what is due (reclaim.limits.per_run); the rest waits for the next", most)
}

// Outcome is how an item of an applied plan ended.
type Outcome string

// The outcomes. Every one but Done left the item as it was.
const (
	Done    Outcome = "done"
	Already Outcome = "done before"
	Gone    Outcome = "gone already"
	Changed Outcome = "changed since"
	NotDue  Outcome = "no longer due"
	Held    Outcome = "held"
	Busy    Outcome = "taken by another"
	Failed  Outcome = "failed" // tried; the item's own retries go on
)

// Result is the outcome of one item.
type Result struct {
	Item    Item    `json:"item"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"`
}

// Staying separates the items that the plan says stay, with their results: they are not taken,
// even if nothing keeps them any more.
func Staying(items []Item) (going []Item, staying []Result) {
	for _, i := range items {
		if i.Stays == "" {
			going = append(going, i)
		} else {
			staying = append(staying, Result{Item: i, Outcome: Held, Detail: i.Stays})
		}
	}
	return going, staying
}

// check refuses an item that no plan writes.
func (i Item) check() error {
	switch {
	case i.Do == "" || i.Kind == "" || i.ID == "":
		return errors.New("an item without do, kind or id")
	case min(i.Size, i.Copies, i.Blobs, i.Frees, i.Refs) < 0:
		return fmt.Errorf("item %s has a negative number", i.ID)
	}
	return nil
}
