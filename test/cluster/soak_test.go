package cluster_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe"
)

const (
	roundTime   = 2 * time.Minute // of work and faults, in a soak
	rotPause    = 2 * time.Second
	rulePause   = 5 * time.Second
	healTime    = 5 * time.Minute
	ruledBucket = "ruled"
	doomed      = "doomed/" // what a rule ends at once
)

// oddStep does one of the things that are left out of the round with one backend.
func (c *client) oddStep(ctx context.Context) error {
	i, k := c.random.IntN(lasting), c.random.IntN(lasting)
	e := c.lasting[i]
	switch p := c.random.IntN(100); {
	case p < 50:
		return c.readRange(ctx, e)
	case p < 80 && e.acked() && i != k:
		err := c.copy(ctx, e, c.lasting[k])
		c.renew(k)
		return err
	case p < 90 && e.acked() && i != k:
		err := c.compose(ctx, e, c.lasting[k])
		c.renew(k)
		return err
	case e.acked():
		return c.hold(ctx, i)
	}
	return nil
}

// readRange reads some bytes of an object and compares them with those of the version
// that it is.
func (c *client) readRange(ctx context.Context, e *entry) error {
	v := e.may[c.random.IntN(len(e.may))]
	if v == nil {
		return nil
	}
	data := v.bytes()
	from := c.random.IntN(len(data))
	to := from + 1 + c.random.IntN(len(data)-from)
	out, err := c.node().GetObject(ctx, &s3.GetObjectInput{
		Bucket: aws.String(bucket), Key: &e.key, Range: aws.String(fmt.Sprintf("bytes=%d-%d", from, to-1)),
	})
	if err != nil {
		return err // whether it should be there is asked by whole reads
	}
	defer out.Body.Close()
	got, err := io.ReadAll(out.Body)
	if err != nil {
		return err
	}
	c.counts.ranges.Add(1)
	if out.Metadata["n"] == strconv.Itoa(v.n) && string(got) != string(data[from:to]) {
		return &mistake{fmt.Errorf("%s: bytes %d to %d of version %d are not those that were put", e.key, from, to, v.n)}
	}
	return nil
}

// copy makes another version of one object's bytes.
func (c *client) copy(ctx context.Context, from, to *entry) error {
	to.n++
	v := (&version{n: to.n}).of(from.may[0].pieces...)
	_, err := c.node().CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: aws.String(bucket), Key: &to.key, CopySource: aws.String(bucket + "/" + from.key),
		MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	})
	c.counts.copies.Add(1)
	return c.wrote("copy to "+to.key, err, to, v)
}

// compose uploads in parts, of which the first is copied from another object.
func (c *client) compose(ctx context.Context, from, to *entry) error {
	to.n++
	last := piece{c.random.Uint64(), 2_000}
	v := (&version{n: to.n}).of(append(append([]piece{}, from.may[0].pieces...), last)...)
	if len(from.may[0].bytes()) < 1<<10 {
		return nil // too small for a part that is not the last
	}
	created, err := c.node().CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: aws.String(bucket), Key: &to.key, Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	})
	if err != nil {
		return fmt.Errorf("create an upload: %w", err)
	}
	first, err := c.node().UploadPartCopy(ctx, &s3.UploadPartCopyInput{
		Bucket: aws.String(bucket), Key: &to.key, UploadId: created.UploadId, PartNumber: aws.Int32(1),
		CopySource: aws.String(bucket + "/" + from.key),
	})
	if err != nil {
		return fmt.Errorf("copy a part: %w", err)
	}
	second, err := c.node().UploadPart(ctx, &s3.UploadPartInput{
		Bucket: aws.String(bucket), Key: &to.key, UploadId: created.UploadId, PartNumber: aws.Int32(2),
		Body: strings.NewReader(string(bytesOf(last.seed, last.size))),
	})
	if err != nil {
		return fmt.Errorf("upload a part: %w", err)
	}
	_, err = c.node().CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(bucket), Key: &to.key, UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{
			{PartNumber: aws.Int32(1), ETag: first.CopyPartResult.ETag}, {PartNumber: aws.Int32(2), ETag: second.ETag},
		}},
	})
	if status(err) == 404 { // it took so long that the upload was given up
		c.counts.refused.Add(1)
		return err
	}
	return c.wrote("complete "+to.key, err, to, v)
}

// hold puts an object on hold: it cannot be deleted before the hold is released. An
// object whose hold may be on is never written again.
func (c *client) hold(ctx context.Context, i int) error {
	e := c.lasting[i]
	set := func(s types.ObjectLockLegalHoldStatus) error {
		_, err := c.node().PutObjectLegalHold(ctx, &s3.PutObjectLegalHoldInput{
			Bucket: aws.String(bucket), Key: &e.key, LegalHold: &types.ObjectLockLegalHold{Status: s},
		})
		return err
	}
	err := set(types.ObjectLockLegalHoldStatusOn)
	if err == nil {
		c.counts.held.Add(1)
		_, err = c.node().DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: aws.String(bucket), Key: &e.key})
		if err == nil {
			return &mistake{fmt.Errorf("%s was deleted although it is on hold", e.key)}
		}
		err = set(types.ObjectLockLegalHoldStatusOff)
	}
	if err != nil {
		c.retired = append(c.retired, e)
		c.lasting[i] = c.newEntry("keeps")
	}
	return err
}

// ruled is what lies in the bucket that has a rule now and then.
type ruled struct {
	n    int
	kept map[string]bool // acknowledged, and under no rule
}

// rule puts objects into a bucket, and sets and removes a rule that ends some of them.
func (w *world) rule(ctx context.Context) {
	for ctx.Err() == nil {
		for _, prefix := range []string{doomed, "kept/"} {
			w.ruled.n++
			key := fmt.Sprintf("%s%06d", prefix, w.ruled.n)
			_, err := w.serving()[0].client().PutObject(context.WithoutCancel(ctx), &s3.PutObjectInput{
				Bucket: aws.String(ruledBucket), Key: &key, Body: strings.NewReader(key),
			})
			if err == nil && prefix != doomed {
				w.ruled.kept[key] = true
			}
		}
		if w.ruled.n%20 == 0 {
			// It says nothing if that fails: at the end of the round it is set for good.
			_ = w.setRule(context.WithoutCancel(ctx), w.ruled.n%40 == 0)
		}
		pause(ctx, rulePause/20)
	}
}

// setRule sets the rule or removes it.
func (w *world) setRule(ctx context.Context, on bool) error {
	at := w.serving()[0].client()
	if !on {
		_, err := at.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: aws.String(ruledBucket)})
		return err
	}
	_, err := at.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
		Bucket: aws.String(ruledBucket), LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: aws.String("doomed"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String(doomed)},
			Expiration: &types.LifecycleExpiration{Date: aws.Time(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))},
		}}},
	})
	return err
}

// checkRules sets the rule and waits until all that it ends is gone, and nothing else.
func (w *world) checkRules(ctx context.Context) error {
	if *soaks == 0 {
		return nil
	}
	if err := w.until(ctx, drainTime, func() error { return w.setRule(ctx, true) }); err != nil {
		return err
	}
	return w.until(ctx, drainTime, func() error {
		listed, err := list(ctx, w.serving()[0].client(), ruledBucket)
		if err != nil {
			return err
		}
		for key := range w.ruled.kept {
			if _, there := listed[key]; !there {
				return &mistake{fmt.Errorf("%s is gone, and no rule is about it", key)}
			}
		}
		for key := range listed {
			if strings.HasPrefix(key, doomed) {
				return fmt.Errorf("%s is there although a rule has ended it", key)
			}
		}
		return nil
	})
}

// soundCopies are contents with two copies that nobody doubts.
const soundCopies = `SELECT b.content_id, (array_agg(b.id ORDER BY b.backend))[1], min(b.backend) FROM blobs b JOIN contents c ON c.id = b.content_id
	WHERE b.state = 2 AND b.suspect = 0 AND b.size > 0
	GROUP BY b.content_id HAVING count(*) = 2 AND count(DISTINCT b.backend) = 2 AND count(DISTINCT b.segment) = 1
	ORDER BY random() LIMIT 20`

// rot flips a byte in one of the two copies of a content now and then, unannounced,
// and never twice in a content.
func (w *world) rot(ctx context.Context) {
	for ctx.Err() == nil {
		pause(ctx, rotPause)
		// The database may be away.
		_ = w.rotOne(context.WithoutCancel(ctx))
	}
}

func (w *world) rotOne(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	var content, blob, backend string
	done := false
	_, err := w.eachBlob(ctx, soundCopies, nil, []any{&content, &blob, &backend}, func(store lethe.ID) error {
		if done || w.rotten[content] {
			return nil
		}
		w.rotten[content], done = true, true
		key := lethe.BlobKey(store, lethe.ID(blob))
		return w.flip(w.storage.Path(w.buckets()[backend], key))
	})
	return err
}

// flip changes one byte of a file; a file that is gone meanwhile is left alone.
func (w *world) flip(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	at := rand.Int64N(500)
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		return err
	}
	b[0] ^= 0x40
	if _, err := f.WriteAt(b, at); err != nil {
		return err
	}
	w.counts.rotten.Add(1)
	return nil
}

// healed waits until a check finds nothing, after rot was found: what a check finds is
// doubted, and replaced by a copy of what is sound. Nothing may be lost for good.
func (w *world) healed(ctx context.Context) error {
	if *soaks == 0 {
		return nil
	}
	return w.until(ctx, healTime, func() error { return w.check(ctx) })
}
