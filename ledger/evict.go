package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
)

// EvictOrder is what a bucket evicts first when it is full; empty: it evicts nothing, and refuses
// what has no room.
type EvictOrder string

// The orders. An object with an idle time counts by its last read in both.
const (
	EvictByRead  EvictOrder = "read"    // what was read or written longest ago
	EvictByWrite EvictOrder = "written" // what was written longest ago
)

// Eviction is how a bucket makes room at its quota.
type Eviction struct {
	Order EvictOrder
	// High and Low are percentages of each quota. Above High the engine begins to evict. Once
	// begun, an eviction ends at Low.
	High, Low int
	MinAge    time.Duration // what was used since is not evicted
}

// ErrUnpaired reports that the ledger may be an older copy, which lacks holds and later uses.
// Nothing is evicted before a person has accepted it.
var ErrUnpaired = fmt.Errorf("the ledger may be an older copy, and lethe backend accept has not been run: %w", lethe.ErrBackendMismatch)

// On reports whether the bucket evicts.
func (e Eviction) On() bool { return e.Order != "" }

// Defaults of Eviction.
const (
	DefaultEvictHigh = 95
	DefaultEvictLow  = 90
)

// noted returns how long before the last read of an object its recorded last use may lie.
func (e Eviction) noted() time.Duration {
	if e.MinAge > 0 {
		return max(IdleMargin, min(longestUnnoted, e.MinAge/10))
	}
	return longestUnnoted
}

// Before returns the instant before which an object was last used if it may be evicted now. It
// lies a bit more than MinAge back, because reads are noted late.
func (e Eviction) Before(now lethe.Time) lethe.Time {
	if e.MinAge == 0 {
		return now
	}
	return now.Add(-e.MinAge - e.noted() - IdleMargin)
}

// EvictAhead is how many objects a write that needs room looks at before it evicts the first. A
// write that cannot get its room then evicts none.
const EvictAhead = 5000

// KeptAge is the least age of the last use of a held object that later evictions skip. No
// transaction that records an earlier use takes that long.
const KeptAge = 10 * time.Minute

// lacksRoom is lethe.ErrQuotaExceeded of a bucket that can make the room (Evict).
type lacksRoom struct{ asks EvictRequest }

func (*lacksRoom) Error() string { return lethe.ErrQuotaExceeded.Error() }

// Is implements errors.Is.
func (*lacksRoom) Is(target error) bool { return target == lethe.ErrQuotaExceeded }

// RoomFor returns the request for the room that a write was refused for want of, if its bucket can
// make it. What the write replaces is spared.
func RoomFor(err error) (EvictRequest, bool) {
	var e *lacksRoom
	if !errors.As(err, &e) {
		return EvictRequest{}, false
	}
	return e.asks, true
}

// checkEviction returns an error for an eviction that cannot be.
func (s BucketSettings) checkEviction() error {
	e := s.Evict
	switch {
	case !e.On():
		return nil
	case e.Order != EvictByRead && e.Order != EvictByWrite:
		return fmt.Errorf("a bucket evicts in the order %q or %q, not %q", EvictByRead, EvictByWrite, e.Order)
	case s.QuotaBytes == 0 && s.QuotaObjects == 0:
		return errors.New("a bucket without a quota is never full: set one, or let it refuse")
	case e.Low < 1 || e.High < e.Low || e.High > 100:
		return fmt.Errorf("the marks of eviction are percentages, the low one (%d) at least 1 and not above the high one (%d), which is at most 100", e.Low, e.High)
	case e.MinAge < 0:
		return errors.New("an age must not be negative")
	}
	return nil
}

// Room is what a write needs of a bucket's quota.
type Room struct{ Objects, Bytes int64 }

// EvictRequest asks to make room in a bucket.
type EvictRequest struct {
	Bucket string
	// Room is what a write needs. Without it the engine acts above the high mark, or, once it
	// has begun (Begun), above the low one.
	Room  Room
	Begun bool
	// Spare and SpareToo are keys whose objects are not evicted: what the write is about to
	// replace, and what it copies.
	Spare, SpareToo string
	Batch           Batch // Limit, MaxBlobs, Only
	// After is Evicted.Next of the batch before, so that what a hold keeps is not met twice.
	After UseMark
}

// UseMark is a place in the order of eviction.
type UseMark struct {
	Used lethe.Time
	Key  string
}

// Compare compares two places.
func (m UseMark) Compare(o UseMark) int {
	return cmp.Or(cmp.Compare(m.Used, o.Used), strings.Compare(m.Key, o.Key))
}

// EvictQuery pages through what a bucket would evict, in its order. It changes nothing.
type EvictQuery struct {
	Bucket string
	After  DueMark // Due, Name: the last row of the page before
	Limit  int
}

// Evicted is the result of an EvictRequest.
type Evicted struct {
	Reclaimed
	// Room reports that there is room for the write.
	Room bool
	// Held counts objects that a hold keeps, up to Next. KeptBefore reports that the batch passed
	// over others, which were found held before.
	Held       int
	KeptBefore bool
	// Busy counts objects that are being changed by others, and are left to the next batch.
	Busy int
	// Next is where the next batch begins.
	Next UseMark
}

// needs reports whether a bucket with these totals has to evict.
func (b *Bucket) needs(r EvictRequest) bool {
	mark := b.Evict.High
	switch {
	case r.Room != (Room{}):
		return b.CheckQuota(r.Room.Objects, r.Room.Bytes) != nil
	case b.MayEvict(r) == 0:
		return false
	case r.Begun:
		mark = b.Evict.Low
	}
	return above(b.Objects, b.QuotaObjects, mark) || above(b.Bytes, b.QuotaBytes, mark)
}

// MayEvict returns how many objects a request may end: the engine, which acts ahead of need,
// leaves the one used last, however large.
func (b *Bucket) MayEvict(r EvictRequest) int64 {
	if r.Room != (Room{}) {
		return b.Objects
	}
	return max(b.Objects-1, 0)
}

// Lacks returns by how much a bucket has to shrink for the room to be there.
func (b *Bucket) Lacks(r Room) (out Room) {
	if b.QuotaObjects > 0 && r.Objects > 0 {
		out.Objects = max(b.Objects+r.Objects-b.QuotaObjects, 0)
	}
	if b.QuotaBytes > 0 && r.Bytes > 0 {
		out.Bytes = max(b.Bytes+r.Bytes-b.QuotaBytes, 0)
	}
	return out
}

// fits reports whether the room could ever be there.
func (b *Bucket) fits(r Room) bool {
	return (b.QuotaObjects == 0 || r.Objects <= b.QuotaObjects) && (b.QuotaBytes == 0 || r.Bytes <= b.QuotaBytes)
}

// Takes asks check, which is CheckQuota, for an object of so many bytes in place of old, nil for
// none. An object that is larger than the quota never has room, though it grows the bucket by
// less where it replaces another.
func (b *Bucket) Takes(size int64, old *Object, check func(objects, bytes int64) error) error {
	if old == nil {
		return check(1, size)
	}
	err := check(0, size-old.Size)
	var e *lacksRoom
	if !errors.As(err, &e) {
		return err
	}
	if b.QuotaBytes > 0 && size > b.QuotaBytes {
		return fmt.Errorf("bucket %s may have %s, and the object has %d: %w", b.Name, counted(b.QuotaBytes, "byte"), size, lethe.ErrQuotaExceeded)
	}
	e.asks.Spare = old.Key
	return err
}

// Excess returns what has to go for the room to be there and the low mark to be reached; nothing
// unless the bucket evicts and has to do so now.
func (b *Bucket) Excess(r EvictRequest) (out Room) {
	if !b.Evict.On() || !b.fits(r.Room) || !b.needs(r) {
		return out
	}
	return Room{
		Objects: min(excess(b.Objects, b.QuotaObjects, b.Evict.Low, r.Room.Objects), b.MayEvict(r)),
		Bytes:   excess(b.Bytes, b.QuotaBytes, b.Evict.Low, r.Room.Bytes),
	}
}

// excess returns by how much a total has to fall.
func excess(total, quota int64, low int, room int64) int64 {
	if quota == 0 {
		return 0
	}
	return max(total-min(percentOf(quota, low), quota-room), 0)
}

// Less returns what is left of a room after an object of the size went.
func (r Room) Less(size int64) Room {
	return Room{Objects: max(r.Objects-1, 0), Bytes: max(r.Bytes-size, 0)}
}

func above(total, quota int64, high int) bool { return quota > 0 && total > percentOf(quota, high) }

func percentOf(n int64, percent int) int64 {
	return n/100*int64(percent) + n%100*int64(percent)/100
}
