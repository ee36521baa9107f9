package object

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// Copy makes an object of another one's content: by reference where the ledger can,
// else by copying the bytes. The copy has the source's ETag. A copy onto itself
// changes the object in place. Errors: ErrNoSuchBucket and ErrNoSuchKey of either
// side; ErrPreconditionFailed, and ErrSource if the source is another version; ErrCounted if
// reads of the source are counted, or were to be by a copy onto itself; and those of Get and
// Put.
func (s *Store) Copy(ctx context.Context, r CopyRequest) (PutResult, error) {
	res, err := s.copy(ctx, &r)
	return res, named("copy "+r.SourceBucket+"/"+r.SourceKey+" to", r.Bucket, r.Key, err)
}

// copyTries bounds how often a copy starts again because its source was replaced
// after it was resolved.
const copyTries = 5

func (s *Store) copy(ctx context.Context, r *CopyRequest) (PutResult, error) {
	if err := ledger.CheckKey(r.Key); err != nil {
		return PutResult{}, err
	}
	for n := 1; ; n++ {
		src, err := s.source(ctx, r)
		if err != nil {
			return PutResult{}, err
		}
		s.used(src) // before the copy, which may take longer than a note may
		res, err := s.copyVersion(ctx, r, src.Object)
		if n == copyTries || !errors.Is(err, errReplaced) {
			return res, err
		}
	}
}

// ErrSource marks an error that is about the source of a copy.
var ErrSource = errors.New("source")

// source returns the object to copy from.
func (s *Store) source(ctx context.Context, r *CopyRequest) (ledger.Resolved, error) {
	src, err := s.head(ctx, &GetRequest{Bucket: r.SourceBucket, Key: r.SourceKey, ID: r.SourceID, Check: Uncounted})
	if err != nil {
		return src, fmt.Errorf("%w: %w", ErrSource, err)
	}
	return src, nil
}

// Uncounted returns ErrCounted for an object whose reads are counted: it cannot be
// copied.
func Uncounted(o ledger.Object) error {
	if !o.Counted() {
		return nil
	}
	return fmt.Errorf("%w: a copy would be read without being counted", lethe.ErrCounted)
}

// copyVersion copies exactly this version of the source: errReplaced if it is gone.
func (s *Store) copyVersion(ctx context.Context, r *CopyRequest, from ledger.Object) (PutResult, error) {
	if r.SourceBucket == r.Bucket && r.SourceKey == r.Key {
		return s.copyInPlace(ctx, r, from)
	}
	c := ledger.Commit{Op: s.newID(), What: "copy", If: r.If, Into: r.BucketID, TTL: r.TTL, ByKey: r.ByKey, Object: r.object(from)}
	if from.Size > 0 {
		c.Source = &ledger.Source{Bucket: r.SourceBucket, Key: r.SourceKey, ID: from.ID}
	}
	res, err := s.commit(ctx, c, nil)
	if errors.Is(err, lethe.ErrUnverified) && s.verify(ctx, from) == nil {
		res, err = s.commit(ctx, c, nil)
	}
	switch {
	case err == nil && from.Size > 0:
		s.events.deduped(res.Object, false)
	case errors.Is(err, lethe.ErrContentGone):
		return s.copyBytes(ctx, r, from)
	case errors.Is(err, lethe.ErrNoSuchKey):
		return res, errReplaced
	}
	return res, err
}

// verify reads a copy of each segment of an object to its end, and records the intact ones
// as verified, so that the content can be referenced without its bytes again
// (docs/protocol.md, rule 17). Missing or damaged ones are marked suspect.
func (s *Store) verify(ctx context.Context, o ledger.Object) error {
	res, err := s.again(ctx, o)
	if err != nil {
		return err
	}
	var whole []lethe.ID
	began := s.opt.Monotonic.Now()
	for _, seg := range res.Segments {
		id, err := s.verifySegment(ctx, seg)
		if err != nil {
			return err
		}
		whole = append(whole, id)
	}
	_, err = s.ledger.Copies.MarkSound(ctx, whole, s.opt.Monotonic.Now().Sub(began))
	return err
}

// verifySegment reads copies of a segment until one is intact.
func (s *Store) verifySegment(ctx context.Context, seg ledger.Segment) (lethe.ID, error) {
	var failures []error
	for _, b := range seg.Blobs {
		err := s.readBlob(ctx, b)
		if err == nil {
			return b.ID, nil
		}
		failures = append(failures, fmt.Errorf("blob %s on %s: %w", b.ID, b.Backend, err))
		s.doubt(ctx, b, err)
	}
	return "", fmt.Errorf("no copy could be verified: %w", errors.Join(failures...))
}

// readBlob reads a blob to its end and compares its digest with its row.
func (s *Store) readBlob(ctx context.Context, b ledger.Blob) error {
	in, err := s.openBlob(ctx, b, 0, -1)
	if err != nil {
		return err
	}
	defer in.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, in); err != nil {
		return err
	}
	if have := hex.EncodeToString(sum.Sum(nil)); have != b.Digest {
		return fmt.Errorf("%w: its SHA-256 is %s, not %s", lethe.ErrCorrupt, have, b.Digest)
	}
	return nil
}

// object returns what the copy of from will be.
func (r *CopyRequest) object(from ledger.Object) ledger.Object {
	o := ledger.Object{
		Bucket: r.Bucket, Key: r.Key, Size: from.Size, ETag: from.ETag,
		TTLAt: r.TTLAt, ReadsLeft: r.Reads, IdleFor: r.Idle, Attrs: r.attrs(from), Tags: from.Tags,
	}
	if r.Tags != nil {
		o.Tags = *r.Tags
	}
	if r.KeepTTL && r.TTL == 0 && r.TTLAt == 0 {
		o.TTLAt = from.TTLAt
	}
	if r.KeepTTL && r.Idle == 0 {
		o.IdleFor = from.IdleFor
	}
	return o
}

// attrs returns the copy's attributes. Those that belong to the bytes always come
// from the source.
func (r *CopyRequest) attrs(from ledger.Object) ledger.Attrs {
	if r.Attrs == nil {
		return from.Attrs
	}
	a := *r.Attrs
	a.Parts = from.Attrs.Parts
	if a.Checksums == nil {
		a.Checksums, a.ChecksumType = from.Attrs.Checksums, from.Attrs.ChecksumType
	}
	if a.ChecksumType != from.Attrs.ChecksumType || !maps.Equal(a.Checksums, from.Attrs.Checksums) {
		// Those of the parts no longer make up the whole's.
		a.Parts = slices.Clone(a.Parts)
		for i := range a.Parts {
			a.Parts[i].Checksums = nil
		}
	}
	return a
}

// copyBytes reads and writes the source's bytes, verified on the way.
func (s *Store) copyBytes(ctx context.Context, r *CopyRequest, from ledger.Object) (PutResult, error) {
	src, err := s.again(ctx, from)
	if err != nil {
		return PutResult{}, err
	}
	rd, err := s.open(ctx, src, window{0, src.Object.Size})
	if err != nil {
		return PutResult{}, fmt.Errorf("source: %w", err)
	}
	defer rd.Body.Close()
	o := r.object(from)
	p := PutRequest{
		What: "copy", Bucket: o.Bucket, BucketID: r.BucketID, Key: o.Key, Body: rd.Body, Size: o.Size,
		Attrs: o.Attrs, Tags: o.Tags, TTL: r.TTL, TTLAt: o.TTLAt, Reads: o.ReadsLeft, Idle: o.IdleFor, ByKey: r.ByKey, If: r.If,
	}
	if len(src.Segments) == 1 {
		p.SHA256 = src.Segments[0].Digest
	}
	return s.put(ctx, &p, o.ETag)
}

// copyInPlace changes the version that was resolved without making another one.
func (s *Store) copyInPlace(ctx context.Context, r *CopyRequest, from ledger.Object) (PutResult, error) {
	if err := ledger.CheckBucketID(r.Bucket, from.BucketID, r.BucketID); err != nil {
		return PutResult{}, err
	}
	if err := r.If.Holds(&from); err != nil {
		return PutResult{}, err
	}
	if r.Reads != 0 {
		return PutResult{}, fmt.Errorf("%w from the first write on: write the object anew", lethe.ErrCounted)
	}
	attrs := r.attrs(from)
	u := ledger.Update{
		Bucket: r.Bucket, Into: r.BucketID, Key: r.Key, Attrs: &attrs, Tags: r.Tags,
		If: ledger.Precondition{IfID: from.ID},
	}
	r.newEnds(&u)
	o, err := s.update(ctx, u)
	if errors.Is(err, lethe.ErrPreconditionFailed) || errors.Is(err, lethe.ErrNoSuchKey) {
		return PutResult{}, errReplaced
	}
	if err != nil {
		return PutResult{}, err
	}
	s.events.committed(o, true)
	return PutResult{Object: o, Duplicate: true}, nil
}

// newEnds sets the time to live and the idle time that a copy onto itself requests. Like
// every new object it takes the defaults where it requests none.
func (r *CopyRequest) newEnds(u *ledger.Update) {
	if !r.KeepTTL || r.TTL != 0 || r.TTLAt != 0 {
		u.TTL = &ledger.TTLChange{TTL: r.TTL, At: r.TTLAt, ByKey: r.ByKey, AsNew: true}
	}
	if !r.KeepTTL || r.Idle != 0 {
		u.Idle = &ledger.IdleChange{Idle: r.Idle, AsNew: true}
	}
}
