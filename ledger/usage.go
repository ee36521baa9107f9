package ledger

import "github.com/lethe-storage/lethe"

// UsageQuery pages through what a bucket holds, to count it: through objects by key, and
// through trash entries by key and id.
type UsageQuery struct {
	Bucket     string
	Prefix     string
	AfterKey   string   // exclusive, except for trash entries after AfterEntry
	AfterEntry lethe.ID // of the trash: the last entry of the page before
	Limit      int      // 0 or less: all
	// Deleted, of trash entries: the bucket need not be there any more.
	Deleted bool
}

// ObjectUse is an object row, due ones included, and what shares its bytes. The object has
// what counting needs: no ETag and no Attrs.
type ObjectUse struct {
	Object
	Refs      int64 // references to its content, 1 for zero bytes
	BlobBytes int64 // of the content's live blobs, all copies, which go with the last reference
	Held      bool  // a hold keeps it
}

// TrashUse is a trash entry, and what shares its bytes. PurgeAt of a deferred entry is when
// it was due.
type TrashUse struct {
	ID        lethe.ID
	Key       string
	ContentID lethe.ID
	Size      int64
	PurgeAt   lethe.Time
	Refs      int64
	BlobBytes int64 // as in ObjectUse
	Held      bool
}

// UsageRecord is a count of what a bucket stores. The ledger does not interpret it.
type UsageRecord struct {
	Bucket  lethe.ID
	Name    string // of the bucket; filled in for readers
	TakenAt lethe.Time
	Brief   []byte // kept for as long as growth is shown
	// Document is the whole count. The ledger keeps that of the newest record only.
	Document []byte
}

// UsageRecordQuery asks, of each bucket, for the newest record taken up to an instant; where
// there is none, for the oldest.
type UsageRecordQuery struct {
	Bucket   string // empty: all buckets
	UpTo     lethe.Time
	Document bool   // read documents as well
	After    string // by bucket name, exclusive
	Limit    int    // 0 or less: all
}
