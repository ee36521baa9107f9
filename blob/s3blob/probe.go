package s3blob

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Setting is the value of one of a bucket's settings.
type Setting string

// The values of a setting.
const (
	Off        Setting = "off"
	On         Setting = "on"
	Unreadable Setting = "not told"  // the access key may not read it, or the service does not have it
	Suspend    Setting = "suspended" // of versions: they are kept, new ones replace each other
)

// Capabilities is what a probe has found out about service and bucket, and the
// present pace of deletions.
type Capabilities struct {
	ProbedAt lethe.Time // by Options.Clock; 0: not yet
	// ConditionalPut: a PUT with If-None-Match refuses to overwrite.
	ConditionalPut bool
	// ConditionalComplete: so does the completion of an upload.
	ConditionalComplete bool
	// BatchDelete: DeleteObjects deletes, and returns a result for each key.
	// Without it keys are deleted one by one, many at once.
	BatchDelete bool
	// Multipart: blobs larger than a part can be put.
	Multipart bool
	// StartAfter: a listing that starts after a name omits nothing behind it.
	// Without it listings start at their beginning.
	StartAfter bool
	// Versions, ObjectLock and Lifecycle (a rule that applies to the store's
	// objects).
	Versions, ObjectLock, Lifecycle Setting
	// NoPut and NoDelete are why writes and deletions are refused, and the remedy;
	// empty if they are not.
	NoPut, NoDelete string
	// Batch and Concurrency: keys per request, and requests at once, of deletions.
	Batch, Concurrency int
	// LastError is why the latest probe failed; empty if it succeeded.
	LastError string
}

// state is what the store knows about the service.
type state struct {
	mu      sync.RWMutex
	caps    Capabilities
	known   bool       // a probe was finished once
	next    lethe.Time // when to probe again
	probing chan struct{}
}

// retryProbe is how soon a failed probe is repeated, once one has succeeded.
const retryProbe = time.Minute

// Capabilities returns what is known about service and bucket.
func (s *Store) Capabilities() Capabilities {
	s.state.mu.RLock()
	defer s.state.mu.RUnlock()
	c := s.state.caps
	c.Batch, c.Concurrency = s.pace.limits()
	if s.state.known && !c.BatchDelete {
		c.Batch = 1
	}
	return c
}

type purpose int

const (
	forPut purpose = iota
	forDelete
)

// may probes if it is time to, and returns blob.ErrUnfit if the bucket must not be
// used so.
func (s *Store) may(ctx context.Context, p purpose) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	c := s.Capabilities()
	why := c.NoPut
	if p == forDelete {
		why = c.NoDelete
	}
	if why != "" {
		return fmt.Errorf("%w: %w: bucket %s: %s", blob.ErrDown, blob.ErrUnfit, s.o.Bucket, why)
	}
	return nil
}

// ready returns once a probe has succeeded. Later probes are made by one caller,
// while the others continue with the last result.
func (s *Store) ready(ctx context.Context) error {
	for {
		s.state.mu.Lock()
		probing, known := s.state.probing, s.state.known
		due := !known || s.o.Clock.Now() >= s.state.next
		mine := due && probing == nil
		if mine {
			probing = make(chan struct{})
			s.state.probing = probing
		}
		s.state.mu.Unlock()
		switch {
		case mine:
			err := s.probed(ctx)
			s.state.mu.Lock()
			s.state.probing = nil
			s.state.mu.Unlock()
			close(probing)
			if known {
				return nil
			}
			return err
		case known:
			return nil
		}
		select {
		case <-probing:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Probe finds out what service and bucket are, now. Its errors wrap blob.ErrDown
// and have the remedy; an unfit bucket is no error, but part of Capabilities.
func (s *Store) Probe(ctx context.Context) error { return s.probed(ctx) }

// probed makes a probe and stores its result.
func (s *Store) probed(ctx context.Context) error {
	found, err := s.probe(ctx)
	s.state.mu.Lock()
	now := s.o.Clock.Now()
	if err == nil {
		found.ProbedAt = now
		s.state.caps, s.state.known, s.state.next = found, true, now.Add(s.o.ProbeEvery)
	} else {
		s.state.caps.LastError, s.state.next = err.Error(), now.Add(retryProbe)
	}
	s.state.mu.Unlock()
	s.o.Events.probed(s.Capabilities(), err)
	return err
}

// doubt records that the bucket turned out to keep versions. Deletions and writes
// are refused unless the next call, which probes again, finds otherwise.
func (s *Store) doubt() {
	why := versionsOn
	s.state.mu.Lock()
	s.state.caps.Versions, s.state.caps.NoPut, s.state.caps.NoDelete, s.state.next = On, why, why, 0
	s.state.mu.Unlock()
	s.o.Events.probed(s.Capabilities(), nil)
}

// sawVersion records that a new object has a version.
func (s *Store) sawVersion(id *string) {
	if versioned(id) {
		s.doubt()
	}
}

func versioned(id *string) bool { return id != nil && *id != "" && *id != "null" }

// probe reads the bucket's settings, and tries what the service can do on an object
// of its own.
func (s *Store) probe(ctx context.Context) (Capabilities, error) {
	var c Capabilities
	if err := s.reach(ctx); err != nil {
		return c, err
	}
	if err := s.settings(ctx, &c); err != nil {
		return c, err
	}
	if c.NoPut != "" && c.NoDelete != "" {
		return c, nil
	}
	var nonce [8]byte
	if _, err := io.ReadFull(s.o.Random, nonce[:]); err != nil {
		return c, fmt.Errorf("random source: %w", err)
	}
	t := &trial{s: s, c: &c, name: s.o.Prefix + probeFolder + hex.EncodeToString(nonce[:])}
	for _, step := range []func(context.Context) error{t.put, t.list, t.complete, t.remove, t.sweep} {
		if err := step(ctx); err != nil {
			t.tidy(ctx)
			return c, fmt.Errorf("probe of bucket %s: %w", s.o.Bucket, err)
		}
	}
	if t.versioned {
		c.Versions, c.NoPut, c.NoDelete = On, versionsOn, versionsOn
	}
	return c, nil
}

// reach lists, which every access key must be allowed to. The response shows
// whether the bucket exists.
func (s *Store) reach(ctx context.Context) error {
	asked, cancel := s.bounded(ctx, 0)
	defer cancel()
	_, err := s.client.ListObjectsV2(asked, &s3.ListObjectsV2Input{Bucket: &s.o.Bucket, Prefix: &s.o.Prefix, MaxKeys: aws.Int32(1)})
	if err == nil {
		return nil
	}
	v := judge(ctx, err)
	v.down = ctx.Err() == nil
	return fmt.Errorf("bucket %s: %w", s.o.Bucket, s.outcomeOfNothing(v))
}

// outcomeOfNothing is kinds for a change that was not requested yet.
func (s *Store) outcomeOfNothing(v verdict) error { return s.kinds(v) }

// trial tries what the service can do.
type trial struct {
	s         *Store
	c         *Capabilities
	name      string
	versioned bool
	remains   []string // of probes whose processes were killed
}

// probeLasts is longer than a probe takes.
const probeLasts = time.Hour

var probeBody = []byte("lethe probes what this service can do; this may be removed")

// maxConflicts is how often a PUT of a new name is repeated after 409. A service that keeps folders
// on a disk may answer so while a probe beside this one removes the folder.
const maxConflicts = 5

// put tries a PUT, and whether a second one is refused.
func (t *trial) put(ctx context.Context) error {
	conflicts := 0
	for first := true; ; {
		asked, cancel := t.s.bounded(ctx, 0)
		in := &s3.PutObjectInput{
			Bucket: &t.s.o.Bucket, Key: &t.name, Body: bytes.NewReader(probeBody),
			ContentLength: aws.Int64(int64(len(probeBody))), ContentMD5: sumOf(probeBody),
		}
		if !first {
			in.IfNoneMatch = aws.String("*")
		}
		out, err := t.s.client.PutObject(asked, in)
		cancel()
		if err == nil {
			t.versioned = t.versioned || versioned(out.VersionId)
			if first {
				first = false
				continue
			}
			return nil
		}
		v := judge(ctx, err)
		switch {
		case first && v.status == http.StatusConflict && conflicts < maxConflicts:
			conflicts++
			continue
		case !first && v.status == http.StatusPreconditionFailed:
			t.c.ConditionalPut = true
			return nil
		case !first && v.certain && v.status != http.StatusConflict:
			return nil // it does not have the condition
		}
		return t.failed("put", ctx, v)
	}
}

// list tries to start after the folder's name without its slash, behind which the
// folder lies. SeaweedFS omits it.
func (t *trial) list(ctx context.Context) error {
	asked, cancel := t.s.bounded(ctx, 0)
	defer cancel()
	folder := t.s.o.Prefix + ownFolder
	out, err := t.s.client.ListObjectsV2(asked, &s3.ListObjectsV2Input{
		Bucket: &t.s.o.Bucket, Prefix: &folder, StartAfter: aws.String(strings.TrimSuffix(folder, "/")),
	})
	if err != nil {
		return t.failed("list", ctx, judge(ctx, err))
	}
	var now lethe.Time // by the service's clock
	for _, object := range out.Contents {
		if object.Key != nil && *object.Key == t.name && object.LastModified != nil {
			now = lethe.FromTime(*object.LastModified)
		}
		t.c.StartAfter = t.c.StartAfter || object.Key != nil && *object.Key == t.name
	}
	for _, object := range out.Contents {
		remains := object.Key != nil && object.LastModified != nil && t.s.ofProbe(*object.Key)
		if remains && now.Sub(lethe.FromTime(*object.LastModified)) > probeLasts {
			t.remains = append(t.remains, *object.Key)
		}
	}
	return nil
}

// sweep removes what killed processes left: in a bucket that is another program's nothing else
// does. What cannot be removed now is seen again.
func (t *trial) sweep(ctx context.Context) error {
	for _, name := range t.remains {
		if t.versioned || t.s.deleteObject(ctx, name) != nil {
			break
		}
	}
	return nil
}

// complete tries an upload in parts, and whether its completion under a taken name
// is refused.
func (t *trial) complete(ctx context.Context) error {
	asked, cancel := t.s.bounded(ctx, 0)
	defer cancel()
	made, err := t.s.client.CreateMultipartUpload(asked, &s3.CreateMultipartUploadInput{Bucket: &t.s.o.Bucket, Key: &t.name})
	if err != nil {
		return t.without("create upload", ctx, err)
	}
	number := int32(1)
	part, err := t.s.client.UploadPart(asked, &s3.UploadPartInput{
		Bucket: &t.s.o.Bucket, Key: &t.name, UploadId: made.UploadId, PartNumber: &number,
		Body: bytes.NewReader(probeBody), ContentLength: aws.Int64(int64(len(probeBody))), ContentMD5: sumOf(probeBody),
	})
	if err != nil {
		return t.without("upload part", ctx, err)
	}
	t.c.Multipart = true
	_, err = t.s.client.CompleteMultipartUpload(asked, &s3.CompleteMultipartUploadInput{
		Bucket: &t.s.o.Bucket, Key: &t.name, UploadId: made.UploadId, IfNoneMatch: aws.String("*"),
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{PartNumber: &number, ETag: part.ETag}}},
	})
	if err == nil {
		return nil
	}
	t.c.ConditionalComplete = judge(ctx, err).status == http.StatusPreconditionFailed
	_, _ = t.s.client.AbortMultipartUpload(asked, &s3.AbortMultipartUploadInput{Bucket: &t.s.o.Bucket, Key: &t.name, UploadId: made.UploadId})
	return nil
}

// remove tries a DeleteObjects, and checks its effect.
func (t *trial) remove(ctx context.Context) error {
	absent := t.name + "0"
	said, err := t.deleteBoth(ctx, absent)
	switch {
	case err == nil:
		t.versioned = t.versioned || errors.Is(said[t.name], errMarker)
		t.c.BatchDelete = blob.Gone(said[t.name]) && blob.Gone(said[absent])
	case errors.Is(err, errProtocol):
	default:
		if v := judge(ctx, err); v.status != http.StatusOK && (!v.certain || v.down) {
			return t.failed("delete objects", ctx, v)
		}
	}
	gone, err := t.s.absentName(ctx, t.name)
	if err != nil {
		return err
	}
	if gone {
		return nil
	}
	// It reported as deleted what still exists, or can only delete one by one.
	t.c.BatchDelete = false
	err = t.s.deleteObject(ctx, t.name)
	if errors.Is(err, errMarker) {
		t.versioned, err = true, nil
	}
	return err
}

// deleteBoth repeats the request until the response is whole: Ceph's sometimes ends
// early.
func (t *trial) deleteBoth(ctx context.Context, absent string) (said map[string]error, err error) {
	for try := range deleteTries {
		said, err = t.s.deleteObjects(ctx, []string{t.name, absent})
		if err == nil || !errors.Is(err, errBroken) && !judge(ctx, err).again || lethe.Sleep(ctx, firstPause<<try/4) != nil {
			break
		}
	}
	return said, err
}

// tidy removes what a failed probe may have left.
func (t *trial) tidy(ctx context.Context) {
	_ = t.s.deleteObject(context.WithoutCancel(ctx), t.name)
}

// without handles a request that the service does not have.
func (t *trial) without(op string, ctx context.Context, err error) error {
	v := judge(ctx, err)
	if v.certain && !v.down {
		return nil
	}
	return t.failed(op, ctx, v)
}

func (t *trial) failed(op string, ctx context.Context, v verdict) error {
	v.down = ctx.Err() == nil
	return fmt.Errorf("%s: %w", op, t.s.kinds(v))
}
