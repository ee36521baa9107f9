package object

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// maxPart is the highest number of a part.
const maxPart = 10000

// PutPart stores a part of an upload, replacing one of the same number. The body is
// verified as in Put. Errors: ErrNoSuchUpload, also if the upload was completed or
// aborted meanwhile; ErrInvalidPart for a number out of 1..10000; and those of a
// body and of backends as for Put.
func (s *Store) PutPart(ctx context.Context, r PartRequest) (ledger.Part, error) {
	part, err := s.putPart(ctx, &r)
	return part, named(fmt.Sprintf("put part %d of", r.Number), r.Bucket, r.Key, err)
}

func (s *Store) putPart(ctx context.Context, r *PartRequest) (ledger.Part, error) {
	if r.Number < 1 || r.Number > maxPart {
		return ledger.Part{}, fmt.Errorf("%w: its number is not in 1..%d", lethe.ErrInvalidPart, maxPart)
	}
	if _, err := s.ledger.Uploads.Upload(ctx, r.Bucket, r.Key, r.Upload); err != nil {
		return ledger.Part{}, err
	}
	if err := s.checkPartQuota(ctx, r); err != nil {
		return ledger.Part{}, err
	}
	part := &ledger.Part{UploadID: r.Upload, Number: r.Number}
	want := expected{block: s.opt.Block, size: r.Size, sha256: r.SHA256, md5: r.MD5}
	if r.Finish != nil {
		want.finish = func() (err error) {
			part.Checksums, err = r.Finish()
			return err
		}
	}
	in := newIntake(ctx, r.Body, want)
	u := &upload{size: in.want.size, intent: ledger.Intent{UploadID: r.Upload, Part: r.Number}}
	var data []byte
	if in.want.size <= s.opt.Small {
		var whole bool
		var err error
		held := s.bodyMemory.Account("")
		defer held.Close()
		data, whole, err = in.readSmall(&s.bodies, s.opt.Small, held)
		defer func() { s.bodies.put(data) }()
		if err != nil {
			return ledger.Part{}, err
		}
		if whole {
			u.size, u.data, u.digest = in.n, data, in.digest()
		}
	}
	if !in.ended() {
		u.stream = &streamed{in: in, begun: data}
	}
	return s.storePart(ctx, part, u, in)
}

// checkPartQuota refuses early a part that alone exceeds the bucket's quota, even if the
// upload replaces the object of its key. Completing decides on what passes here.
func (s *Store) checkPartQuota(ctx context.Context, r *PartRequest) error {
	b, err := s.ledger.Buckets.Bucket(ctx, r.Bucket)
	if err != nil || b.QuotaBytes == 0 || r.Size <= 0 || b.Bytes+r.Size <= b.QuotaBytes {
		return err
	}
	b.QuotaObjects = 0
	old, err := s.ledger.Objects.StatObject(ctx, r.Bucket, r.Key)
	switch {
	case errors.Is(err, lethe.ErrNoSuchKey):
		return checkQuota(b, r.Size, nil)
	case err != nil:
		return err
	}
	return checkQuota(b, r.Size, &old.Object)
}

// storePart sends a part's bytes and commits it; the body's end amends the part.
func (s *Store) storePart(ctx context.Context, part *ledger.Part, u *upload, in *intake) (ledger.Part, error) {
	var blobs []sent
	if u.size != 0 {
		b, err := s.send(ctx, u)
		if err != nil {
			return ledger.Part{}, err
		}
		blobs = []sent{b}
		part.BlobID = b.Blob
	}
	part.Size, part.ETag, part.Digest = in.n, in.etag(), in.digest()
	c := ledger.PartCommit{Op: s.newID(), Part: *part, CRC32C: in.sums.CRC32C(), Blocks: in.sums.Sums()}
	var stored ledger.Part
	end, err := s.settle(ctx, operation{op: c.Op, what: "part", run: func(ctx context.Context) (err error) {
		stored, err = s.ledger.Uploads.CommitPart(ctx, c)
		return err
	}})
	if err != nil {
		return ledger.Part{}, s.abandonBlobs(ctx, blobs, err)
	}
	if end.lookedUp {
		stored = *part
		stored.CreatedAt = end.outcome.At
	}
	return stored, nil
}

// readParts reads parts to their end, and records each as sound or suspect at once, so that a
// completion that is repeated goes on from there. ErrInvalidPart if one is missing or damaged.
func (s *Store) readParts(ctx context.Context, parts []ledger.Blob) (lost error) {
	for _, b := range parts {
		began := s.opt.Monotonic.Now()
		err := s.readBlob(ctx, b)
		switch {
		case err == nil:
			if _, err := s.ledger.Copies.MarkSound(ctx, []lethe.ID{b.ID}, s.opt.Monotonic.Now().Sub(began)); err != nil {
				return err
			}
		case damaged(err):
			s.doubt(ctx, b, err)
			lost = cmp.Or(lost, fmt.Errorf("%w: part %d: %w", lethe.ErrInvalidPart, b.Part, err))
		default:
			return fmt.Errorf("%w: part %d cannot be read: %w", lethe.ErrUnavailable, b.Part, err)
		}
	}
	return lost
}

// CopyPart stores a part from an existing object or a range of it. Errors are those
// of PutPart and Get; ErrPreconditionFailed, and ErrSource, if the source is another version.
// ErrCounted if reads of the source are counted.
func (s *Store) CopyPart(ctx context.Context, r PartCopyRequest) (ledger.Part, error) {
	rd, err := s.get(ctx, &GetRequest{Bucket: r.SourceBucket, Key: r.SourceKey, ID: r.SourceID, Range: r.Range, Check: Uncounted})
	if err != nil {
		err = fmt.Errorf("%w %s/%s: %w", ErrSource, r.SourceBucket, r.SourceKey, err)
		return ledger.Part{}, named(fmt.Sprintf("copy part %d of", r.Number), r.Bucket, r.Key, err)
	}
	defer rd.Body.Close()
	var body io.Reader = rd.Body
	if r.Wrap != nil {
		body = r.Wrap(body)
	}
	return s.PutPart(ctx, PartRequest{
		Bucket: r.Bucket, Key: r.Key, Upload: r.Upload, Number: r.Number,
		Body: body, Size: rd.Length, Finish: r.Finish,
	})
}
