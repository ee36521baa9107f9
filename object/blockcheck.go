package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// check holds what verifies the blocks of a segment during a read: their CRC-32C,
// recorded when they were written, which cost a twentieth of a SHA-256. A segment
// of one block without them has its SHA-256. Either detects damage; that the bytes
// were not exchanged is proven by the scheduled checks.
type check struct {
	size   int64 // bytes of the segment
	each   int64 // bytes of a block but the last
	first  int64 // number of the block that sums begin with
	sums   []uint32
	digest string // hex SHA-256 of the one block, if there are no sums
}

// oneBlock verifies a segment as a whole.
func oneBlock(s ledger.Segment) check {
	c := check{size: s.Size, each: s.Size}
	for _, b := range s.Blobs {
		if b.CRC32C != 0 {
			c.sums = []uint32{b.CRC32C}
			return c
		}
	}
	c.digest = s.Digest
	return c
}

// block returns the begin and the end of the block that contains a byte.
func (c check) block(pos int64) (from, to int64) {
	from = pos / c.each * c.each
	return from, min(from+c.each, c.size)
}

// wrong describes the mismatch of the block that begins at from, "" if there is
// none.
func (c check) wrong(block []byte, from int64) string {
	if c.digest != "" {
		sum := sha256.Sum256(block)
		if have := hex.EncodeToString(sum[:]); have != c.digest {
			return fmt.Sprintf("its SHA-256 is %s, not %s", have, c.digest)
		}
		return ""
	}
	if have, want := lethe.CRC32C(0, block), c.sums[from/c.each-c.first]; have != want {
		return fmt.Sprintf("the CRC-32C of its %d bytes from byte %d on is %08x, not %08x", len(block), from, have, want)
	}
	return ""
}

// known returns the sums of the blocks between two bytes of a segment, of any copy;
// the zero value if there are none. The ledger is read only for those of a large
// segment.
func (s *Store) known(ctx context.Context, seg ledger.Segment, from, to int64) (check, error) {
	if seg.Blocks.Size > 0 {
		return check{size: seg.Size, each: seg.Blocks.Size, sums: seg.Blocks.Sums}, nil
	}
	for _, c := range seg.Blobs {
		if c.Block == 0 {
			continue
		}
		first := from / c.Block
		sums, err := s.ledger.Copies.BlockSums(ctx, c.ID, first, (to-1)/c.Block)
		if err != nil {
			return check{}, err
		}
		if len(sums) > 0 {
			return check{size: seg.Size, each: c.Block, first: first, sums: sums}, nil
		}
	}
	return check{}, nil
}

// sumsTime bounds how long a blob without sums is read, for any number of waiting
// clients.
const sumsTime = 15 * time.Minute

// maxSumReads is how many blobs without sums a store reads at once.
const maxSumReads = 4

// computeSums computes the sums of a copy that was written before there were any. It
// reads all of it, and if the digest matches the ledger records them, so that this
// is done once. The read continues if the client leaves, as it will ask again.
// Concurrent requests for one blob share a read. While maxSumReads blobs are read a
// client waits; one that leaves meanwhile causes no read.
func (s *Store) computeSums(ctx context.Context, c ledger.Blob) (check, error) {
	if !s.opt.Background {
		return s.readSums(ctx, c)
	}
	for {
		got, err, _ := s.sumReads.Do(string(c.ID), func() (any, error) {
			if err := s.sumSlots.Acquire(ctx, 1); err != nil {
				return check{}, errNoTurn
			}
			defer s.sumSlots.Release(1)
			return s.readSums(ctx, c)
		})
		// The client that waited on behalf of all may have left, with others still
		// waiting.
		if err != errNoTurn || ctx.Err() != nil {
			return got.(check), err
		}
	}
}

// errNoTurn: the client left before its blob could be read.
var errNoTurn = fmt.Errorf("%w: the client left before the blob could be read for its sums", lethe.ErrUnavailable)

func (s *Store) readSums(ctx context.Context, c ledger.Blob) (check, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sumsTime)
	defer cancel()
	in, err := s.openBlob(ctx, c, 0, c.Size)
	if err != nil {
		return check{}, err
	}
	defer in.Close()
	digest, blocks := sha256.New(), lethe.NewBlockHash(s.opt.Block)
	buf := s.bodies.get(s.opt.Block)
	defer s.bodies.put(buf)
	n, err := io.CopyBuffer(io.MultiWriter(digest, blocks), struct{ io.Reader }{in}, buf[:cap(buf)])
	if err != nil {
		return check{}, err
	}
	if have := hex.EncodeToString(digest.Sum(nil)); n != c.Size || have != c.Digest {
		err := fmt.Errorf("%w: blob %s on %s: its SHA-256 is %s, of %d bytes, not %s, of %d", lethe.ErrCorrupt, c.ID, c.Backend, have, n, c.Digest, c.Size)
		s.events.corrupt(c, err)
		return check{}, err
	}
	sums := blocks.Sums()
	// If that fails the next reader, or a check, tries again.
	_, _ = s.ledger.Copies.NoteBlocks(ctx, c.ID, c.Size, sums)
	return check{size: c.Size, each: sums.Size, sums: sums.Sums}, nil
}
