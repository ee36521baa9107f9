package s3blob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// copiesAtOnce is the most parts of one copy in flight: the service moves the
// bytes.
const copiesAtOnce = 16

// partCopy is a copy of an object in parts.
type partCopy struct {
	upload
	source *Store
	seen   blob.ForeignInfo
	each   int64
	// alike: the parts are those of the source, so that the ETags have to be equal.
	alike bool
}

// copyParts copies what one request cannot, each part only of the ETag that was
// seen. The key is empty before the upload is completed; an earlier failure aborts
// it.
func (s *Store) copyParts(ctx context.Context, c *partCopy, beside map[string]string) error {
	key, seen := c.key, c.seen
	if !s.Capabilities().Multipart {
		return notDone("copy", key, fmt.Errorf("%w: it has %d bytes, and the service has no multipart uploads", errors.ErrUnsupported, seen.Size))
	}
	if err := c.plan(ctx); err != nil {
		return err
	}
	asked, cancel := s.bounded(ctx, 0)
	out, err := s.client.CreateMultipartUpload(asked, &s3.CreateMultipartUploadInput{Bucket: &s.o.Bucket, Key: s.name(key), Metadata: seen.User}, with(beside))
	cancel()
	if err != nil {
		v := judge(ctx, err)
		v.certain = true
		return s.changing("copy", key, v)
	}
	c.id = out.UploadId
	if err := blob.Begun(ctx, aws.ToString(c.id)); err != nil {
		s.abort(ctx, key, c.id)
		return notDone("copy", key, err)
	}
	if err := s.sendCopies(ctx, c); err != nil {
		s.abort(ctx, key, c.id)
		return err
	}
	if v, err := s.askComplete(ctx, &c.upload); err != nil {
		s.abort(ctx, key, c.id)
		return s.notCopied(ctx, key, !c.over, v)
	}
	if c.alike && c.etag != "" && c.etag != seen.Tag {
		return fmt.Errorf("s3blob: copy %s: %w: the ETag of the copy is %s, that of the same parts was %s", key, blob.ErrUnknown, c.etag, seen.Tag)
	}
	return nil
}

// plan reads the size of the source's parts, which the copy's get as well if the
// service reports it.
func (c *partCopy) plan(ctx context.Context) error {
	o := c.source.o
	c.each = max(o.CopyPart, (c.seen.Size+maxParts-1)/maxParts)
	asked, cancel := c.source.bounded(ctx, 0)
	defer cancel()
	out, err := c.source.client.HeadObject(asked, &s3.HeadObjectInput{Bucket: &o.Bucket, Key: c.source.name(c.seen.Key), IfMatch: &c.seen.Tag, PartNumber: aws.Int32(1)})
	if err != nil {
		if v := judge(ctx, err); v.status == http.StatusNotFound || v.status == http.StatusPreconditionFailed {
			return c.source.notCopied(ctx, c.key, false, v)
		}
		return nil // not every service reports parts
	}
	first, parts := aws.ToInt64(out.ContentLength), int64(aws.ToInt32(out.PartsCount))
	if aws.ToString(out.ETag) != c.seen.Tag || first <= 0 || first > maxPart || parts < 2 || (c.seen.Size+first-1)/first != parts {
		return nil
	}
	c.each = first
	c.alike = plainTag(out)
	return nil
}

func (s *Store) sendCopies(ctx context.Context, c *partCopy) error {
	sending, ctx2 := errgroup.WithContext(ctx)
	sending.SetLimit(copiesAtOnce)
	for from := int64(0); from < c.seen.Size; from += c.each {
		part := &types.CompletedPart{PartNumber: aws.Int32(int32(len(c.parts) + 1))}
		c.parts = append(c.parts, part)
		sending.Go(func() (err error) {
			part.ETag, err = s.copyPart(ctx2, c, *part.PartNumber, from)
			return err
		})
	}
	return sending.Wait()
}

// copyPart has the service copy one part, with retries.
func (s *Store) copyPart(ctx context.Context, c *partCopy, number int32, from int64) (*string, error) {
	n := min(c.each, c.seen.Size-from)
	for try := 1; ; try++ {
		if err := mayChange(ctx); err != nil {
			return nil, notDone("copy", c.key, err)
		}
		asked, cancel := s.bounded(ctx, n/16)
		out, err := s.client.UploadPartCopy(asked, &s3.UploadPartCopyInput{
			Bucket: &s.o.Bucket, Key: s.name(c.key), UploadId: c.id, PartNumber: &number,
			CopySource: c.source.copySource(c.seen.Key), CopySourceIfMatch: &c.seen.Tag, CopySourceRange: aws.String(fmt.Sprintf("bytes=%d-%d", from, from+n-1)),
		})
		cancel()
		if err == nil {
			if out.CopyPartResult == nil || strings.Trim(aws.ToString(out.CopyPartResult.ETag), `"`) == "" {
				return nil, notDone("copy", c.key, fmt.Errorf("part %d: the service returned no ETag", number))
			}
			return out.CopyPartResult.ETag, nil
		}
		v := judge(ctx, err)
		v.certain = true // a part is invisible before the upload is completed
		if !v.again || try == partTries || lethe.Sleep(ctx, max(v.wait, 200*time.Millisecond<<try)) != nil {
			return nil, s.notCopied(ctx, c.key, false, v)
		}
	}
}
