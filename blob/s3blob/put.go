package s3blob

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Put implements blob.Store. Nothing is sent before a part of the body, or all of
// it, was read, so that a body that fails leaves nothing.
//
// Where the service supports If-None-Match (Capabilities.ConditionalPut), it
// refuses to overwrite. Elsewhere Put looks the name up first, and serializes the
// Puts of one name in this process. Two processes that put under one name at the
// same time are kept apart only by the names, which are random and used once.
//
// A request whose response is lost is not repeated: the blob may exist, or land
// later (blob.ErrUnknown).
func (s *Store) Put(ctx context.Context, key string, r io.Reader, size int64) error {
	if err := s.checkKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return notDone("put", key, err)
	}
	use := forPut
	if strings.HasPrefix(key, ownFolder) {
		use = forDelete // if a lifecycle rule deletes it, nothing of the other program's is lost
	}
	if err := s.may(ctx, use); err != nil {
		return notDone("put", key, err)
	}
	unlock, err := s.lock(ctx, key)
	if err != nil {
		return notDone("put", key, err)
	}
	defer unlock()

	partSize := s.partSize(size)
	held := partSize
	if size >= 0 {
		held = min(held, size+1)
	}
	held = min(held, s.o.Memory)
	if err := s.memory.Acquire(ctx, held); err != nil {
		return notDone("put", key, err)
	}
	defer s.memory.Release(held)
	source := &source{r: blob.Exactly(ctx, r, size)}
	first, more, err := source.first(partSize, size)
	switch {
	case err != nil:
		return notDone("put", key, err)
	case more:
		return s.putParts(ctx, upload{key: key, size: size, held: held, first: first, source: source})
	}
	return s.putWhole(ctx, key, first)
}

// lock serializes the Puts of one name in this process.
func (s *Store) lock(ctx context.Context, key string) (unlock func(), err error) {
	mine := make(chan struct{})
	for {
		other, taken := s.putting.LoadOrStore(key, mine)
		if !taken {
			return func() {
				s.putting.Delete(key)
				close(mine)
			}, nil
		}
		select {
		case <-other.(chan struct{}):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// conflicts is how often a PUT is repeated that was refused because another one was
// in flight.
const conflicts = 6

// putWhole sends a blob by one request.
func (s *Store) putWhole(ctx context.Context, key string, data []byte) error {
	if !s.Capabilities().ConditionalPut {
		if err := s.refuseExisting(ctx, key); err != nil {
			return err
		}
	}
	for try := range conflicts {
		v, err := s.sendWhole(ctx, key, data)
		switch {
		case err == nil:
			return nil
		case v.status == http.StatusPreconditionFailed:
			return fmt.Errorf("s3blob: put %s: %w", key, blob.ErrExist)
		case !v.is("ConditionalRequestConflict") || try == conflicts-1:
			return s.changing("put", key, v)
		}
		// It was refused, so it may be repeated.
		if err := lethe.Sleep(ctx, 20*time.Millisecond<<try); err != nil {
			return notDone("put", key, err)
		}
	}
	return nil
}

func (s *Store) sendWhole(ctx context.Context, key string, data []byte) (verdict, error) {
	if err := mayChange(ctx); err != nil {
		return verdict{certain: true, text: err.Error(), err: err}, err
	}
	asked, cancel := s.bounded(ctx, int64(len(data)))
	defer cancel()
	body := &sending{Reader: bytes.NewReader(data)}
	in := &s3.PutObjectInput{
		Bucket: &s.o.Bucket, Key: s.name(key), Body: body, ContentLength: aws.Int64(int64(len(data))),
		ContentMD5: sumOf(data), ContentType: aws.String("application/octet-stream"),
	}
	if s.Capabilities().ConditionalPut {
		in.IfNoneMatch = aws.String("*")
	}
	out, err := s.client.PutObject(asked, in)
	if err == nil {
		s.sawVersion(out.VersionId)
		return verdict{}, nil
	}
	v := judge(ctx, err)
	if v.status == 0 && !v.certain && body.cut(err) {
		return s.refusedUnheard(ctx, key, v), err
	}
	return v, err
}

// mayChange returns why nothing may be sent any more.
func mayChange(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return blob.Check(ctx)
}

// sending tracks how much of a body was sent to the connection.
type sending struct {
	*bytes.Reader
	left atomic.Int64
}

// Read implements io.Reader.
func (b *sending) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.left.Store(int64(b.Reader.Len()))
	return n, err
}

// cut reports whether the connection broke before the end of the body: the service
// cannot store such a body.
func (b *sending) cut(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "write" || op.Op == "readfrom") && b.left.Load() > 0
}

// refusedUnheard classifies a PUT whose connection was closed before the body was
// sent: services do that when they refuse it without reading, and the response is
// lost.
func (s *Store) refusedUnheard(ctx context.Context, key string, v verdict) verdict {
	v.certain = true
	if _, err := s.Stat(ctx, key); err == nil {
		v.status = http.StatusPreconditionFailed
	}
	return v
}

// refuseExisting returns blob.ErrExist if the key is taken.
func (s *Store) refuseExisting(ctx context.Context, key string) error {
	switch _, err := s.Stat(ctx, key); {
	case err == nil:
		return fmt.Errorf("s3blob: put %s: %w", key, blob.ErrExist)
	case errors.Is(err, blob.ErrNotExist):
		return nil
	default:
		return notDone("put", key, fmt.Errorf("cannot tell whether it is there: %w", err))
	}
}

// source yields a body in parts.
type source struct {
	r    io.Reader
	next [1]byte // read ahead, to know whether there is more
	has  bool
}

// smallest is the first buffer, in bytes, for a body of unknown size.
const smallest = 64 << 10

// first reads up to one part; more reports whether the body continues.
func (s *source) first(partSize, size int64) (data []byte, more bool, err error) {
	room := partSize
	if size < 0 {
		room = min(room, smallest)
	} else {
		room = min(room, size)
	}
	buf := make([]byte, room)
	n := 0
	for {
		k, more, err := s.fill(buf[n:])
		n += k
		switch {
		case err != nil:
			return nil, false, err
		case !more, int64(n) == partSize:
			return buf[:n], more, nil
		}
		grown := make([]byte, min(4*int64(len(buf)), partSize))
		copy(grown, buf)
		buf = grown
	}
}

// fill reads until buf is full or the body ends.
func (s *source) fill(buf []byte) (n int, more bool, err error) {
	if s.has && len(buf) > 0 {
		buf[0], s.has, n = s.next[0], false, 1
	}
	k, ended, err := readFull(s.r, buf[n:])
	n += k
	if err != nil || ended {
		return n, false, err
	}
	_, ended, err = readFull(s.r, s.next[:])
	s.has = err == nil && !ended
	return n, s.has, err
}

// readFull reads until buf is full. Unlike io.ReadFull it takes no error of the
// reader for the end of the body.
func readFull(r io.Reader, buf []byte) (n int, ended bool, err error) {
	for idle := 0; n < len(buf); idle++ {
		k, err := r.Read(buf[n:])
		n += k
		switch {
		case err == io.EOF:
			return n, n < len(buf), nil
		case err != nil:
			return n, false, err
		case k > 0:
			idle = 0
		case idle == 100:
			return n, false, io.ErrNoProgress
		}
	}
	return n, false, nil
}
