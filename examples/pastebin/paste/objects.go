package paste

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// S3 says where the bytes are. Buckets are addressed by path.
type S3 struct {
	Endpoint string // URL; empty: AWS
	Region   string
	Bucket   string
	// Access and Secret are the key. Without them the key is found as AWS's own
	// tools find it: AWS_ACCESS_KEY_ID, a profile, the role of the machine.
	Access, Secret string
}

// content is what a body is stored as.
type content struct {
	hash string // SHA-256, hexadecimal
	key  string // of the object
	size int64
}

func contentOf(body []byte) content {
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	return content{hash: hash, key: "content/" + hash, size: int64(len(body))}
}

// objects are the bytes of contents in a bucket.
type objects struct {
	client *s3.Client
	bucket string
}

func openObjects(ctx context.Context, c S3) (*objects, error) {
	options := []func(*config.LoadOptions) error{config.WithRegion(c.Region)}
	if c.Access != "" {
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(c.Access, c.Secret, "")))
	}
	loaded, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return nil, fmt.Errorf("configure S3: %w", err)
	}
	client := s3.NewFromConfig(loaded, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = &c.Endpoint
		}
		o.UsePathStyle = true
		// Many S3 services do not know the checksums that are sent by default.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	return &objects{client: client, bucket: c.Bucket}, nil
}

func (o *objects) makeBucket(ctx context.Context) error {
	_, err := o.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &o.bucket})
	if missing := new(types.NotFound); errors.As(err, &missing) {
		_, err = o.client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &o.bucket})
		if owned := new(types.BucketAlreadyOwnedByYou); errors.As(err, &owned) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("make bucket %s: %w", o.bucket, err)
	}
	return nil
}

// put stores the body; storing it again changes nothing.
func (o *objects) put(ctx context.Context, c content, body []byte) error {
	_, err := o.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &o.bucket, Key: &c.key, Body: bytes.NewReader(body), ContentLength: &c.size,
		ContentType: aws.String("application/octet-stream"),
	})
	if err != nil {
		return fmt.Errorf("upload %s: %w", c.key, err)
	}
	return nil
}

// get returns the bytes of the content. If they are not there, or are others than
// the hash says, the error is ErrBytesMissing.
func (o *objects) get(ctx context.Context, c content) ([]byte, error) {
	out, err := o.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.bucket, Key: &c.key})
	if missing := new(types.NoSuchKey); errors.As(err, &missing) {
		return nil, fmt.Errorf("%w: there is no object %s", ErrBytesMissing, c.key)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.key, err)
	}
	defer out.Body.Close()
	body, err := io.ReadAll(io.LimitReader(out.Body, c.size+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.key, err)
	}
	if contentOf(body).hash != c.hash {
		return nil, fmt.Errorf("%w: object %s holds something else", ErrBytesMissing, c.key)
	}
	return body, nil
}
