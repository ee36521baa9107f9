package cluster_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// patients are the clients whose writes take seconds, so that every fault finds
// some of them under way.
const patients = 6

// patientStep puts a body that comes slowly, or uploads one in parts.
func (c *client) patientStep(ctx context.Context) error {
	i := c.random.IntN(lasting)
	defer c.renew(i)
	switch c.random.IntN(5) {
	case 0:
		return c.read(ctx, c.lasting[i])
	case 1, 2:
		return c.putSlowly(ctx, c.lasting[i])
	}
	return c.upload(ctx, c.lasting[i])
}

// slowly is a body that pauses.
type slowly struct{ *bytes.Reader }

// Read implements io.Reader.
func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond) // what is slow about it
	return s.Reader.Read(p[:min(len(p), 4096)])
}

func (c *client) putSlowly(ctx context.Context, e *entry) error {
	e.n++
	v := (&version{n: e.n}).of(piece{c.random.Uint64(), 150_000})
	data := v.bytes()
	_, err := c.node().PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(bucket), Key: &e.key, Body: slowly{bytes.NewReader(data)}, ContentLength: aws.Int64(int64(len(data))),
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(v.sum[:])), Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	})
	return c.wrote("put "+e.key, err, e, v)
}

// upload makes an object of parts, each through another instance. Uploads that
// failed are left to the store, which has to give them up by itself.
func (c *client) upload(ctx context.Context, e *entry) error {
	e.n++
	v := &version{n: e.n}
	created, err := c.node().CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{
		Bucket: aws.String(bucket), Key: &e.key, Metadata: map[string]string{"n": strconv.Itoa(v.n)},
	})
	if err != nil {
		return fmt.Errorf("create an upload: %w", err)
	}
	var pieces []piece
	var parts []types.CompletedPart
	for number := range int32(2 + c.random.IntN(3)) {
		pieces = append(pieces, piece{c.random.Uint64(), 40_000})
		data := bytesOf(pieces[number].seed, pieces[number].size)
		pause(ctx, time.Duration(c.random.IntN(500))*time.Millisecond)
		part, err := c.node().UploadPart(ctx, &s3.UploadPartInput{
			Bucket: aws.String(bucket), Key: &e.key, UploadId: created.UploadId, PartNumber: aws.Int32(number + 1), Body: bytes.NewReader(data),
		})
		if err != nil {
			return fmt.Errorf("upload a part: %w", err)
		}
		parts = append(parts, types.CompletedPart{PartNumber: aws.Int32(number + 1), ETag: part.ETag})
	}
	v.of(pieces...)
	_, err = c.node().CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: aws.String(bucket), Key: &e.key, UploadId: created.UploadId, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
	})
	if status(err) == 404 { // it took so long that the upload was given up
		c.counts.refused.Add(1)
		return err
	}
	return c.wrote("complete "+e.key, err, e, v)
}

// status is that of the answer, 0 if there was none.
func status(err error) int {
	var resp *smithyhttp.ResponseError
	if errors.As(err, &resp) {
		return resp.HTTPStatusCode()
	}
	return 0
}
