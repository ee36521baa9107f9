package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

const (
	// partTries is how often a part is sent: the same bytes under the same number,
	// invisible before the upload is completed.
	partTries = 3
	// partsAtOnce is the most parts of one upload in flight.
	partsAtOnce = 4
	// completeTries is how often an upload is completed whose completion got no
	// clear response; in between it is checked whether it happened.
	completeTries = 3
)

// upload is a blob that is sent in parts.
type upload struct {
	key    string
	size   int64 // or blob.UnknownSize
	held   int64 // bytes of memory that one part may take, and that the Put holds
	first  []byte
	source *source

	over bool // replaces bytes under the key

	id    *string
	etag  string // once it is completed
	sent  int64
	parts []*types.CompletedPart
}

// partSize is large enough that the parts of a blob of this size suffice.
func (s *Store) partSize(size int64) int64 {
	return min(max(s.o.PartSize, (size+maxParts-1)/maxParts), maxPart)
}

// putParts sends a blob by a multipart upload. Before the upload is completed the
// key is absent: an earlier failure is certain.
func (s *Store) putParts(ctx context.Context, u upload) error {
	if !s.Capabilities().Multipart {
		return notDone("put", u.key, fmt.Errorf("it has more than %d bytes, and the service has no multipart uploads", len(u.first)))
	}
	if err := s.refuseExisting(ctx, u.key); err != nil {
		return err
	}
	asked, cancel := s.bounded(ctx, 0)
	out, err := s.client.CreateMultipartUpload(asked, &s3.CreateMultipartUploadInput{
		Bucket: &s.o.Bucket, Key: s.name(u.key), ContentType: aws.String("application/octet-stream"),
	})
	cancel()
	if err != nil {
		v := judge(ctx, err)
		v.certain = true
		return s.changing("put", u.key, v)
	}
	u.id = out.UploadId
	if err := s.sendParts(ctx, &u); err != nil {
		s.abort(ctx, u.key, u.id)
		return err
	}
	return s.complete(ctx, &u)
}

// sendParts reads the rest of the body while parts are sent, with as many buffers
// as there is memory for, and at least one.
func (s *Store) sendParts(ctx context.Context, u *upload) error {
	sending, ctx2 := errgroup.WithContext(ctx)
	free := make(chan []byte, partsAtOnce)
	buffers := 1
	defer func() { s.memory.Release(int64(buffers-1) * u.held) }()
	partSize := len(u.first)
	for data, more := u.first, true; ; {
		number := int32(len(u.parts) + 1)
		done := &types.CompletedPart{PartNumber: &number}
		u.parts = append(u.parts, done)
		u.sent += int64(len(data))
		part := data
		sending.Go(func() error {
			defer func() { free <- part[:partSize] }()
			var err error
			done.ETag, err = s.sendPart(ctx2, u, number, part)
			return err
		})
		if !more {
			break
		}
		if number == maxParts {
			return errors.Join(sending.Wait(), notDone("put", u.key, fmt.Errorf("it has more than %d parts of %d bytes; make the part size larger", maxParts, partSize)))
		}
		buf := s.buffer(free, &buffers, u.held, partSize)
		n, goesOn, err := 0, false, ctx2.Err()
		if err == nil {
			n, goesOn, err = u.source.fill(buf)
		}
		if err != nil {
			// The error of the failed part explains why the others were given up.
			if failed := sending.Wait(); failed != nil && ctx.Err() == nil {
				return failed
			}
			return notDone("put", u.key, err)
		}
		data, more = buf[:n], goesOn
	}
	return sending.Wait()
}

// buffer returns one that a part no longer uses, or a new one.
func (s *Store) buffer(free chan []byte, buffers *int, held int64, size int) []byte {
	select {
	case buf := <-free:
		return buf
	default:
	}
	if *buffers < partsAtOnce && s.memory.TryAcquire(held) {
		*buffers++
		return make([]byte, size)
	}
	return <-free
}

// sendPart sends one part, with retries.
func (s *Store) sendPart(ctx context.Context, u *upload, number int32, data []byte) (*string, error) {
	for try := range partTries {
		if err := mayChange(ctx); err != nil {
			return nil, notDone("put", u.key, err)
		}
		asked, cancel := s.bounded(ctx, int64(len(data)))
		out, err := s.client.UploadPart(asked, &s3.UploadPartInput{
			Bucket: &s.o.Bucket, Key: s.name(u.key), UploadId: u.id, PartNumber: &number,
			Body: bytes.NewReader(data), ContentLength: aws.Int64(int64(len(data))), ContentMD5: sumOf(data),
		})
		cancel()
		if err == nil && out.ETag == nil {
			return nil, notDone("put", u.key, fmt.Errorf("part %d: the service returned no ETag", number))
		}
		if err == nil {
			return out.ETag, nil
		}
		v := judge(ctx, err)
		v.certain = true
		if !v.again || try == partTries-1 || lethe.Sleep(ctx, max(v.wait, 200*time.Millisecond<<try)) != nil {
			return nil, s.changing(fmt.Sprintf("part %d of put", number), u.key, v)
		}
	}
	return nil, nil
}

// complete makes the blob of its parts.
func (s *Store) complete(ctx context.Context, u *upload) error {
	var last error
	for try := range completeTries {
		v, err := s.askComplete(ctx, u)
		switch {
		case err == nil:
			return nil
		case v.certain && try == 0:
			s.abort(ctx, u.key, u.id)
			if v.status == http.StatusPreconditionFailed {
				return fmt.Errorf("s3blob: put %s: %w", u.key, blob.ErrExist)
			}
			return s.changing("complete put", u.key, v)
		}
		if !v.certain {
			last = s.changing("complete put", u.key, v)
		}
		// It may have happened nonetheless; the name is not used elsewhere.
		done, err := s.completed(ctx, u)
		if done || err != nil {
			return err
		}
		if v.certain || lethe.Sleep(ctx, max(v.wait, 200*time.Millisecond<<try)) != nil {
			break
		}
	}
	s.abort(ctx, u.key, u.id)
	return last
}

func (s *Store) askComplete(ctx context.Context, u *upload) (verdict, error) {
	if err := mayChange(ctx); err != nil {
		return verdict{certain: true, text: err.Error(), err: err}, err
	}
	// Services may need long to join gigabytes.
	asked, cancel := s.bounded(ctx, u.sent/16)
	defer cancel()
	parts := make([]types.CompletedPart, len(u.parts))
	for i, part := range u.parts {
		parts[i] = *part
	}
	in := &s3.CompleteMultipartUploadInput{
		Bucket: &s.o.Bucket, Key: s.name(u.key), UploadId: u.id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	}
	if s.Capabilities().ConditionalComplete && !u.over {
		in.IfNoneMatch = aws.String("*")
	}
	out, err := s.client.CompleteMultipartUpload(asked, in)
	if err != nil {
		return judge(ctx, err), err
	}
	s.sawVersion(out.VersionId)
	u.etag = aws.ToString(out.ETag)
	return verdict{}, nil
}

// completed checks whether the upload was completed although the response was lost.
func (s *Store) completed(ctx context.Context, u *upload) (bool, error) {
	looking, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*s.o.Timeout)
	defer cancel()
	info, err := s.Stat(looking, u.key)
	switch {
	case err == nil && info.Size == u.sent:
		return true, nil
	case err == nil:
		return false, fmt.Errorf("s3blob: complete put %s: %w: %d bytes lie there, %d were sent", u.key, blob.ErrUnknown, info.Size, u.sent)
	}
	return false, nil
}

// abort aborts an upload. SweepUnfinished removes what it cannot.
func (s *Store) abort(ctx context.Context, key string, id *string) {
	asked, cancel := s.bounded(context.WithoutCancel(ctx), 0)
	defer cancel()
	_, _ = s.client.AbortMultipartUpload(asked, &s3.AbortMultipartUploadInput{Bucket: &s.o.Bucket, Key: s.name(key), UploadId: id})
}
