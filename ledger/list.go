package ledger

import "github.com/lethe-storage/lethe"

// ListQuery asks for a page of a bucket's visible objects in byte order.
type ListQuery struct {
	Bucket    string
	Prefix    string
	Delimiter string
	After     string // exclusive; may be a common prefix of an earlier page
	Limit     int    // keys and common prefixes together; <= 1000
}

// ListPage is a page of a listing. Its objects have Attrs.Listed only, without what may be
// long.
type ListPage struct {
	Objects  []Object
	Prefixes []string
	More     bool
	Next     string // pass as After for the next page; empty when More is false
}

// BucketQuery asks for buckets by name.
type BucketQuery struct {
	Owner  string // empty: all
	Prefix string
	After  string
	Limit  int
}

// BlobQuery pages through all blobs in id order (which is not key order).
type BlobQuery struct {
	Backend string
	States  []lethe.State // empty: all
	After   lethe.ID
	Limit   int
}

// TrashQuery pages through the trash in id order.
type TrashQuery struct {
	Bucket string
	Prefix string
	After  lethe.ID
	Limit  int
}
