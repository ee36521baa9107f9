package ledger

import "github.com/lethe-storage/lethe"

// Deletion deletes objects of one bucket, at most 1,000, in one transaction.
type Deletion struct {
	Op     lethe.ID
	Bucket string
	Items  []DeleteItem
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
