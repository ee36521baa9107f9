package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// Check returns an error if a time or a quota is negative, or an idle time below lethe.MinIdle.
func (s BucketSettings) Check() error {
	if min(s.DefaultTTL, s.MaxTTL, s.DefaultIdle, s.MaxIdle, s.Undo) < 0 || min(s.QuotaBytes, s.QuotaObjects) < 0 {
		return errors.New("a bucket's times and quotas must not be negative")
	}
	for _, d := range []time.Duration{s.DefaultIdle, s.MaxIdle} {
		if d != 0 && d < lethe.MinIdle {
			return fmt.Errorf("%w: an idle time must be at least %s", lethe.ErrInvalidTTL, lethe.FormatTTL(lethe.MinIdle))
		}
	}
	return s.checkEviction()
}

// CheckSeen returns ErrPreconditionFailed unless the settings are those seen; nil: any.
func (s BucketSettings) CheckSeen(seen *BucketSettings) error {
	if seen != nil && *seen != s {
		return fmt.Errorf("the bucket has other settings by now: %w", lethe.ErrPreconditionFailed)
	}
	return nil
}

// CheckBucketID returns ErrNoSuchBucket unless the bucket with a name has the expected id; an empty
// one expects whichever there is.
func CheckBucketID(name string, has, want lethe.ID) error {
	if want == "" || want == has {
		return nil
	}
	return fmt.Errorf("another bucket now has the name %q: %w", name, lethe.ErrNoSuchBucket)
}

// CheckQuota returns ErrQuotaExceeded if the bucket, with the totals in b, would exceed its
// quota by growing so; RoomFor tells whether it can make the room. A change that shrinks it is
// never refused.
func (b *Bucket) CheckQuota(objects, bytes int64) error {
	full := error(lethe.ErrQuotaExceeded)
	if b.Evict.On() && b.fits(Room{objects, bytes}) {
		full = &lacksRoom{EvictRequest{Bucket: b.Name, Room: Room{objects, bytes}}}
	}
	switch {
	case b.QuotaObjects > 0 && objects > 0 && b.Objects+objects > b.QuotaObjects:
		return fmt.Errorf("bucket %s may have %s and has %d: %w", b.Name, counted(b.QuotaObjects, "object"), b.Objects, full)
	case b.QuotaBytes > 0 && bytes > 0 && b.Bytes+bytes > b.QuotaBytes:
		return fmt.Errorf("bucket %s may have %s and has %d: %w", b.Name, counted(b.QuotaBytes, "byte"), b.Bytes, full)
	}
	return nil
}

// counted returns a number with its noun.
func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
