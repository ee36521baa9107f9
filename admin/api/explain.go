package api

import "time"

// ObjectName names an object.
type ObjectName struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

// Explanation is why an object exists, what it shares, when it expires and by
// which rule; or what is left of a deleted one.
type Explanation struct {
	Bucket string    `json:"bucket"`
	Key    string    `json:"key"`
	Now    time.Time `json:"now"`
	// Verdict is one sentence for people.
	Verdict string `json:"verdict"`
	Visible bool   `json:"visible"` // clients can read it, if its bytes are sound
	// NoBucket reports that there is no such bucket now.
	NoBucket bool `json:"no_bucket,omitempty"`
	// Below is a prefix that the name stands for: there are keys below it. Only of a key that
	// is not here.
	Below string `json:"below,omitempty"`
	// Damaged is why its bytes cannot be read now; empty: a sound copy of each is known.
	Damaged string `json:"damaged,omitempty"`
	// Stays is why it stays although its end has come.
	Stays string `json:"stays,omitempty"`
	// Limited is how many of those that are due like it a run takes, if that may not be all.
	Limited string `json:"limited,omitempty"`
	// Trips are the deletion limits on it that keep it, or may keep it in the next run.
	Trips []LimitInfo `json:"trips,omitempty"`
	// Object is the row of the key, if there is one.
	Object *ObjectInfo `json:"object,omitempty"`
	// Trash are the earlier versions that can be restored.
	Trash []TrashEntry `json:"trash,omitempty"`
	// Contents are the bytes of Object and Trash.
	Contents []ContentInfo `json:"contents,omitempty"`
	// Gone are the last deleted versions, by their receipts, in the order of
	// their deletion; GoneEarlier counts those before them.
	Gone        []Gone `json:"gone,omitempty"`
	GoneEarlier int    `json:"gone_earlier,omitempty"`
	// Operations wrote these rows, as far as they are recorded.
	Operations []Operation `json:"operations,omitempty"`
	// Holds keep the object, whatever is due or requested.
	Holds []HoldInfo `json:"holds,omitempty"`
	// Events of it have not reached their targets: the first that wait, then the first dead
	// letters.
	Events []EventInfo `json:"events,omitempty"`
}

// ObjectInfo is an object's row.
type ObjectInfo struct {
	ID         string    `json:"id"`
	Size       int64     `json:"size"`
	ETag       string    `json:"etag"`
	ModifiedAt time.Time `json:"modified_at"`
	TTLAt      time.Time `json:"ttl_at,omitzero"`   // its time to live ends
	TTLKey     string    `json:"ttl_key,omitempty"` // the access key whose default or longest life that is
	RuleAt     time.Time `json:"rule_at,omitzero"`  // a lifecycle rule in force ends it, applied to it or not
	Rule       string    `json:"rule,omitempty"`    // that rule's ID
	DueAt      time.Time `json:"due_at,omitzero"`   // the earliest of these
	EndedBy    string    `json:"ended_by"`          // "ttl", "idle", "read" (for the last time), "rule" or "nothing"
	// ReadsLeft is how often it can still be read; absent: that is not counted. 0: it was
	// read for the last time, at TTLAt.
	ReadsLeft *int64 `json:"reads_left,omitempty"`
	// Idle is how long it is kept after its last read ("7d"), IdleAt when clients see it no
	// more by that, as noted, and UsedAt the last read or write that was noted.
	Idle   string    `json:"idle,omitempty"`
	IdleAt time.Time `json:"idle_at,omitzero"`
	UsedAt time.Time `json:"used_at,omitzero"`
	// Evicts is the order in which its bucket makes room when it is full: "read" or "written".
	Evicts string `json:"evicts,omitempty"`
	// EarlierObjects were used before it in that order, EarlierBytes are theirs. They are 10,000 at
	// most: more are not counted.
	EarlierObjects int64  `json:"earlier_objects,omitempty"`
	EarlierBytes   int64  `json:"earlier_bytes,omitempty"`
	Content        string `json:"content,omitempty"`
	Held           bool   `json:"held,omitempty"` // a hold keeps it, whatever ends it
}

// ContentInfo is one content, its references, and the places of its bytes.
type ContentInfo struct {
	ID        string    `json:"id"`
	Domain    string    `json:"domain"`
	Kind      string    `json:"kind"`
	Digest    string    `json:"digest"`
	Size      int64     `json:"size"`
	Refs      int64     `json:"refs"`
	CreatedAt time.Time `json:"created_at"`
	Sharers   []Sharer  `json:"sharers"`
	More      bool      `json:"more_sharers,omitempty"`
	// Inline reports that its bytes lie in the ledger: it has no blob.
	Inline bool       `json:"inline,omitempty"`
	Blobs  []BlobInfo `json:"blobs"`
}

// Sharer is an object or trash entry that refers to a content.
type Sharer struct {
	Bucket string `json:"bucket"` // empty: the bucket was deleted
	Key    string `json:"key"`
	Trash  bool   `json:"trash,omitempty"`
	// ID is that of the object's version, of the trash entry, or of the upload.
	ID string `json:"id"`
	// Upload reports that it is an open upload, not an object.
	Upload bool `json:"upload,omitempty"`
}

// BlobInfo is one blob and the attempts to delete it.
type BlobInfo struct {
	ID         string    `json:"id"`
	Backend    string    `json:"backend"`
	Name       string    `json:"name"` // on the backend
	State      string    `json:"state"`
	Size       int64     `json:"size"`
	Segment    int       `json:"segment"`
	Replica    int       `json:"replica"`
	Reason     string    `json:"reason,omitempty"` // why it was condemned
	CreatedAt  time.Time `json:"created_at"`
	DiedAt     time.Time `json:"died_at,omitzero"`
	DueAt      time.Time `json:"due_at,omitzero"` // deleted from then on
	LateUntil  time.Time `json:"late_until,omitzero"`
	Attempts   int       `json:"attempts,omitempty"`
	LastError  string    `json:"last_error,omitempty"`
	Suspect    bool      `json:"suspect,omitempty"`
	VerifiedAt time.Time `json:"verified_at,omitzero"`
	Worker     string    `json:"worker,omitempty"` // that has it claimed
	// Stopped is why nothing deletes it now although it is condemned.
	Stopped string `json:"stopped,omitempty"`
}

// Operation is the record of a client's mutation.
type Operation struct {
	ID   string    `json:"id"`
	What string    `json:"what"`
	At   time.Time `json:"at"`
}
