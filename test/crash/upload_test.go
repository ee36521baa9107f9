package crash_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// partSize is that of all parts but the last, in bytes.
const partSize = 2000

// upload is a multipart upload that was opened.
type upload struct {
	at    name
	id    string
	v     version
	parts []types.CompletedPart // acknowledged
	whole bool                  // all of them
	end   ending
	stale bool // the engine may have aborted it
}

// ending is how a client tried to end an upload, of whose outcome it knows
// nothing.
type ending int

const (
	open ending = iota
	completing
	aborting
)

// begin opens an upload.
func (c *client) begin(ctx context.Context, at name) (*upload, error) {
	u := &upload{at: at, v: version{n: c.journal.number()}}
	made, err := c.s3.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: &at.bucket, Key: &at.key, Metadata: map[string]string{"n": strconv.Itoa(u.v.n)},
	})
	out := outcomeOf(err)
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	switch out {
	case acked:
		u.id = aws.ToString(made.UploadId)
		c.journal.uploads[u.id] = u
	case unknown:
		c.journal.opening[at]++
	}
	return u, told("open an upload of "+at.String(), out, err)
}

// fill stores the parts of an upload.
func (c *client) fill(ctx context.Context, u *upload, parts int) error {
	return c.fillWith(ctx, u, parts, partSize)
}

// fillWith stores parts of a size in bytes.
func (c *client) fillWith(ctx context.Context, u *upload, parts, size int) error {
	var all []byte
	for i := range parts {
		data := body(uint64(u.v.n*8+i), size+i)
		all = append(all, data...)
		number := int32(i + 1)
		made, err := c.s3.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &u.at.bucket, Key: &u.at.key, UploadId: &u.id, PartNumber: &number, Body: bytes.NewReader(data),
		})
		if out := outcomeOf(err); out != acked {
			return told(fmt.Sprintf("part %d of %s", number, u.at), out, err)
		}
		c.journal.mu.Lock()
		u.parts = append(u.parts, types.CompletedPart{PartNumber: &number, ETag: made.ETag})
		c.journal.mu.Unlock()
	}
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	u.v.size, u.v.sum, u.whole = int64(len(all)), digest(all), true
	return nil
}

// complete makes an object of the upload.
func (c *client) complete(ctx context.Context, u *upload) error {
	_, err := c.s3.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &u.at.bucket, Key: &u.at.key, UploadId: &u.id, MultipartUpload: &types.CompletedMultipartUpload{Parts: u.parts},
	})
	out := outcomeOf(err)
	c.journal.put(u.at, u.v, out)
	c.journal.ended(u, completing, out)
	return told("complete "+u.at.String(), out, err)
}

// abort gives the upload up.
func (c *client) abort(ctx context.Context, u *upload) error {
	_, err := c.s3.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.at.bucket, Key: &u.at.key, UploadId: &u.id})
	out := outcomeOf(err)
	c.journal.ended(u, aborting, out)
	return told("abort "+u.at.String(), out, err)
}

// ended records how an upload came to its end.
func (j *journal) ended(u *upload, how ending, out outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch out {
	case acked:
		delete(j.uploads, u.id)
	case unknown:
		u.end = how
	}
}

// expectStale notes that the engine is about to abort all uploads.
func (j *journal) expectStale() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, u := range j.uploads {
		u.stale = true
	}
}

// checkUploads compares the open uploads with the journal, and ends those whose
// end was begun: an upload that could not be completed can be completed now.
// stale says that uploads were aborted for their age.
func (c *client) checkUploads(ctx context.Context, stale bool) error {
	list, err := c.s3.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: aws.String(plainBucket)})
	if err != nil {
		return fmt.Errorf("list uploads: %w", err)
	}
	found := map[string]bool{}
	var errs []error
	for _, u := range list.Uploads {
		found[*u.UploadId] = true
		errs = append(errs, c.account(ctx, name{plainBucket, *u.Key}, *u.UploadId))
	}
	clear(c.journal.opening)
	left := 0
	for id, u := range c.journal.uploads {
		switch {
		case u.end == completing:
			errs = append(errs, c.settleCompletion(ctx, u, found[id]))
		case found[id] && u.end == open:
			left++
			errs = append(errs, c.checkParts(ctx, u))
			if left > 3 {
				errs = append(errs, c.abort(ctx, u))
			}
		case found[id]:
			errs = append(errs, c.abort(ctx, u))
		case u.end != open, stale, u.stale:
			delete(c.journal.uploads, id)
		default:
			errs = append(errs, fmt.Errorf("upload %s of %s is gone", id, u.at))
		}
	}
	return errors.Join(errs...)
}

// settleCompletion completes an upload whose completion got no answer. Either it
// was open still and there was no object, or the object was there.
func (c *client) settleCompletion(ctx context.Context, u *upload, stillOpen bool) error {
	v, err := c.get(ctx, u.at)
	if err != nil {
		return err
	}
	if made := v != nil && v.n == u.v.n; made == stillOpen {
		return fmt.Errorf("upload %s of %s: open is %t, and so is that its object is there", u.id, u.at, stillOpen)
	}
	return c.complete(ctx, u)
}

// account explains an open upload: the journal knows it, or its creation got no
// answer; then it is aborted.
func (c *client) account(ctx context.Context, at name, id string) error {
	if c.journal.uploads[id] != nil {
		return nil
	}
	if c.journal.opening[at]--; c.journal.opening[at] < 0 {
		return fmt.Errorf("upload %s of %s is open, which nobody opened or which has ended", id, at)
	}
	return c.abort(ctx, &upload{at: at, id: id})
}

// checkParts compares the stored parts with those acknowledged.
func (c *client) checkParts(ctx context.Context, u *upload) error {
	list, err := c.s3.ListParts(ctx, &s3.ListPartsInput{Bucket: &u.at.bucket, Key: &u.at.key, UploadId: &u.id})
	if err != nil {
		return fmt.Errorf("list parts of %s: %w", u.at, err)
	}
	have := map[int32]string{}
	for _, p := range list.Parts {
		have[*p.PartNumber] = aws.ToString(p.ETag)
	}
	for _, p := range u.parts {
		if have[*p.PartNumber] != aws.ToString(p.ETag) {
			return fmt.Errorf("part %d of %s is %q, was acknowledged as %q", *p.PartNumber, u.at, have[*p.PartNumber], *p.ETag)
		}
	}
	return nil
}
