package servers

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// S3 is how to reach an S3 server. Buckets are addressed by path.
type S3 struct {
	Endpoint string // URL
	Access   string
	Secret   string
	Region   string
}

// Client of the server, without retries.
func (s S3) Client() *s3.Client {
	key := aws.Credentials{AccessKeyID: s.Access, SecretAccessKey: s.Secret}
	return s3.New(s3.Options{
		Region: s.Region, BaseEndpoint: &s.Endpoint, UsePathStyle: true, RetryMaxAttempts: 1,
		HTTPClient:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: time.Minute},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return key, nil }),
	})
}

// Bucket makes a fresh bucket and answers its name.
func (s S3) Bucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("lethe-test-%d-%d", os.Getpid(), buckets.Add(1))
	if _, err := s.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// At is the same server at another address, that of a proxy for one.
func (s S3) At(addr string) S3 {
	s.Endpoint = "http://" + addr
	return s
}

var buckets atomic.Int64

// S3Server is an S3 server of its own.
type S3Server struct {
	S3
	Addr string // host:port

	t       testing.TB
	process *process
}

// Path returns the file that holds the bytes of an object of NewVersityGW.
func (s *S3Server) Path(bucket, key string) string {
	return filepath.Join(s.process.folder.path, "objects", bucket, key)
}

// Kill ends the server as kill -9 does; what it stored stays.
func (s *S3Server) Kill() { s.process.kill() }

// Restart starts it again at its address.
func (s *S3Server) Restart() {
	s.t.Helper()
	if err := s.process.start(); err != nil {
		s.t.Fatal(err)
	}
}

// Freeze makes the server stop answering while connections stay open, until
// Thaw.
func (s *S3Server) Freeze() { s.process.freeze() }

// Thaw ends Freeze.
func (s *S3Server) Thaw() { s.process.thaw() }

// s3Program is an S3 server that runs as a program.
type s3Program struct {
	need
	args func(addr, folder string) []string
	env  []string
}

const (
	accessKey = "lethetestaccess"
	secretKey = "lethetestsecret"
	region    = "us-east-1"
)

// start runs the program and waits until it lists buckets.
func (p s3Program) start(path string) (*process, S3, error) {
	f, err := newFolder(self())
	if err != nil {
		return nil, S3{}, err
	}
	here := S3{Access: accessKey, Secret: secretKey, Region: region}
	run, addr, err := onFreePort(func(addr string) (*process, error) {
		at := here.At(addr)
		return &process{launch: launch{
			args: append([]string{path}, p.args(addr, f.path)...), env: p.env, folder: f,
			end: syscall.SIGTERM, orphan: syscall.SIGKILL,
			answers: func(ctx context.Context) error {
				ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				_, err := at.Client().ListBuckets(ctx, &s3.ListBucketsInput{})
				return err
			},
		}}, nil
	})
	return run, here.At(addr), err
}

// launch starts one for the test alone.
func (p s3Program) launch(t testing.TB) *S3Server {
	t.Helper()
	run, at, err := p.start(decide(t, p.need))
	if err != nil {
		t.Fatal(err)
	}
	run.endWith(t)
	return &S3Server{S3: at, Addr: at.Endpoint[len("http://"):], t: t, process: run}
}
