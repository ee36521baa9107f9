package api

import "time"

// TrashRequest chooses trash entries: by their ids, or by bucket and prefix, or
// with All every one. A list without a choice has every one, too.
type TrashRequest struct {
	IDs    []string `json:"ids,omitempty"`
	Bucket string   `json:"bucket,omitempty"`
	Prefix string   `json:"prefix,omitempty"`
	All    bool     `json:"all,omitempty"`
	After  string   `json:"after,omitempty"`
	Limit  int      `json:"limit,omitempty"`
}

// TrashList is a page of trash entries in the order in which they were deleted.
type TrashList struct {
	Entries []TrashEntry `json:"entries"`
	Next    string       `json:"next,omitempty"` // the After of the next page
}

// TrashEntry is a deleted or replaced object that can be restored.
type TrashEntry struct {
	ID        string    `json:"id"`
	Bucket    string    `json:"bucket"`
	Key       string    `json:"key"`
	Size      int64     `json:"size"`
	Reason    string    `json:"reason"`
	DeletedAt time.Time `json:"deleted_at"`
	PurgeAt   time.Time `json:"purge_at"`
	// Held reports that a hold keeps it, also after PurgeAt.
	Held bool `json:"held,omitempty"`
	// Due reports that its undo window is over. An explanation tells in Stays why it stays
	// nonetheless.
	Due   bool   `json:"due,omitempty"`
	Stays string `json:"stays,omitempty"`
	// Limited is how many of those that are due like it a run takes, if that may not be all.
	Limited string `json:"limited,omitempty"`
}

// RestoreRequest names a trash entry to put back under its key.
type RestoreRequest struct {
	ID        string `json:"id"`
	Overwrite bool   `json:"overwrite,omitempty"` // replace what lies there now; needs the role destroy
}
