package crash_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
)

// The buckets of a folder: in one of them deleted objects go to the trash.
const (
	plainBucket = "plain"
	undoBucket  = "undo"
)

// keysEach is how many keys a client has in each bucket.
const keysEach = 12

// errLost: the server died before it answered.
var errLost = errors.New("no answer")

// client works on a server as one user does, one call after the other, on keys
// of its own, and notes in the journal what it was told.
type client struct {
	*server
	journal *journal
	random  *rand.Rand
	prefix  string
}

// now is the time by the clock that the server has, too.
func now() lethe.Time { return lethe.SystemClock{}.Now() }

// outcomeOf reads an S3 call's error.
func outcomeOf(err error) outcome {
	var resp *smithyhttp.ResponseError
	switch {
	case err == nil:
		return acked
	case errors.As(err, &resp) && resp.HTTPStatusCode() >= 400 && resp.HTTPStatusCode() < 500:
		return refused
	}
	return unknown
}

// outcomeAt reads an admin call's error.
func outcomeAt(err error) outcome {
	var told *api.Error
	switch {
	case err == nil:
		return acked
	case errors.As(err, &told) && told.Code != "failed" && told.Code != "unknown_outcome" && told.Code != "unavailable":
		return refused
	}
	return unknown
}

// told makes the error of a call that was not done.
func told(what string, out outcome, err error) error {
	switch out {
	case acked:
		return nil
	case refused:
		return fmt.Errorf("%s was refused: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, errLost, err)
}

// key draws one of the client's keys.
func (c *client) key(bucket string) name {
	return name{bucket, fmt.Sprintf("%s/%02d", c.prefix, c.random.IntN(keysEach))}
}

// mine says whether a key of the bucket with a trash is the client's.
func (c *client) mine(at name) bool {
	return at.bucket == undoBucket && strings.HasPrefix(at.key, c.prefix+"/")
}

// body makes the bytes of a seed.
func body(seed uint64, size int) []byte {
	var b [32]byte
	b[0], b[1], b[2] = byte(seed), byte(seed>>8), byte(seed>>16)
	data := make([]byte, size)
	_, _ = rand.NewChaCha8(b).Read(data) // never fails
	return data
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// wish is what a put shall be like.
type wish struct {
	shared bool          // bytes that other objects have, too
	large  bool          // streamed to the backend
	slow   bool          // with pauses
	ttl    time.Duration // 0: none
}

// data makes the bytes for a version. In the bucket with a trash every version
// has a size of its own.
func (w wish) data(n int) []byte {
	switch {
	case w.shared:
		return body(uint64(n%3), 900+n%3)
	case w.slow:
		return body(uint64(n), 300_000+n)
	case w.large:
		return body(uint64(n), 100_000+n)
	}
	return body(uint64(n), 1000+n)
}

// put stores a new version under the key.
func (c *client) put(ctx context.Context, at name, w wish) (version, error) {
	v := version{n: c.journal.number()}
	data := w.data(v.n)
	v.size, v.sum = int64(len(data)), digest(data)
	in := &s3.PutObjectInput{
		Bucket: &at.bucket, Key: &at.key, Body: bytes.NewReader(data), Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	}
	if w.ttl > 0 {
		in.Metadata["ttl"] = w.ttl.String()
	}
	if w.slow {
		in.Body, in.ContentLength = &slowly{r: bytes.NewReader(data)}, aws.Int64(v.size)
		in.ChecksumSHA256 = aws.String(base64.StdEncoding.EncodeToString(sum256(data)))
	}
	from := now()
	_, err := c.s3.PutObject(ctx, in)
	out := outcomeOf(err)
	if w.ttl > 0 {
		v.ends = window{from.Add(w.ttl), now().Add(w.ttl)}
	}
	c.journal.put(at, v, out)
	return v, told("put "+at.String(), out, err)
}

func sum256(data []byte) []byte {
	sum := sha256.Sum256(data)
	return sum[:]
}

// slowly is a body that pauses, so that its writer has to show that it lives.
type slowly struct{ r *bytes.Reader }

// Read implements io.Reader.
func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(3 * time.Millisecond) // what is slow about it
	return s.r.Read(p[:min(len(p), 4096)])
}

// Seek implements io.Seeker.
func (s *slowly) Seek(offset int64, whence int) (int64, error) { return s.r.Seek(offset, whence) }

// putBroken sends bytes that are not what was promised; nothing may come of it.
func (c *client) putBroken(ctx context.Context, at name) error {
	data := wish{large: true}.data(c.journal.number())
	wrong := md5.Sum([]byte("other bytes"))
	_, err := c.s3.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &at.bucket, Key: &at.key, Body: bytes.NewReader(data),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(wrong[:])),
	})
	switch outcomeOf(err) {
	case acked:
		return fmt.Errorf("put %s: a body with a wrong digest was taken", at)
	case refused:
		return nil
	}
	return told("put "+at.String(), unknown, err)
}

// remove deletes keys of one bucket, one of them by itself, more in a batch.
func (c *client) remove(ctx context.Context, keys ...name) error {
	var err error
	if len(keys) == 1 {
		_, err = c.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &keys[0].bucket, Key: &keys[0].key})
	} else {
		batch := &types.Delete{}
		for _, at := range keys {
			batch.Objects = append(batch.Objects, types.ObjectIdentifier{Key: aws.String(at.key)})
		}
		var out *s3.DeleteObjectsOutput
		out, err = c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &keys[0].bucket, Delete: batch})
		if err == nil && (len(out.Errors) > 0 || len(out.Deleted) != len(keys)) {
			return fmt.Errorf("delete of %v: %d deleted, errors %v", keys, len(out.Deleted), out.Errors)
		}
	}
	out := outcomeOf(err)
	c.journal.remove(keys, out)
	return told(fmt.Sprintf("delete %v", keys), out, err)
}

// copy makes an object of the bytes of v, which lies under from.
func (c *client) copy(ctx context.Context, from name, v version, to name) error {
	v.n, v.tag, v.ends = c.journal.number(), "", window{}
	_, err := c.s3.CopyObject(ctx, &s3.CopyObjectInput{
		Bucket: &to.bucket, Key: &to.key, CopySource: aws.String(from.String()),
		MetadataDirective: types.MetadataDirectiveReplace, Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	})
	out := outcomeOf(err)
	c.journal.put(to, v, out)
	return told(fmt.Sprintf("copy %s to %s", from, to), out, err)
}

// tag changes the object's tag.
func (c *client) tag(ctx context.Context, at name) error {
	value := fmt.Sprint("t", c.random.IntN(1000))
	_, err := c.s3.PutObjectTagging(ctx, &s3.PutObjectTaggingInput{
		Bucket: &at.bucket, Key: &at.key,
		Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("t"), Value: &value}}},
	})
	out := outcomeOf(err)
	c.journal.amend(at, out, func(v *version) { v.tag = value })
	return told("tag "+at.String(), out, err)
}

// setTTL changes when the object ends.
func (c *client) setTTL(ctx context.Context, at name, ttl time.Duration) error {
	from := now()
	req := api.TTLRequest{ObjectName: api.ObjectName{Bucket: at.bucket, Key: at.key}, TTL: ttl.String()}
	_, err := api.Call[api.ObjectInfo](ctx, c.admin, "ttl/set", req)
	out, to := outcomeAt(err), now()
	c.journal.amend(at, out, func(v *version) { v.ends = window{from.Add(ttl), to.Add(ttl)} })
	return told("ttl of "+at.String(), out, err)
}

// entry finds v in the trash.
func (c *client) entry(ctx context.Context, at name, v version) (string, error) {
	list, err := api.Call[api.TrashList](ctx, c.admin, "trash/list", api.TrashRequest{Bucket: at.bucket, Prefix: at.key})
	if err != nil {
		return "", told("trash", outcomeAt(err), err)
	}
	for _, e := range list.Entries {
		if e.Key == at.key && e.Size == v.size {
			return e.ID, nil
		}
	}
	return "", fmt.Errorf("version %d of %s is not in the trash, among %d entries", v.n, at, len(list.Entries))
}

// restore puts v back under its key, over whatever lies there.
func (c *client) restore(ctx context.Context, at name, v version) error {
	id, err := c.entry(ctx, at, v)
	if err != nil {
		return err
	}
	_, err = api.Call[api.ObjectInfo](ctx, c.admin, "trash/restore", api.RestoreRequest{ID: id, Overwrite: true})
	out := outcomeAt(err)
	c.journal.restore(at, v, out)
	return told("restore "+at.String(), out, err)
}

// purge gives up the trash of the client.
func (c *client) purge(ctx context.Context) error {
	_, err := api.Call[api.Count](ctx, c.admin, "trash/purge", api.TrashRequest{Bucket: undoBucket, Prefix: c.prefix + "/"})
	out := outcomeAt(err)
	c.journal.purge(c.mine, out)
	return told("purge", out, err)
}

// bucket makes or removes a bucket of the client's.
func (c *client) bucket(ctx context.Context, make bool) error {
	bucket := "extra-" + c.prefix
	var err error
	done := refused
	if make {
		done = acked
		_, err = c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
	} else {
		_, err = c.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &bucket})
	}
	out := outcomeOf(err)
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	was, known := c.journal.buckets[bucket]
	switch {
	case out == unknown:
		done = unknown
	case out == refused && known && (was == unknown || was == done):
		out = acked // an earlier call without an answer, or before a death, did it
	}
	if out != refused {
		c.journal.buckets[bucket] = done
	}
	return told("bucket "+bucket, out, err)
}

// undo sets the undo window of a bucket.
func (c *client) undo(ctx context.Context, bucket, window string) error {
	_, err := api.Call[api.Bucket](ctx, c.admin, "buckets/set", api.BucketChange{Name: bucket, Undo: &window})
	return told("undo window of "+bucket, outcomeAt(err), err)
}

// hold holds a key, or releases the hold.
func (c *client) hold(ctx context.Context, at name, set bool) error {
	req := api.HoldRequest{Bucket: at.bucket, Key: at.key}
	var err error
	if set {
		_, err = api.Call[api.HoldSet](ctx, c.admin, "holds/add", req)
	} else {
		_, err = api.Call[api.None](ctx, c.admin, "holds/remove", req)
	}
	return told("hold on "+at.String(), outcomeAt(err), err)
}

// reclaim runs routines until nothing is due for them.
func (c *client) reclaim(ctx context.Context, routines ...string) error {
	_, err := c.admin.Reclaim(ctx, api.ReclaimRequest{Only: routines}, func(api.Event) {})
	return told(fmt.Sprint("reclaim ", routines), outcomeAt(err), err)
}

// get reads an object whole; nil if there is none.
func (c *client) get(ctx context.Context, at name) (*version, error) {
	out, err := c.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.key})
	if err != nil {
		var none *types.NoSuchKey
		if errors.As(err, &none) {
			return nil, nil
		}
		return nil, fmt.Errorf("get %s: %w", at, err)
	}
	data, err := io.ReadAll(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", at, err)
	}
	v := &version{size: int64(len(data)), sum: digest(data)}
	if v.n, err = strconv.Atoi(out.Metadata["n"]); err != nil {
		return nil, fmt.Errorf("get %s: its metadata is %v", at, out.Metadata)
	}
	if aws.ToInt32(out.TagCount) == 0 {
		return v, nil
	}
	tags, err := c.s3.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: &at.bucket, Key: &at.key})
	if err != nil || len(tags.TagSet) != 1 {
		return nil, fmt.Errorf("tags of %s: %v: %w", at, tags, err)
	}
	v.tag = aws.ToString(tags.TagSet[0].Value)
	return v, nil
}
