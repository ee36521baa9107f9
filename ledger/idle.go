package ledger

import (
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
)

// Reads of an object that ends once it is idle are noted in batches, so the ledger knows the
// last read only roughly. A read noted at T moves the end to T, the idle time, a tenth of it and
// IdleMargin. Reads in that tenth are covered by the end and need no note; the margin is the
// time in which all other reads are noted.
const (
	// IdleMargin is how long after a read its note may be written.
	IdleMargin = time.Minute
	// IdleGrace is how long after its end by idleness an object is not removed yet, so that
	// the notes of the last reads arrive.
	IdleGrace = 10 * time.Second
	// longestUnnoted is by how much the last use of an object that does not end by idleness may
	// lie behind its last read, in the order of eviction.
	longestUnnoted = time.Hour
)

// Read is a note that a version was read, or used in another way.
type Read struct {
	Bucket lethe.ID   `json:"bucket_id"`
	Key    string     `json:"key"`
	ID     lethe.ID   `json:"id"` // of the version
	At     lethe.Time `json:"at"` // the ledger's time then (Resolved.Now)
}

// idleEnd returns the end of an object that was used at the instant and is kept for so long
// after that.
func idleEnd(at lethe.Time, idle time.Duration) lethe.Time {
	us := idle.Microseconds()
	return at + lethe.Time(us+us/10+IdleMargin.Microseconds())
}

// Use sets the end by idleness of an object of a bucket that is used now, by a write. It must have
// no other IdleFor than a ledger has checked.
func (o *Object) Use(in BucketSettings, now lethe.Time) {
	o.IdleAt, o.UsedAt = 0, 0
	if in.Evict.On() {
		o.UsedAt = now
	}
	if o.IdleFor > 0 {
		o.IdleFor = o.IdleFor.Truncate(time.Microsecond)
		o.IdleAt, o.UsedAt = idleEnd(now, o.IdleFor), now
	}
}

// NeedsNote reports whether a read at the instant has to be noted. It has if it moves the end by
// more than a tenth of the idle time. Where the order of eviction depends on reads, it also has if
// it moves the last use by more than a tenth of the object's age; that threshold is at least
// IdleMargin, and at most an hour or a tenth of MinAge. urgent reports that the object may end
// before the next batch of notes.
func (o *Object) NeedsNote(in Eviction, at lethe.Time) (note, urgent bool) {
	if o.ordered(in) && o.UsedAt != 0 {
		note = at.Sub(o.UsedAt) > max(IdleMargin, min(at.Sub(o.ModifiedAt)/10, in.noted()))
	}
	if o.IdleFor <= 0 {
		return note, false
	}
	return note || o.moves(at), o.IdleAt.Sub(at) < IdleMargin
}

// ordered reports whether the reads of the object count in the order of eviction.
func (o *Object) ordered(in Eviction) bool {
	return in.On() && (o.IdleFor > 0 || in.Order == EvictByRead)
}

// moves reports whether a read at the instant moves the end by more than a tenth of the idle
// time.
func (o *Object) moves(at lethe.Time) bool {
	return idleEnd(at, o.IdleFor)-o.IdleAt > lethe.Time(o.IdleFor.Microseconds()/10)
}

// Note moves the end by idleness forward for a read at the instant, which was before that end,
// and reports whether it did. Where reads count in the order of eviction a use is noted also
// where no end moves.
func (o *Object) Note(in Eviction, at lethe.Time) bool {
	switch {
	case o.IdleFor > 0 && at < o.IdleAt && o.moves(at):
		o.IdleAt = idleEnd(at, o.IdleFor)
	case !o.ordered(in) || o.IdleAt > 0 && at >= o.IdleAt || o.UsedAt == 0 || at <= o.UsedAt:
		return false
	}
	o.UsedAt = max(o.UsedAt, at)
	return true
}

// idleDue returns when an object that is not used goes; 0: it does not go by idleness.
func (o *Object) idleDue() lethe.Time {
	if o.IdleAt == 0 {
		return 0
	}
	return o.IdleAt.Add(IdleGrace)
}

// EndsIdle returns the idle time of an object for which one is asked (0: none is): the bucket's
// default without a wish, at most the bucket's longest. ErrInvalidTTL for a longer wish, and one
// below lethe.MinIdle.
func (b *Bucket) EndsIdle(wish, byDefault time.Duration) (time.Duration, error) {
	switch {
	case wish != 0 && wish < lethe.MinIdle:
		return 0, fmt.Errorf("%w: an idle time must be at least %s", lethe.ErrInvalidTTL, lethe.FormatTTL(lethe.MinIdle))
	case b.MaxIdle > 0 && wish > b.MaxIdle:
		return 0, fmt.Errorf("bucket %s keeps objects no longer than %s after their last read: %w", b.Name, lethe.FormatTTL(b.MaxIdle), lethe.ErrInvalidTTL)
	case wish != 0:
		return wish, nil
	}
	return shorter(byDefault, b.MaxIdle), nil
}
