package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/instance"
)

// TestReapedWriterFails has a writer stand still in the middle of a put until the reaper
// has taken its intent, the late window has passed and the row has gone, with the whole
// process stopped before it wakes. It must not send any more, or, if it stood still
// behind the last look, give a row to what it sent.
func TestReapedWriterFails(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs a server")
	}
	for _, point := range []string{"put/before", "put/written", "put/checked"} {
		t.Run(point, func(t *testing.T) {
			f, err := newFolder(rand.New(rand.NewPCG(1, 2)))
			must(t, err)
			must(t, f.furnish(t.Context()))
			must(t, f.oversleeps(t.Context(), point))
			must(t, f.verify(t.Context()))
			must(t, f.finish(t.Context()))
			must(t, f.discard())
		})
	}
}

// oversleeps has the second put stand still at the point.
func (f *folder) oversleeps(ctx context.Context, point string) error {
	s, err := f.start(ctx, point+":2:stop", append(often, "reclaim.grace.min_age=2s")...)
	if err != nil {
		return err
	}
	defer s.Kill()
	c := f.client(s, "s")
	if _, err := c.put(ctx, name{plainBucket, "s/kept"}, wish{}); err != nil {
		return err
	}
	bucket, key := plainBucket, "s/late"
	answer := make(chan error, 1)
	go func() {
		_, err := c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte("sent by one who slept"))},
			func(o *s3.Options) { o.Retryer = aws.NopRetryer{} })
		answer <- err
	}()
	if err := s.asleep(ctx, c); err != nil {
		return fmt.Errorf("%w\nits log:\n%s", err, s.Tail())
	}
	if err := errors.Join(s.Signal(syscall.SIGSTOP), s.Signal(syscall.SIGCONT)); err != nil {
		return err
	}
	if err := <-answer; err == nil {
		return errors.New("a put was acknowledged whose intent had gone")
	}
	return c.drain(ctx)
}

// asleep waits until the writer stands still and nothing is left of its intent.
func (s *server) asleep(ctx context.Context, c *client) error {
	ctx, cancel := context.WithTimeout(ctx, instance.StartTime)
	defer cancel()
	for {
		reached := s.reached.Load() != ""
		status, err := c.admin.Status(ctx)
		if err != nil {
			return fmt.Errorf("the intent is still there: %w", err)
		}
		rows := int64(0)
		for _, t := range status.Backends[0].States {
			if t.State != lethe.Live.String() {
				rows += t.Blobs
			}
		}
		if reached && rows == 0 {
			return nil
		}
		wait(ctx, 20*time.Millisecond)
	}
}
