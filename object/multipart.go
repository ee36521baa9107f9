package object

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// CreateUpload opens a multipart upload: ErrNoSuchBucket, ErrInvalidKey,
// ErrInvalidTTL, ErrInvalidReads.
func (s *Store) CreateUpload(ctx context.Context, r UploadRequest) (ledger.Upload, error) {
	if err := ledger.CheckKey(r.Key); err != nil {
		return ledger.Upload{}, named("create upload", r.Bucket, r.Key, err)
	}
	u, err := s.ledger.Uploads.CreateUpload(ctx, ledger.Upload{
		ID: s.newID(), BucketID: r.BucketID, Bucket: r.Bucket, Key: r.Key, Owner: r.Owner,
		Attrs: r.Attrs, Tags: r.Tags, TTL: r.TTL, TTLAt: r.TTLAt, Reads: r.Reads, Idle: r.Idle, ByKey: r.ByKey,
	})
	return u, named("create upload", r.Bucket, r.Key, err)
}

// Complete makes an object of exactly the named parts and condemns the others. If
// it is repeated after success it returns the object, if that still has its key.
// Errors: ErrNoSuchUpload, ErrInvalidPart, ErrInvalidPartOrder, ErrPartTooSmall,
// ErrIncompleteBody or ErrTooLarge if the total is not Size, those of the ledger's
// Commit, ErrUnknownOutcome.
func (s *Store) Complete(ctx context.Context, r CompleteRequest) (PutResult, error) {
	res, err := s.complete(ctx, &r)
	return res, named("complete upload of", r.Bucket, r.Key, err)
}

func (s *Store) complete(ctx context.Context, r *CompleteRequest) (PutResult, error) {
	up, err := s.ledger.Uploads.Upload(ctx, r.Bucket, r.Key, r.Upload)
	if errors.Is(err, lethe.ErrNoSuchUpload) {
		return s.completed(ctx, r, err)
	}
	if err != nil {
		return PutResult{}, err
	}
	parts, err := s.chosen(ctx, r)
	if errors.Is(err, lethe.ErrInvalidPart) {
		// Parts go with their upload, which another completion may just have ended.
		if _, gone := s.ledger.Uploads.Upload(ctx, r.Bucket, r.Key, r.Upload); errors.Is(gone, lethe.ErrNoSuchUpload) {
			return s.completed(ctx, r, gone)
		}
	}
	if err != nil {
		return PutResult{}, err
	}
	c, err := r.completion(up, parts)
	if err != nil {
		return PutResult{}, err
	}
	c.MinPart, c.Commit.Reach = s.opt.MinPart, s.reach()
	var made ledger.Committed
	o := operation{op: c.Op, what: "complete", run: func(ctx context.Context) error {
		return s.withRoom(ctx, "", func(ctx context.Context) (err error) {
			made, err = s.ledger.Uploads.Complete(ctx, c)
			return err
		})
	}}
	end, err := s.settle(ctx, o)
	if doubted := ledger.UnreadParts(err); len(doubted) > 0 {
		if err := s.readParts(ctx, doubted); err != nil {
			return PutResult{}, err
		}
		if end, err = s.settle(ctx, o); errors.Is(err, lethe.ErrUnverified) {
			err = fmt.Errorf("%w: %w", lethe.ErrUnavailable, err) // there is a new doubt
		}
	}
	switch {
	case errors.Is(err, lethe.ErrNoSuchUpload):
		return s.completed(ctx, r, err)
	case err != nil:
		return PutResult{}, err
	case end.lookedUp:
		made.Object = s.recorded(ctx, c.Commit, end.outcome)
	}
	return s.made(ctx, made), nil
}

// completed handles a completion of an upload that is gone. If these parts
// completed it and its object still has its key, it returns that object. The
// operation's id derives from the upload's, so that a client that repeats a
// completion after a lost response gets its true result.
func (s *Store) completed(ctx context.Context, r *CompleteRequest, gone error) (PutResult, error) {
	out, found, err := s.ledger.Intents.Outcome(ctx, completionOp(r.Upload))
	if err != nil || !found {
		return PutResult{}, errors.Join(gone, err)
	}
	res, err := s.ledger.Objects.StatObject(ctx, r.Bucket, r.Key)
	if err != nil || res.Object.ID != out.ObjectID || res.Object.ETag != r.etag() {
		return PutResult{}, gone
	}
	return PutResult{Object: res.Object}, nil
}

// completionOp is the id of the operation that completes an upload; only one can
// succeed.
func completionOp(upload lethe.ID) lethe.ID {
	sum := sha256.Sum256([]byte("complete " + upload))
	return lethe.NewID(upload.Made(), strings.NewReader(string(sum[:])))
}

// chosen returns the stored parts that the request names, in its order.
func (s *Store) chosen(ctx context.Context, r *CompleteRequest) ([]ledger.Part, error) {
	names := make([]ledger.PartName, len(r.Parts))
	for i, name := range r.Parts {
		names[i] = ledger.PartName{Number: name.Number, ETag: strings.Trim(name.ETag, `"`)}
	}
	stored, err := s.stored(ctx, r.Upload)
	if err != nil {
		return nil, err
	}
	return ledger.Completion{Parts: names, MinPart: s.opt.MinPart}.Choose(stored)
}

// stored returns all parts of an upload.
func (s *Store) stored(ctx context.Context, upload lethe.ID) ([]ledger.Part, error) {
	const page = 1000
	var all []ledger.Part
	for after := 0; ; {
		parts, err := s.ledger.Uploads.Parts(ctx, upload, after, page)
		if err != nil {
			return nil, err
		}
		all = append(all, parts...)
		if len(parts) < page {
			return all, nil
		}
		after = parts[len(parts)-1].Number
	}
}

// completion is the transaction that completes the upload with the parts.
func (r *CompleteRequest) completion(up ledger.Upload, parts []ledger.Part) (ledger.Completion, error) {
	attrs := up.Attrs
	attrs.Parts = make([]ledger.PartAttrs, len(parts))
	names := make([]ledger.PartName, len(parts))
	var size int64
	for i, p := range parts {
		attrs.Parts[i] = ledger.PartAttrs{Number: p.Number, Size: p.Size, Checksums: p.Checksums}
		names[i] = ledger.PartName{Number: p.Number, ETag: p.ETag}
		size += p.Size
	}
	switch {
	case r.Size == 0:
	case size < r.Size:
		return ledger.Completion{}, fmt.Errorf("%w: %d of %d bytes", lethe.ErrIncompleteBody, size, r.Size)
	case size > r.Size:
		return ledger.Completion{}, fmt.Errorf("%w: %d bytes, not %d", lethe.ErrTooLarge, size, r.Size)
	}
	if r.Finish != nil {
		if err := r.Finish(parts, &attrs); err != nil {
			return ledger.Completion{}, err
		}
	}
	op := completionOp(r.Upload)
	return ledger.Completion{
		Op: op, UploadID: r.Upload, Bucket: r.Bucket, Key: r.Key, Parts: names,
		Commit: ledger.Commit{
			Op: op, What: "complete", If: r.If, TTL: up.TTL, ByKey: r.ByKey,
			Object: ledger.Object{
				Bucket: r.Bucket, Key: r.Key, Size: size, ETag: r.etag(),
				TTLAt: up.TTLAt, ReadsLeft: up.Reads, IdleFor: up.Idle, Attrs: attrs, Tags: up.Tags,
			},
		},
	}, nil
}

// etag is the object's ETag as in S3: the MD5 of the parts' MD5s, "-", and their
// number.
func (r *CompleteRequest) etag() string {
	sum := md5.New()
	for _, p := range r.Parts {
		b, err := hex.DecodeString(strings.Trim(p.ETag, `"`))
		if err == nil {
			sum.Write(b)
		}
	}
	return fmt.Sprintf("%x-%d", sum.Sum(nil), len(r.Parts))
}

// Abort aborts an upload and condemns its parts, stored or in flight:
// ErrNoSuchUpload, ErrUnknownOutcome.
func (s *Store) Abort(ctx context.Context, bucket, key string, id lethe.ID) error {
	op := s.newID()
	_, err := s.settle(ctx, operation{op: op, what: "abort", run: func(ctx context.Context) error {
		return s.ledger.Uploads.AbortUpload(ctx, op, bucket, key, id)
	}})
	return named("abort upload of", bucket, key, err)
}

// Uploads lists open uploads of a bucket by key, then id.
func (s *Store) Uploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.Upload, error) {
	return s.ledger.Uploads.Uploads(ctx, q)
}

// Parts returns an upload and a page of its parts in ascending order:
// ErrNoSuchUpload.
func (s *Store) Parts(ctx context.Context, q PartQuery) (ledger.Upload, []ledger.Part, error) {
	up, err := s.ledger.Uploads.Upload(ctx, q.Bucket, q.Key, q.Upload)
	if err != nil {
		return up, nil, named("parts of", q.Bucket, q.Key, err)
	}
	parts, err := s.ledger.Uploads.Parts(ctx, q.Upload, q.After, q.Limit)
	return up, parts, named("parts of", q.Bucket, q.Key, err)
}
