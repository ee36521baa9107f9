package ledger

import "github.com/lethe-storage/lethe"

// Document is an opaque document of a bucket.
type Document struct {
	Bucket string
	// Into, if set, is the bucket that is meant: ErrNoSuchBucket if another has got the
	// name meanwhile.
	Into lethe.ID
	Kind string
	Body []byte // nil is an empty one
}
