package object

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// body reads a window of a content, block by block: a block is read from a copy,
// verified, and only then handed out. If a copy fails, another one continues at the
// same block.
type body struct {
	s    *Store
	ctx  context.Context
	res  ledger.Resolved
	left int64 // bytes not handed out yet
	most int64 // a segment of up to so many bytes is verified as one block

	n     int   // index of the segment being read
	pos   int64 // next byte of it to be handed out
	end   int64 // where reading it ends
	check check // of its blocks; the zero value: the segment was not entered yet

	in     io.ReadCloser // an open copy at the next block, or nil
	cur    ledger.Blob
	failed map[lethe.ID]error // copies not to be tried again
	asked  int                // times the object was resolved again
	askAt  int64              // left when it was last

	inline []byte // the whole content, once it was moved into the ledger
	held   []byte // verified, to be handed out
	buffer []byte // of held
	grace  *graceExtender
	err    error
	// counted: the read was taken from those that the object had left. Its bytes stay for
	// the reader even if that has ended the object.
	counted bool
}

func (s *Store) newBody(ctx context.Context, res ledger.Resolved, w window) *body {
	b := &body{s: s, ctx: ctx, res: res, left: w.length, pos: w.offset, most: s.opt.Block, failed: map[lethe.ID]error{}}
	for b.n < len(res.Segments) && b.pos >= res.Segments[b.n].Size {
		b.pos -= res.Segments[b.n].Size
		b.n++
	}
	return b
}

// begin reads the first block. For a content of several segments, or of which a read may
// be the last, it also starts to keep the content from being reclaimed during the read.
func (b *body) begin() error {
	if len(b.res.Segments) > 1 || b.res.Object.Counted() {
		b.grace = b.s.startGraceExtender(b.ctx, b.res.Object.ContentID)
	}
	_, err := b.next(nil)
	return err
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
	b.grace.extendIfDue()
	if len(b.held) == 0 {
		if b.left == 0 {
			return 0, io.EOF
		}
		if n, err := b.next(p); n > 0 || err != nil {
			return n, err
		}
	}
	n := copy(p, b.held)
	b.held = b.held[n:]
	return n, nil
}

// next reads and verifies the next block: into p if all of it is wanted and fits,
// else into a buffer. It returns the bytes in p.
func (b *body) next(p []byte) (int, error) {
	if err := b.enter(); err != nil {
		return 0, err
	}
	from, to := b.check.block(b.pos)
	want := min(to, b.end) - b.pos
	straight := want == to-from && int64(len(p)) >= want
	if !straight {
		p = b.room(to - from)
	}
	if err := b.readVerified(p[:to-from], from); err != nil {
		return 0, err
	}
	skip := b.pos - from
	b.pos += want
	if straight {
		return int(want), nil
	}
	b.held = p[skip : skip+want]
	return 0, nil
}

// room returns a buffer for a block.
func (b *body) room(n int64) []byte {
	if int64(cap(b.buffer)) < n {
		b.s.bodies.put(b.buffer)
		b.buffer = b.s.bodies.get(n)
	}
	return b.buffer[:n]
}

// enter moves on to the segment that contains pos, and finds the sums that verify
// it.
func (b *body) enter() error {
	if b.check.size > 0 && b.pos == b.end {
		b.closeCopy()
		b.n, b.pos, b.check = b.n+1, 0, check{}
		clear(b.failed)
	}
	if b.check.size > 0 {
		return nil
	}
	if b.n >= len(b.res.Segments) {
		return fmt.Errorf("%w: content %s has fewer bytes than its object", lethe.ErrCorrupt, b.res.Object.ContentID)
	}
	seg := b.res.Segments[b.n]
	b.end = min(seg.Size, b.pos+b.left)
	if seg.Size <= b.most {
		b.check = oneBlock(seg)
		return nil
	}
	known, err := b.s.known(b.ctx, seg, b.pos, b.end)
	if err != nil || known.size > 0 {
		b.check = known
		return err
	}
	return b.eachCopyUntil(func(c ledger.Blob) (err error) {
		if c.Backend == ledger.InLedger {
			b.check = oneBlock(b.res.Segments[b.n])
			return nil
		}
		b.check, err = b.s.computeSums(b.ctx, c)
		return err
	})
}

// readVerified reads the block that begins at from, from the first copy that has it
// intact.
func (b *body) readVerified(block []byte, from int64) error {
	for {
		if err := b.fill(block, from); err != nil {
			return err
		}
		wrong := b.check.wrong(block, from)
		if wrong == "" {
			return nil
		}
		err := fmt.Errorf("%w: blob %s on %s: %s", lethe.ErrCorrupt, b.cur.ID, b.cur.Backend, wrong)
		b.s.events.corrupt(b.cur, err)
		b.closeCopy()
		b.giveUp(b.cur, err)
	}
}

// fill reads a block from the first copy that yields all of it.
func (b *body) fill(block []byte, from int64) error {
	idle := 0
	for got := 0; got < len(block); {
		if b.in == nil {
			got = 0
			if err := b.openCopy(from); err != nil {
				return err
			}
		}
		n, err := b.in.Read(block[got:])
		if got += n; n > 0 {
			idle = 0
			continue
		}
		switch idle++; {
		case err == io.EOF:
			err = fmt.Errorf("%w: it ends at byte %d of %d", lethe.ErrCorrupt, from+int64(got), b.check.size)
		case err == nil && idle > 100:
			err = io.ErrNoProgress
		case err == nil:
			continue
		}
		b.closeCopy()
		if b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		b.giveUp(b.cur, err)
	}
	return nil
}

// openCopy opens a copy at a block.
func (b *body) openCopy(from int64) error {
	_, to := b.check.block(b.end - 1)
	return b.eachCopyUntil(func(c ledger.Blob) (err error) {
		b.cur = c
		if c.Backend == ledger.InLedger {
			b.in = io.NopCloser(bytes.NewReader(b.inline[from:to]))
			return nil
		}
		b.in, err = b.s.openBlob(b.ctx, c, from, to-from)
		return err
	})
}

// eachCopyUntil tries the copies of the segment until one works. If none does it reads
// their locations from the ledger once more.
func (b *body) eachCopyUntil(try func(ledger.Blob) error) error {
	for {
		for _, c := range b.res.Segments[b.n].Blobs {
			if b.failed[c.ID] != nil {
				continue
			}
			err := try(c)
			if err == nil {
				return nil
			}
			if b.ctx.Err() != nil {
				return b.ctx.Err()
			}
			b.giveUp(c, err)
		}
		if err := b.resolve(); err != nil {
			return err
		}
	}
}

// openBlob opens length bytes of a copy from offset on; below 0: to its end.
func (s *Store) openBlob(ctx context.Context, c ledger.Blob, offset, length int64) (io.ReadCloser, error) {
	store, ok := s.opt.Backends[c.Backend]
	if !ok {
		return nil, fmt.Errorf("%w: backend %q is not configured", lethe.ErrUnavailable, c.Backend)
	}
	return store.Get(ctx, lethe.BlobKey(s.opt.StoreID, c.ID), offset, length)
}

// resolve reads the locations of the copies from the ledger, once per failure and
// not without progress in between.
func (b *body) resolve() error {
	const most = 16
	if b.asked > 0 && b.askAt == b.left || b.asked >= most {
		return b.lost()
	}
	b.asked++
	b.askAt = b.left
	res, err := b.s.again(b.ctx, b.res.Object)
	if b.counted && errors.Is(err, errReplaced) {
		// The copies are where they were, for a read grace.
		res, err = b.res, nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", lethe.ErrUnavailable, errors.Join(err, b.lost()))
	}
	b.res.Segments = res.Segments
	if res.Inline.Inline() {
		// It was moved into the ledger meanwhile.
		if b.inline, err = b.s.inlineBytes(res); err != nil {
			return err
		}
		in := ledger.Blob{ID: res.Object.ContentID, Backend: ledger.InLedger, State: lethe.Live, Size: res.Object.Size, Digest: res.Inline.Digest}
		b.res.Segments = []ledger.Segment{{Size: in.Size, Digest: in.Digest, Blobs: []ledger.Blob{in}}}
	}
	clear(b.failed)
	return nil
}

// lost returns why no copy of the segment can be read.
func (b *body) lost() error {
	kind := lethe.ErrCorrupt
	var all []error
	for _, c := range b.res.Segments[b.n].Blobs {
		err := b.failed[c.ID]
		if !damaged(err) {
			kind = lethe.ErrUnavailable
		}
		all = append(all, fmt.Errorf("blob %s on %s: %w", c.ID, c.Backend, err))
	}
	return fmt.Errorf("%w: no copy of segment %d of content %s can be read: %w",
		kind, b.n, b.res.Object.ContentID, errors.Join(all...))
}

// giveUp stops using a copy that failed.
func (b *body) giveUp(c ledger.Blob, err error) {
	b.failed[c.ID] = err
	b.s.events.failover(c, err)
	b.s.doubt(b.ctx, c, err)
}

// damaged reports whether err shows that the bytes of a copy are missing or damaged.
func damaged(err error) bool {
	return errors.Is(err, blob.ErrNotExist) || errors.Is(err, lethe.ErrCorrupt)
}

// doubt marks a copy suspect if err shows that its bytes are missing or damaged.
// Nothing new then refers to it alone: the next upload of the same bytes joins it
// as one more copy (docs/protocol.md, rule 20).
func (s *Store) doubt(ctx context.Context, c ledger.Blob, err error) {
	if c.Suspect || !damaged(err) {
		return
	}
	ctx, cancel := s.bookkeeping(ctx)
	defer cancel()
	// If that fails the next reader, or a check, tries again.
	_, _ = s.ledger.Copies.MarkSuspect(ctx, []lethe.ID{c.ID}, err.Error())
}

func (b *body) closeCopy() {
	if b.in != nil {
		b.in.Close()
		b.in = nil
	}
}

// WriteTo implements io.WriterTo with a buffer into which blocks are read.
func (b *body) WriteTo(w io.Writer) (int64, error) {
	buf := b.s.bodies.get(b.s.opt.Block)[:b.s.opt.Block]
	defer b.s.bodies.put(buf)
	// The wrappers hide the methods that would make CopyBuffer bypass the buffer.
	return io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{b}, buf)
}

// errClosed is returned after Close.
var errClosed = errors.New("object: read after close")

// Close implements io.Closer.
func (b *body) Close() error {
	if b.err == errClosed {
		return nil
	}
	b.closeCopy()
	b.grace.end()
	if b.buffer != nil {
		b.s.bodies.put(b.buffer)
		b.buffer, b.held = nil, nil
	}
	b.err = errClosed
	return nil
}

// matchesDigests reports whether data is the content of these segments.
func matchesDigests(data []byte, segments []ledger.Segment) bool {
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
func (s *Store) cacheTTL(o ledger.Object, now lethe.Time) time.Duration {
	if o.Counted() {
		return 0
	}
	ttl := s.opt.CacheTTL
	if due := o.End(); due != 0 {
		ttl = min(ttl, due.Sub(now))
	}
	return ttl
}
