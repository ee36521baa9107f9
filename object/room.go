package object

import (
	"cmp"
	"context"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// A write that needs room in a full bucket makes it in batches of its own, at most so many, and
// for half of Options.Patience at most. What is evicted stays so, whatever becomes of the write.
const (
	evictBatch = 100 // objects
	evictSteps = 50
)

// place is where a write writes, with the key in its bucket that it copies, if any.
type place struct{ bucket, key, from string }

// placeOf returns where a commit writes.
func placeOf(c ledger.Commit) place {
	at := place{bucket: c.Object.Bucket, key: c.Object.Key}
	if c.Source != nil && c.Source.Bucket == at.bucket {
		at.from = c.Source.Key
	}
	return at
}

// withRoom runs a transaction that needs room in a bucket. While it is refused for want of room
// that the bucket can make, it makes it and runs the transaction again. What the write
// replaces stays, and what it copies.
func (s *Store) withRoom(ctx context.Context, at place, run func(context.Context) error) error {
	err := run(ctx)
	began, held := s.instant(), 0
	var before lethe.Time
	for range evictSteps {
		room, lacks := ledger.RoomFor(err)
		if !lacks {
			return err
		}
		if before == 0 {
			if failed := s.NoteReads(ctx); failed != nil { // what this process has just read stays
				return fmt.Errorf("make room in bucket %s: %w", at.bucket, failed)
			}
		}
		out, failed := s.ledger.Buckets.Evict(ctx, ledger.EvictRequest{
			Bucket: at.bucket, Spare: at.key, SpareToo: at.from, Room: room, Before: before, Batch: ledger.Batch{Limit: evictBatch, MaxBlobs: 4 * evictBatch},
		})
		if failed != nil {
			return fmt.Errorf("make room in bucket %s: %w", at.bucket, failed)
		}
		s.drop(ctx, out.Dropped)
		s.events.evicted(out.Reclaimed)
		held += out.Held
		before = cmp.Or(before, out.Now)
		switch {
		case out.Room:
			err = run(ctx)
		case !out.More:
			return noRoom(err, held)
		}
		if s.instant().since(began) > s.opt.Patience/2 {
			break
		}
	}
	if _, lacks := ledger.RoomFor(err); lacks {
		return fmt.Errorf("%w; what went in time made too little room", err)
	}
	return err
}

// noRoom says why a bucket that evicts has no room.
func noRoom(err error, held int) error {
	why := "what is left was used too lately, or is not in its order yet"
	switch {
	case held == 1:
		why = "a hold keeps one object, and " + why
	case held > 1:
		why = fmt.Sprintf("holds keep %d objects, and %s", held, why)
	}
	return fmt.Errorf("%w; nothing more can be evicted: %s", err, why)
}
