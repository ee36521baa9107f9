package ledger

import "github.com/lethe-storage/lethe"

// Document is an opaque document of a bucket.
type Document struct {
	Bucket string
	// Into, if set, is the expected bucket: ErrNoSuchBucket if another one has the name.
	Into lethe.ID
	Kind string
	Body []byte // nil is stored as an empty body
}
