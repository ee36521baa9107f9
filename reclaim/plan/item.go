package plan

import (
	"errors"
	"fmt"
	"time"
)

// Item is one thing that would be taken, and what it was when it was seen.
type Item struct {
	// Do is who takes it: the name of a routine, or of a command.
	Do string `json:"do"`
	// Kind is what it is: object, trash, blob, intent, upload, dead, backend, rules,
	// foreign, content, part.
	Kind string `json:"kind"`
	// ID names it forever: the version of an object, the id of an entry, blob or
	// upload; the name of a backend or a bucket; the key of what is foreign.
	ID       string    `json:"id"`
	Bucket   string    `json:"bucket,omitempty"`
	BucketID string    `json:"bucket_id,omitempty"`
	Key      string    `json:"key,omitempty"`
	Backend  string    `json:"backend,omitempty"`
	Size     int64     `json:"size"`             // bytes, logical for objects
	Copies   int64     `json:"copies,omitempty"` // that are made
	Blobs    int64     `json:"blobs,omitempty"`  // that are condemned with it, as far as is known
	Frees    int64     `json:"frees,omitempty"`  // bytes of those
	Shared   bool      `json:"shared,omitempty"` // others refer to its bytes: who goes last frees them
	Why      string    `json:"why"`
	Due      time.Time `json:"due,omitzero"`
	// Seen is what else it must still be, in words of its own kind.
	Seen string `json:"seen,omitempty"`
	// With is what the command was given for it.
	With string `json:"with,omitempty"`
}

// Outcome is what became of an item when a plan was applied.
type Outcome string

// The outcomes. Everything but Done left the item as it was.
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

// Result is what became of one item.
type Result struct {
	Item    Item    `json:"item"`
	Outcome Outcome `json:"outcome"`
	Detail  string  `json:"detail,omitempty"`
}

// check refuses what no plan has written.
func (i Item) check() error {
	switch {
	case i.Do == "" || i.Kind == "" || i.ID == "":
		return errors.New("an item without do, kind or id")
	case min(i.Size, i.Copies) < 0 || i.Blobs < 0 || i.Frees < 0:
		return fmt.Errorf("item %s has a negative number", i.ID)
	}
	return nil
}
