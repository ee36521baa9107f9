package ledger

import "github.com/lethe-storage/lethe"

// Discrepancy is an inconsistency in the ledger; there should never be one.
type Discrepancy struct {
	What string // for example "refs", "counter", "state", "orphan row"
	Name string // the row concerned
	Want string
	Have string
}

// Sharer is an object or a trash entry that shares a content, for explain.
type Sharer struct {
	Bucket string
	Key    string
	Trash  bool
	ID     lethe.ID // of the object's version, or of the trash entry
}

// SharerQuery pages through what refers to a content.
type SharerQuery struct {
	Content lethe.ID
	After   Sharer // only Trash and ID count; zero value: from the beginning
	Limit   int
}
