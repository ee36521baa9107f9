package ledger

import (
	"fmt"

	"github.com/lethe-storage/lethe"
)

// MaxDeletion is the most keys that one Deletion may name.
const MaxDeletion = 1000

// Deletion deletes objects of one bucket, at most MaxDeletion, in one transaction.
type Deletion struct {
	Op     lethe.ID
	Bucket string
	Into   lethe.ID // as in Document
	Items  []DeleteItem
}

// Check returns an error if the deletion names too many keys.
func (d Deletion) Check() error {
	if len(d.Items) > MaxDeletion {
		return fmt.Errorf("ledger: delete %d keys of bucket %s: at most %d at once", len(d.Items), d.Bucket, MaxDeletion)
	}
	return nil
}

// DeleteItem is one key to delete.
type DeleteItem struct {
	Key string
	If  Precondition
}

// Deleted is the result for one DeleteItem. An absent key is no error.
type Deleted struct {
	Key     string
	Existed bool
	ID      lethe.ID // the version deleted
	Err     error    // ErrPreconditionFailed, or nil
}

// Deletions is the result of a Deletion, in the order asked.
type Deletions struct {
	Items   []Deleted
	Dropped []lethe.ID
}
