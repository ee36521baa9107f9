package s3blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Get implements blob.Store. A download that ends early fails with an error that
// wraps blob.ErrDown; it is not resumed.
func (s *Store) Get(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	switch err := s.checkKey(key); {
	case err != nil:
		return nil, err
	case offset < 0 || length < -1:
		return nil, fmt.Errorf("s3blob: get %s: invalid range %d+%d", key, offset, length)
	case ctx.Err() != nil:
		return nil, fmt.Errorf("s3blob: get %s: %w", key, ctx.Err())
	case length == 0:
		return s.nothing(ctx, key)
	}
	// The body outlives the call, so the call's deadline does not bound it.
	reading, stop := context.WithCancelCause(ctx)
	late := time.AfterFunc(s.o.Timeout, func() { stop(errSlow) })
	out, err := s.client.GetObject(reading, &s3.GetObjectInput{Bucket: &s.o.Bucket, Key: s.name(key), Range: rangeOf(offset, length)})
	late.Stop()
	if err != nil {
		cause := context.Cause(reading)
		stop(nil)
		return s.noBody(ctx, key, offset, errors.Join(err, cause))
	}
	rest, err := content(out, offset, length)
	if err != nil {
		stop(nil)
		_ = out.Body.Close()
		return nil, fmt.Errorf("s3blob: get %s: %w: %w", key, blob.ErrDown, err)
	}
	b := &body{s: s, ctx: ctx, key: key, from: out.Body, left: rest, stop: stop}
	b.idle = time.AfterFunc(s.o.Timeout, func() { stop(errSlow) })
	if err := b.skip(out, offset); err != nil {
		_ = b.Close()
		return nil, err
	}
	return b, nil
}

// nothing returns an empty body, for which S3 has no range.
func (s *Store) nothing(ctx context.Context, key string) (io.ReadCloser, error) {
	if _, err := s.Stat(ctx, key); err != nil {
		return nil, err
	}
	return http.NoBody, nil
}

// noBody handles a Get that the service refused: beyond the end there are no bytes,
// which is no error.
func (s *Store) noBody(ctx context.Context, key string, offset int64, err error) (io.ReadCloser, error) {
	v := judge(ctx, err)
	switch {
	case v.status == http.StatusRequestedRangeNotSatisfiable:
		return http.NoBody, nil
	case v.is("NoSuchKey"):
		return nil, fmt.Errorf("s3blob: get %s: %w", key, blob.ErrNotExist)
	case v.status == http.StatusNotFound:
		v.down = true
	}
	return nil, s.reading("get", key, v)
}

func rangeOf(offset, length int64) *string {
	switch {
	case offset == 0 && length < 0:
		return nil
	case length < 0:
		return aws.String(fmt.Sprintf("bytes=%d-", offset))
	}
	return aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+length-1))
}

// content returns how many bytes of the response belong to the range. What is not
// known to be whole is refused.
func content(out *s3.GetObjectOutput, offset, length int64) (int64, error) {
	if out.ContentRange != nil {
		var first, last int64
		var size string
		if _, err := fmt.Sscanf(*out.ContentRange, "bytes %d-%d/%s", &first, &last, &size); err != nil || first != offset || last < first {
			return 0, fmt.Errorf("asked for bytes from %d on, the service returned %q", offset, *out.ContentRange)
		}
		if n, err := strconv.ParseInt(size, 10, 64); err == nil && last != n-1 && (length < 0 || last != offset+length-1) {
			return 0, fmt.Errorf("asked for %d bytes from %d on, the service returned %q", length, offset, *out.ContentRange)
		}
		return last - first + 1, nil
	}
	if out.ContentLength == nil || *out.ContentLength < 0 {
		return 0, errors.New("the service does not report the length of the body")
	}
	// The range was ignored: all bytes come.
	rest := max(*out.ContentLength-offset, 0)
	if length >= 0 {
		rest = min(rest, length)
	}
	return rest, nil
}

// body is a download in flight.
type body struct {
	s    *Store
	ctx  context.Context // the caller's
	key  string
	from io.ReadCloser
	left int64
	idle *time.Timer
	stop context.CancelCauseFunc
}

// skip discards what lies before the range, if a service sent all bytes.
func (b *body) skip(out *s3.GetObjectOutput, offset int64) error {
	if out.ContentRange != nil || offset == 0 || b.left == 0 {
		return nil
	}
	if _, err := io.CopyN(io.Discard, b.from, offset); err != nil {
		return b.broke(err)
	}
	return nil
}

// Read implements io.Reader. It succeeds only after as many bytes as the service
// announced.
func (b *body) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	b.idle.Reset(b.s.o.Timeout)
	n, err := b.from.Read(p)
	b.idle.Stop()
	b.left -= int64(n)
	switch {
	case b.left == 0:
		return n, nil
	case err == io.EOF:
		return n, b.broke(io.ErrUnexpectedEOF)
	case err != nil:
		return n, b.broke(err)
	}
	return n, nil
}

func (b *body) broke(err error) error {
	if b.ctx.Err() != nil {
		return fmt.Errorf("s3blob: get %s: %w", b.key, b.ctx.Err())
	}
	return fmt.Errorf("s3blob: get %s: %w: %d bytes before its end: %w", b.key, blob.ErrDown, b.left, err)
}

// Close implements io.Closer.
func (b *body) Close() error {
	b.idle.Stop()
	err := b.from.Close()
	b.stop(nil)
	return err
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, key string) (blob.Info, error) {
	if err := s.checkKey(key); err != nil {
		return blob.Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return blob.Info{}, fmt.Errorf("s3blob: stat %s: %w", key, err)
	}
	// A second attempt, if the name was put between the two requests of the first.
	for range 3 {
		info, found, err := s.head(ctx, key)
		if err != nil || found {
			return info, err
		}
		absent, err := s.absent(ctx, key)
		switch {
		case err != nil:
			return blob.Info{}, err
		case absent:
			return blob.Info{}, fmt.Errorf("s3blob: stat %s: %w", key, blob.ErrNotExist)
		}
	}
	return blob.Info{}, fmt.Errorf("s3blob: stat %s: HEAD and GET contradict each other", key)
}

// head requests the object's description; found is false after a 404. That proves
// nothing yet: it has no body that names what was not found.
func (s *Store) head(ctx context.Context, key string) (info blob.Info, found bool, err error) {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	out, err := s.client.HeadObject(asked, &s3.HeadObjectInput{Bucket: &s.o.Bucket, Key: s.name(key)})
	if err == nil {
		if out.ContentLength == nil {
			return blob.Info{}, false, fmt.Errorf("s3blob: stat %s: the service does not report its length", key)
		}
		info = blob.Info{Key: key, Size: *out.ContentLength}
		if out.LastModified != nil {
			info.ModTime = lethe.FromTime(*out.LastModified)
		}
		return info, true, nil
	}
	v := judge(ctx, err)
	if v.status == http.StatusNotFound {
		return blob.Info{}, false, nil
	}
	return blob.Info{}, false, s.reading("stat", key, v)
}

// absent finds out what was not found: the key, the bucket, or the service.
func (s *Store) absent(ctx context.Context, key string) (bool, error) {
	return s.absentName(ctx, *s.name(key))
}

func (s *Store) absentName(ctx context.Context, name string) (bool, error) {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	out, err := s.client.GetObject(asked, &s3.GetObjectInput{Bucket: &s.o.Bucket, Key: &name, Range: aws.String("bytes=0-0")})
	if err == nil {
		_ = out.Body.Close()
		return false, nil
	}
	v := judge(ctx, err)
	switch {
	case v.is("NoSuchKey"):
		return true, nil
	case v.status == http.StatusRequestedRangeNotSatisfiable:
		return false, nil
	case v.status == http.StatusNotFound:
		v.down = true
		if !strings.HasPrefix(v.code, "NoSuch") {
			v.text = "the server there does not speak S3; correct the endpoint: " + v.text
		}
	}
	return false, s.reading("stat", name, v)
}
