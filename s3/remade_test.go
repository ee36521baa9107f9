package s3_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// What an account began to write into a bucket does not come to lie in another
// account's, which has got the name meanwhile.
func TestBodiesDoNotEndInABucketMadeAnew(t *testing.T) {
	s := newSite(t)
	alice := s.key("alice", false, "@account")
	hers, his := client(alice, nil), s.restricted("bob", false, "@account")
	bucket, size := s.bucket+"-hers", 16<<20
	_, err := hers.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	s.must(err)
	in, out := io.Pipe()
	r := s.raw(http.MethodPut, "-hers/k", nil)
	r.Body, r.ContentLength = in, int64(size)
	status := make(chan int, 1)
	go func() {
		got, _, _ := s.send(signed(r, alice, "UNSIGNED-PAYLOAD"))
		status <- got
	}()
	// It was decided on what comes to be more than all buffers on the way hold.
	_, err = io.WriteString(out, strings.Repeat("x", size-1))
	s.must(err)
	_, err = hers.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &bucket})
	s.must(err)
	_, err = his.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &bucket})
	s.must(err)
	_, err = io.WriteString(out, "x")
	s.must(err)
	s.must(out.Close())
	if got := <-status; got != http.StatusNotFound {
		t.Errorf("the body of another's bucket: %d", got)
	}
	s.fails(getAs(s, his, bucket, "k"), 404, "NoSuchKey")
}
