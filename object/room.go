package object

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// A write that needs room in a full bucket evicts in batches: at most so many, and for at most
// half of Options.Patience. Evicted objects do not come back if the write fails.
const (
	evictBatch = 100 // objects
	evictSteps = 50
	// shortestWait is how long it waits first where others are changing all that may go.
	shortestWait = 10 * time.Millisecond
)

// copiedIn returns the key in its own bucket that a commit copies, if any.
func copiedIn(c ledger.Commit) string {
	if c.Source != nil && c.Source.Bucket == c.Object.Bucket {
		return c.Source.Key
	}
	return ""
}

// withRoom runs a transaction that needs room in a bucket. If it is refused for want of room, and
// the bucket can evict, withRoom makes the room and runs the transaction again. It evicts neither
// the object that the write replaces nor from, the key in the same bucket that it copies.
func (s *Store) withRoom(ctx context.Context, from string, run func(context.Context) error) error {
	err := run(ctx)
	asks, lacks := ledger.RoomFor(err)
	if !lacks {
		return err
	}
	if failed := s.noteReads(ctx, true); failed != nil { // what this process has just read stays
		return fmt.Errorf("make room in bucket %s: %w", asks.Bucket, failed)
	}
	began, held, after, wait := s.instant(), 0, ledger.UseMark{}, shortestWait
	for range evictSteps {
		asks.SpareToo, asks.After, asks.Batch = from, after, ledger.Batch{Limit: evictBatch, MaxBlobs: 4 * evictBatch}
		out, failed := s.ledger.Buckets.Evict(ctx, asks)
		if failed != nil {
			return notMade(err, asks.Bucket, failed)
		}
		s.drop(ctx, out.Dropped)
		s.events.evicted(out.Reclaimed)
		held, after = held+out.Held, out.Next
		switch {
		case out.Room:
			err = run(ctx)
		case !out.More:
			return noRoom(err, held, out.KeptBefore)
		case out.Busy > 0 && out.Objects == 0:
			if failed := s.opt.Sleep(ctx, wait); failed != nil {
				return notMade(err, asks.Bucket, failed)
			}
			wait *= 2
		}
		if asks, lacks = ledger.RoomFor(err); !lacks {
			return err
		}
		if s.instant().since(began)+wait > s.opt.Patience/2 {
			break
		}
	}
	return fmt.Errorf("%w; what went in time made too little room", err)
}

// notMade is why no room could be made. While the clock or the ledger is in doubt, the write
// is refused as where there is none.
func notMade(refusal error, bucket string, failed error) error {
	switch {
	case errors.Is(failed, lethe.ErrClock):
		return fmt.Errorf("%w; nothing is evicted, as its least age cannot be told: %v", refusal, failed)
	case errors.Is(failed, ledger.ErrUnpaired):
		return fmt.Errorf("%w; nothing is evicted: %v", refusal, failed)
	}
	return fmt.Errorf("make room in bucket %s: %w", bucket, failed)
}

// noRoom says why a bucket that evicts has no room.
func noRoom(err error, held int, before bool) error {
	why := "what is left was used too lately, or is not in its order yet"
	switch {
	case before:
		why = "holds keep what was used longest ago, and " + why
	case held == 1:
		why = "a hold keeps one object, and " + why
	case held > 1:
		why = fmt.Sprintf("holds keep %d objects, and %s", held, why)
	}
	return fmt.Errorf("%w; nothing more can be evicted: %s", err, why)
}
