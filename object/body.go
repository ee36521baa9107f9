package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/meta"
)

// tail is how much of a segment is held back until the segment is verified.
const tail = 64 << 10

// body reads a window of a content, segment by segment. A copy that fails is
// left for another one at the same offset. A segment that is read as a whole is
// verified: its last bytes are handed out only when all of it matches.
type body struct {
	s    *Store
	ctx  context.Context
	res  meta.Resolved
	left int64 // bytes not handed out yet
	hold int64 // bytes held back of a segment at most

	n     int   // index of the segment being read
	pos   int64 // next byte in it to be read from a copy
	from  int64 // where reading it began
	end   int64 // where reading it ends
	check check
	whole bool // the segment is read as a whole: verify it

	in     io.ReadCloser // an open copy at pos, or nil
	cur    meta.Blob
	failed map[lethe.ID]error // copies not to be tried again
	asked  int                // times the object was resolved again
	askAt  int64              // left when it was last

	held   []byte // verified, to be handed out
	buffer []byte // of held
	life   *life
	err    error
}

func (s *Store) newBody(ctx context.Context, res meta.Resolved, w window) *body {
	b := &body{s: s, ctx: ctx, res: res, left: w.length, hold: tail, failed: map[lethe.ID]error{}}
	offset := w.offset
	for b.n < len(res.Segments) && offset >= res.Segments[b.n].Size {
		offset -= res.Segments[b.n].Size
		b.n++
	}
	b.enter(offset)
	return b
}

// enter prepares to read the n-th segment from the offset on.
func (b *body) enter(offset int64) {
	b.from, b.pos = offset, offset
	clear(b.failed)
	if b.n < len(b.res.Segments) {
		b.check = newCheck(b.res.Segments[b.n])
		size := b.res.Segments[b.n].Size
		b.end = min(size, offset+b.left)
		b.whole = offset == 0 && b.end == size
	}
}

// begin opens the first copy and, for a content of several segments, begins to
// keep it from being reclaimed while it is read.
func (b *body) begin() error {
	if len(b.res.Segments) > 1 {
		b.life = b.s.startLife(b.ctx, b.res.Object.ContentID)
	}
	return b.openCopy()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	n, err := b.read(p)
	b.left -= int64(n)
	if err != nil {
		b.err = err
	}
	return n, err
}

func (b *body) read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	b.life.show()
	if len(b.held) == 0 {
		if b.left == 0 {
			return 0, io.EOF
		}
		if err := b.next(); err != nil {
			return 0, err
		}
	}
	if len(b.held) > 0 {
		n := copy(p, b.held)
		b.held = b.held[n:]
		return n, nil
	}
	free := b.end - b.pos
	if b.whole {
		free -= b.hold
	}
	return b.pull(p[:min(int64(len(p)), free)])
}

// next moves on to what has to be read now: the next segment if this one is at
// its end, and its tail, verified, if that is all that is left of it.
func (b *body) next() error {
	for b.pos == b.end {
		b.closeCopy()
		if b.n++; b.n >= len(b.res.Segments) {
			return fmt.Errorf("%w: content %s has less bytes than its object", lethe.ErrCorrupt, b.res.Object.ContentID)
		}
		b.enter(0)
	}
	for b.whole && b.end-b.pos <= b.hold {
		done, err := b.pullTail()
		if done || err != nil {
			return err
		}
	}
	return nil
}

// pullTail reads the rest of the segment and verifies all of it. done is false
// if another copy shall be read instead, from the segment's beginning.
func (b *body) pullTail() (done bool, err error) {
	if b.buffer == nil {
		b.buffer = b.s.bodies.get(min(b.hold, b.end))
	}
	n := b.end - b.pos
	if int64(cap(b.buffer)) < n {
		b.s.bodies.put(b.buffer)
		b.buffer = b.s.bodies.get(n)
	}
	all := b.pos == b.from // nothing of the segment was handed out
	held := b.buffer[:n]
	for got := 0; got < len(held); {
		n, err := b.pull(held[got:])
		if err != nil {
			return false, err
		}
		got += n
	}
	wrong := b.check.wrong()
	if wrong == "" {
		b.held = held
		return true, nil
	}
	err = fmt.Errorf("%w: blob %s on %s: %s", lethe.ErrCorrupt, b.cur.ID, b.cur.Backend, wrong)
	b.s.events.corrupt(b.cur, err)
	if !all {
		b.s.doubt(b.ctx, b.cur, err)
		return false, err
	}
	b.giveUpCopy(err)
	b.pos = b.from
	b.check.Reset()
	return false, nil
}

// pull reads some bytes at pos from whatever copy yields them.
func (b *body) pull(p []byte) (int, error) {
	for idle := 0; ; idle++ {
		if err := b.openCopy(); err != nil {
			return 0, err
		}
		n, err := b.in.Read(p)
		if n > 0 {
			b.pos += int64(n)
			if b.whole {
				b.check.Write(p[:n])
			}
			return n, nil
		}
		switch {
		case err == io.EOF:
			b.giveUpCopy(fmt.Errorf("%w: it ends at byte %d of %d", lethe.ErrCorrupt, b.pos, b.res.Segments[b.n].Size))
		case err != nil:
			b.giveUpCopy(err)
		case idle > 100:
			b.giveUpCopy(io.ErrNoProgress)
		}
	}
}

// openCopy opens a copy at pos unless one is open. When none can be opened it
// asks the ledger once more where they lie.
func (b *body) openCopy() error {
	for b.in == nil {
		if b.n >= len(b.res.Segments) {
			return fmt.Errorf("%w: content %s has less bytes than its object", lethe.ErrCorrupt, b.res.Object.ContentID)
		}
		if b.tryCopies() {
			return nil
		}
		if err := b.ctx.Err(); err != nil {
			return err
		}
		if err := b.resolve(); err != nil {
			return err
		}
	}
	return nil
}

func (b *body) tryCopies() bool {
	for _, c := range b.res.Segments[b.n].Blobs {
		if b.failed[c.ID] != nil {
			continue
		}
		in, err := b.openBlob(c)
		if err == nil {
			b.in, b.cur = in, c
			return true
		}
		if b.ctx.Err() != nil {
			return false
		}
		b.failed[c.ID] = err
		b.s.events.failover(c, err)
		b.s.doubt(b.ctx, c, err)
	}
	return false
}

func (b *body) openBlob(c meta.Blob) (io.ReadCloser, error) {
	store, ok := b.s.opt.Backends[c.Backend]
	if !ok {
		return nil, fmt.Errorf("%w: backend %q is not configured", lethe.ErrUnavailable, c.Backend)
	}
	return store.Get(b.ctx, lethe.BlobKey(b.s.opt.StoreID, c.ID), b.pos, b.end-b.pos)
}

// resolve asks the ledger where the copies lie now, once per failure and not
// without progress between.
func (b *body) resolve() error {
	const most = 16
	if b.asked > 0 && b.askAt == b.left || b.asked >= most {
		return b.lost()
	}
	b.asked++
	b.askAt = b.left
	res, err := b.s.again(b.ctx, b.res.Object)
	if err != nil {
		return fmt.Errorf("%w: %w", lethe.ErrUnavailable, errors.Join(err, b.lost()))
	}
	b.res.Segments = res.Segments
	clear(b.failed)
	return nil
}

// lost says why no copy of the segment can be read.
func (b *body) lost() error {
	kind := lethe.ErrCorrupt
	var all []error
	for _, c := range b.res.Segments[b.n].Blobs {
		err := b.failed[c.ID]
		if !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, lethe.ErrCorrupt) {
			kind = lethe.ErrUnavailable
		}
		all = append(all, fmt.Errorf("blob %s on %s: %w", c.ID, c.Backend, err))
	}
	return fmt.Errorf("%w: no copy of segment %d of content %s can be read: %w",
		kind, b.n, b.res.Object.ContentID, errors.Join(all...))
}

func (b *body) giveUpCopy(err error) {
	b.closeCopy()
	b.failed[b.cur.ID] = err
	if b.ctx.Err() == nil {
		b.s.events.failover(b.cur, err)
		b.s.doubt(b.ctx, b.cur, err)
	}
}

// doubt marks a copy suspect if err says that its bytes are missing or damaged,
// so that nothing new refers to it alone: the next upload of the same bytes joins
// it as one more copy (design rule 20).
func (s *Store) doubt(ctx context.Context, c meta.Blob, err error) {
	if c.Suspect || !errors.Is(err, blob.ErrNotExist) && !errors.Is(err, lethe.ErrCorrupt) {
		return
	}
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	// If that fails the next reader tries again, or a check.
	_, _ = s.ledger.MarkSuspect(ctx, []lethe.ID{c.ID}, true, err.Error())
}

func (b *body) closeCopy() {
	if b.in != nil {
		b.in.Close()
		b.in = nil
	}
}

// WriteTo implements io.WriterTo with a large buffer.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	const chunk = 256 << 10
	buf := b.s.bodies.get(chunk)[:chunk]
	defer b.s.bodies.put(buf)
	// The wrappers hide the methods that would make CopyBuffer bypass the buffer.
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf)
}

// errClosed: the reader was closed.
var errClosed = errors.New("object: read after close")

// Close implements io.Closer.
func (b *body) Close() error {
	if b.err == errClosed {
		return nil
	}
	b.closeCopy()
	b.life.end()
	if b.buffer != nil {
		b.s.bodies.put(b.buffer)
		b.buffer, b.held = nil, nil
	}
	b.err = errClosed
	return nil
}

// sound says whether data is the content whose segments are given.
func sound(data []byte, segments []meta.Segment) bool {
	for _, seg := range segments {
		if seg.Size > int64(len(data)) {
			return false
		}
		sum := sha256.Sum256(data[:seg.Size])
		if hex.EncodeToString(sum[:]) != seg.Digest {
			return false
		}
		data = data[seg.Size:]
	}
	return len(data) == 0
}

// cacheTTL is how long the object's content may stay in the cache from now on.
func (s *Store) cacheTTL(o meta.Object, now lethe.Time) time.Duration {
	ttl := s.opt.CacheTTL
	if due := o.DueAt(); due != 0 {
		ttl = min(ttl, due.Sub(now))
	}
	return ttl
}
