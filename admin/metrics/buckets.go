package metrics

import (
	"cmp"
	"context"

	"github.com/lethe-storage/lethe/admin/api"
)

var (
	bucketObjects = gauge("bucket_objects", "Objects of a bucket. Only the largest buckets have series of their own; the others are summed up as \"(other)\".", "bucket")
	bucketBytes   = gauge("bucket_bytes", "Logical bytes of a bucket's objects.", "bucket")
	bucketStored  = gauge("bucket_stored_bytes", "A bucket's share of the bytes that are stored once, by the last run of the routine usage.", "bucket")
	bucketEndless = gauge("bucket_bytes_without_end", "Bytes of a bucket's objects that neither a time to live nor a rule ends, by the last run of the routine usage.", "bucket")
	bucketDue     = gauge("bucket_due_bytes", "Bytes of a bucket that were due when the routine usage last ran, or that day or the next (UTC).", "bucket")
	bucketCounted = gauge("bucket_counted_timestamp_seconds", "When the routine usage last counted the bucket.", "bucket")
)

// other is the label of all buckets without series of their own. No bucket has such a name.
const other = "(other)"

// BucketAsker returns what the largest buckets store, and what the others do without a name,
// by reads that may be repeated every few seconds; *service.Service is one.
type BucketAsker interface {
	BucketGauges(context.Context) ([]api.BucketUsage, error)
}

func tellBuckets(tell teller, list []api.BucketUsage) {
	for _, b := range list {
		name := cmp.Or(b.Bucket, other)
		tell(bucketObjects, float64(b.Objects), name)
		tell(bucketBytes, float64(b.Bytes), name)
		if b.At.IsZero() && b.Bucket != "" {
			continue
		}
		tell(bucketStored, float64(b.StoredBytes), name)
		tell(bucketEndless, float64(b.WithoutEnd.Bytes), name)
		tell(bucketDue, float64(b.Soon.Bytes), name)
		if !b.At.IsZero() {
			tell(bucketCounted, seconds(b.At), name)
		}
	}
}
