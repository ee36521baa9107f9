package placement

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
)

// bookTime bounds what is recorded of a copy after a stop was requested.
const bookTime = 10 * time.Second

// errSource marks a failure of the copy that was read: another copy may do.
var errSource = errors.New("the copy could not be read")

// copier makes one copy under the claim of a subject.
type copier struct {
	o     *Options
	fence int64    // 0: there is no claim
	id    lethe.ID // of the subject
}

// copy makes a copy of src on a backend: the intent, the bytes, the commit
// (docs/protocol.md, rules 1 and 2). On an error nothing is left that the reaper
// and the cleaner do not find.
func (c *copier) copy(ctx context.Context, src ledger.Blob, to string) (ledger.Blob, error) {
	body, err := c.open(ctx, src)
	if err != nil {
		return ledger.Blob{}, err
	}
	defer body.Close()
	return c.write(ctx, body, to)
}

// write makes the copy of what is read. Bytes from the ledger are those of a blob without id.
func (c *copier) write(ctx context.Context, body *verifiedReader, to string) (ledger.Blob, error) {
	store := c.o.Stores[to]
	if store == nil {
		return ledger.Blob{}, fmt.Errorf("backend %q is not configured: %w", to, lethe.ErrUnavailable)
	}
	id, src, inline := c.o.NewID(), body.src, lethe.ID("")
	if src.ID == "" {
		inline = src.ContentID
	}
	b, err := c.o.Ledger.Copies.BeginCopy(ctx, ledger.CopyIntent{
		ID: id, Backend: to, Source: src.ID, Fence: c.fence, Lease: c.o.Lease, Inline: inline, CRC32C: src.CRC32C,
	})
	if err != nil {
		if errors.Is(err, lethe.ErrUnknownOutcome) {
			_ = c.abandon(ctx, id, false) // no byte was sent
		}
		return ledger.Blob{}, fmt.Errorf("begin: %w", err)
	}
	mayBeReaped, late, err := c.send(ctx, body, store, id)
	if err == nil && inline != "" {
		// The commit removes the only other copy, at once.
		err = c.readBack(ctx, b)
	}
	if err == nil {
		err = c.o.Ledger.Copies.CommitCopy(ctx, ledger.CopyCommit{Blob: id, Source: src.ID, Inline: inline, Digest: src.Digest, Blocks: body.blocks.Sums(), Fence: c.fence, Lease: c.o.Lease})
	}
	if err != nil {
		// If the commit did happen, no pending row is found here.
		lost := c.abandon(ctx, id, late)
		if mayBeReaped && lost != nil {
			c.condemnLate(ctx, b)
		}
		if !errors.Is(lost, lethe.ErrReaped) {
			c.unrecorded(b, "abandon", lost)
		}
		return ledger.Blob{}, err
	}
	return b, nil
}

// send streams the bytes. late reports whether they may land after the error,
// mayBeReaped whether the reaper may have taken the intent before they were sent.
func (c *copier) send(ctx context.Context, body *verifiedReader, to blob.Store, id lethe.ID) (mayBeReaped, late bool, err error) {
	body.beat = id
	err = to.Put(blob.WithCheck(ctx, body.keepAlive), lethe.BlobKey(c.o.Store, id), body, body.src.Size)
	late = blob.Unknown(err)
	mayBeReaped = (err == nil || late) && c.o.Clock.Now().Sub(body.last) > c.o.MinAge/2
	switch {
	case body.err != nil:
		return mayBeReaped, late, body.err
	case err == nil && !body.ended:
		return mayBeReaped, late, errors.New("the backend did not read the bytes to their end")
	}
	return mayBeReaped, late, err
}

// abandon gives up a copy, even after ctx has ended. If that fails the reaper
// resolves it. After a lost answer it is called once more: ErrReaped then means
// that the ledger has recorded it.
func (c *copier) abandon(ctx context.Context, id lethe.ID, late bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTime)
	defer cancel()
	err := c.o.Ledger.Copies.Abandon(ctx, id, late)
	if errors.Is(err, lethe.ErrUnknownOutcome) {
		err = c.o.Ledger.Copies.Abandon(ctx, id, late)
	}
	return err
}

// condemnLate gives a row to a copy whose intent may have been reaped while its
// bytes were in flight (docs/protocol.md, rule 19). If the ledger does not answer,
// reconcile finds the bytes.
func (c *copier) condemnLate(ctx context.Context, b ledger.Blob) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bookTime)
	defer cancel()
	late := ledger.LateBytes{Blob: b.ID, Backend: b.Backend, Size: b.Size}
	err := c.o.Ledger.Copies.CondemnLate(ctx, late)
	if errors.Is(err, lethe.ErrUnknownOutcome) {
		err = c.o.Ledger.Copies.CondemnLate(ctx, late)
	}
	c.unrecorded(b, "late", err)
}

// unrecorded reports that the ledger could not record what became of a copy, unless
// err is nil.
func (c *copier) unrecorded(b ledger.Blob, stage string, err error) {
	if err != nil && c.o.Events.Unrecorded != nil {
		c.o.Events.Unrecorded(b, stage, err)
	}
}

// verifiedReader is a copy that is read as a whole. It ends without error only if its size
// and digest match its row.
type verifiedReader struct {
	c   *copier
	ctx context.Context
	in  io.ReadCloser
	src ledger.Blob
	sum hash.Hash
	n   int64
	// blocks computes the sums of the bytes read, for the copy that is made of
	// them.
	blocks *lethe.BlockHash
	ended  bool
	err    error
	last   lethe.Time // heartbeat
	beat   lethe.ID   // the copy that is being made of it, if any
}

// open opens a copy to be read as a whole.
func (c *copier) open(ctx context.Context, src ledger.Blob) (*verifiedReader, error) {
	store := c.o.Stores[src.Backend]
	if store == nil {
		return nil, fmt.Errorf("%w: backend %q is not configured: %w", errSource, src.Backend, lethe.ErrUnavailable)
	}
	r := c.verified(ctx, nil, src)
	if err := r.pace(); err != nil {
		return nil, err
	}
	in, err := store.Get(ctx, lethe.BlobKey(c.o.Store, src.ID), 0, -1)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSource, err)
	}
	r.in = in
	return r, nil
}

// paceSize is in bytes: few enough that the claim is kept while a rate limit waits for them.
const paceSize = 1 << 20

// pace waits as long as the rate limit requires for all bytes, and keeps the claim meanwhile.
func (r *verifiedReader) pace() error {
	if r.c.o.Throttle == nil {
		return nil
	}
	for left := r.src.Size; left > 0; left -= paceSize {
		if err := r.c.o.Throttle(r.ctx, min(left, paceSize)); err != nil {
			return err
		}
		if err := r.keepAlive(); err != nil {
			return err
		}
	}
	return nil
}

func (c *copier) verified(ctx context.Context, in io.ReadCloser, src ledger.Blob) *verifiedReader {
	return &verifiedReader{c: c, ctx: ctx, in: in, src: src, sum: sha256.New(), blocks: lethe.NewBlockHash(cmp.Or(src.Block, lethe.BlockSize)), last: c.o.Clock.Now()}
}

// Read implements io.Reader.
func (r *verifiedReader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.in.Read(p)
	// However long the read took: bytes of a copy that was given up meanwhile must
	// not be sent, or they would land after the late window.
	if r.err = r.keepAlive(); r.err != nil {
		return 0, r.err
	}
	r.n += int64(n)
	r.sum.Write(p[:n])
	r.blocks.Write(p[:n])
	switch {
	case err == io.EOF:
		if r.err = r.verifyCopy(); r.err != nil {
			return 0, r.err
		}
		r.ended = true
		return n, io.EOF
	case err != nil:
		r.err = fmt.Errorf("%w: %w", errSource, err)
	case r.n > r.src.Size:
		r.err = r.verifyCopy()
	}
	return n, r.err
}

func (r *verifiedReader) verifyCopy() error {
	digest := hex.EncodeToString(r.sum.Sum(nil))
	if r.n == r.src.Size && digest == r.src.Digest {
		return nil
	}
	return fmt.Errorf("%w: %w: blob %s on %s has %d bytes with SHA-256 %s, not %d with %s",
		errSource, lethe.ErrCorrupt, r.src.ID, r.src.Backend, r.n, digest, r.src.Size, r.src.Digest)
}

// keepAlive renews the claim, and the heartbeat of the copy in flight.
func (r *verifiedReader) keepAlive() error {
	now := r.c.o.Clock.Now()
	if now.Sub(r.last) < r.c.o.Beat {
		return nil
	}
	r.last = now
	if r.c.fence != 0 {
		if err := r.c.o.Ledger.Queue.KeepPlacement(r.ctx, r.c.id, r.c.fence, r.c.o.Lease); err != nil {
			return err
		}
	}
	if r.beat == "" {
		return nil
	}
	return r.c.o.Ledger.Copies.Beat(r.ctx, r.beat, 0)
}

// Close implements io.Closer.
func (r *verifiedReader) Close() error { return r.in.Close() }

// readBack reads a copy to its end and compares it with its row.
func (c *copier) readBack(ctx context.Context, b ledger.Blob) error {
	body, err := c.open(ctx, b)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = io.Copy(io.Discard, body)
	return err
}
