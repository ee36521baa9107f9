package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/object"
)

const (
	demoBucket  = "demo"
	demoLife    = 30 * time.Second
	demoWorkers = 8
)

// load puts and gets the tour's objects.
type load struct {
	app    *app.App
	s3     *awss3.Client
	end    lethe.Time // end of the last short life
	before int64      // bytes on the disk when everything is stored
}

func newLoad(ctx context.Context, a *app.App) (*load, error) {
	root := a.Root
	l := &load{app: a, s3: awss3.New(awss3.Options{
		BaseEndpoint: aws.String(a.Addresses().S3), Region: a.Config.Server.Region, UsePathStyle: true,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: root.Access, SecretAccessKey: root.Secret.Reveal()}, nil
		}),
	})}
	_, err := l.s3.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String(demoBucket)})
	return l, err
}

func objectKey(i int) string { return fmt.Sprintf("object/%06d", i) }

// body returns one of a third as many contents as objects: 1 to 64 KiB that do
// not compress, the same for an object in every tour.
func body(i, objects int) []byte {
	seed := uint64(i % max(objects/3, 1))
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	b := make([]byte, 1024+r.Uint64()%(63<<10))
	_, _ = r.Read(b) // never fails
	return b
}

// put puts the objects concurrently.
func (l *load) put(ctx context.Context, objects int, bar *progress) error {
	defer bar.done()
	var done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(demoWorkers)
	for i := range objects {
		group.Go(func() error {
			if err := l.one(ctx, i, body(i, objects)); err != nil {
				return err
			}
			done.Add(1)
			return nil
		})
		if i%50 == 0 {
			bar.show(&api.Progress{What: "put", Done: done.Load(), Total: int64(objects)})
		}
	}
	err := group.Wait()
	l.end = lethe.SystemClock{}.Now().Add(demoLife)
	return err
}

// one puts an object: even ones through S3, odd ones through the library; every
// tenth does not expire.
func (l *load) one(ctx context.Context, i int, b []byte) error {
	ttl := demoLife
	if i%10 == 0 {
		ttl = 0
	}
	if i%2 == 1 {
		_, err := l.app.Objects.Put(ctx, object.PutRequest{
			Bucket: demoBucket, Key: objectKey(i), Body: bytes.NewReader(b), Size: int64(len(b)), TTL: ttl,
		})
		return err
	}
	in := &awss3.PutObjectInput{Bucket: aws.String(demoBucket), Key: aws.String(objectKey(i)), Body: bytes.NewReader(b)}
	if ttl > 0 {
		in.Metadata = map[string]string{"ttl": lethe.FormatTTL(ttl)}
	}
	_, err := l.s3.PutObject(ctx, in)
	return err
}

// waitForEnd waits until all short lives have ended.
func (l *load) waitForEnd(ctx context.Context) error {
	return lethe.Sleep(ctx, max(l.end.Sub(lethe.SystemClock{}.Now()), 0)+100*time.Millisecond)
}

// get returns the result of a GET through S3: "200" or the error's code.
func (l *load) get(ctx context.Context, key string) (string, error) {
	res, err := l.s3.GetObject(ctx, &awss3.GetObjectInput{Bucket: aws.String(demoBucket), Key: aws.String(key)})
	var failed smithy.APIError
	if errors.As(err, &failed) {
		return failed.ErrorCode(), nil
	}
	if err != nil {
		return "", err
	}
	return "200", res.Body.Close()
}

// diskUse counts the files on the backends and their bytes.
func diskUse(a *app.App) (files, bytes int64, err error) {
	for _, b := range a.Config.Backends {
		err = errors.Join(err, filepath.WalkDir(a.Config.InDataDir(b.Path), func(_ string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			info, err := d.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil {
				files++
				bytes += info.Size()
			}
			return err
		}))
	}
	return files, bytes, err
}
