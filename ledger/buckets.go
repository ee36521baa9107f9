package ledger

import (
	"errors"
	"fmt"

	"github.com/lethe-storage/lethe"
)

// Check returns an error if a time or a quota is negative.
func (s BucketSettings) Check() error {
	if min(s.DefaultTTL, s.MaxTTL, s.Undo) < 0 || min(s.QuotaBytes, s.QuotaObjects) < 0 {
		return errors.New("a bucket's times and quotas must not be negative")
	}
	return nil
}

// CheckQuota returns ErrQuotaExceeded if the bucket, with the totals in b, would exceed its
// quota by growing so. A change that shrinks it is never refused.
func (b *Bucket) CheckQuota(objects, bytes int64) error {
	switch {
	case b.QuotaObjects > 0 && objects > 0 && b.Objects+objects > b.QuotaObjects:
		return fmt.Errorf("bucket %s may have %d objects and has %d: %w", b.Name, b.QuotaObjects, b.Objects, lethe.ErrQuotaExceeded)
	case b.QuotaBytes > 0 && bytes > 0 && b.Bytes+bytes > b.QuotaBytes:
		return fmt.Errorf("bucket %s may have %d bytes and has %d: %w", b.Name, b.QuotaBytes, b.Bytes, lethe.ErrQuotaExceeded)
	}
	return nil
}
