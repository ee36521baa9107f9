package sim

import (
	"context"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// evicts says that a bucket of this world makes room when it is full.
func (w *World) evicts() bool { return hash2(w.cfg.Seed, 182)%8 == 0 }

// evicting is the bucket that evicts.
const evicting = "plain"

// settings are those of a bucket.
func (w *World) settings(bucket string) (s ledger.BucketSettings) {
	if bucket == "undo" {
		s.Undo = undoWindow
	}
	if w.evicts() && bucket == evicting {
		h := draw(w.cfg.Seed, 1, 74)
		s.QuotaObjects = 2 + int64(h%3)
		s.Evict = ledger.Eviction{Order: ledger.EvictByRead, High: 70, Low: 50, MinAge: time.Duration(h>>8%3) * 5 * time.Minute}
		if h>>16%3 == 0 {
			s.Evict.Order = ledger.EvictByWrite
		}
	}
	return s
}

// Evict is a method of clients and of the engine.
func (s *seam) Evict(ctx context.Context, r ledger.EvictRequest) (ledger.Evicted, error) {
	return write(s, "evict", r.Bucket, scope{room: &r}, func() (ledger.Evicted, error) {
		out, err := s.in.Evict(s.lasting(ctx), r)
		s.w.oracle.stops(out.Tripped...)
		return out, err
	})
}

// EvictingBuckets is a method of the engine.
func (s *seam) EvictingBuckets(ctx context.Context, after lethe.ID, limit int) ([]ledger.Bucket, error) {
	return read(s, "evicting-buckets", "", func() ([]ledger.Bucket, error) { return s.in.EvictingBuckets(ctx, after, limit) })
}

// NextEvicted is a method of the engine.
func (s *seam) NextEvicted(ctx context.Context, q ledger.EvictQuery) ([]ledger.Due, error) {
	return read(s, "next-evicted", q.Bucket, func() ([]ledger.Due, error) { return s.in.NextEvicted(ctx, q) })
}

// evicted: what made room was used longest ago, and long enough ago, and no more went than had to.
func (o *oracle) evicted(before View, sc scope) error {
	if sc.room == nil {
		return nil
	}
	s, is := o.w.settings(sc.room.Bucket), byPlace(o.view.Objects)
	last, n, had := lethe.Time(0), int64(0), int64(0)
	for at, old := range byPlace(before.Objects) {
		if at.bucket != sc.room.Bucket {
			continue
		}
		if had++; is[at].ID == old.ID {
			continue
		}
		n, last = n+1, max(last, old.UsedAt)
		if !s.Evict.On() || old.UsedAt == 0 || old.UsedAt >= o.w.now.Add(-s.Evict.MinAge) {
			return broken("%v was evicted at %s, and was used at %s", at, o.w.now, old.UsedAt)
		}
	}
	if n == 0 {
		return nil
	}
	if target := min(s.QuotaObjects*int64(s.Evict.Low)/100, s.QuotaObjects-sc.room.Room.Objects); had-n+1 <= target {
		return broken("%d of %d objects were evicted, and %d may stay", n, had, target)
	}
	for at, old := range byPlace(before.Objects) {
		if _, held := o.heldBy(at); at.bucket == sc.room.Bucket && is[at].ID == old.ID && old.UsedAt < last && !held && at.key != sc.room.Spare && at.key != sc.room.SpareToo && sc.room.Batch.Only == nil {
			return broken("%v, used at %s, stayed, and one used at %s was evicted", at, old.UsedAt, last)
		}
	}
	return nil
}
