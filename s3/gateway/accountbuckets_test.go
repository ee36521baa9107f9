package gateway_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// An account may own a limited number of buckets, the root any. A deleted
// bucket does not count.
func TestAccountsHaveABucketLimit(t *testing.T) {
	s := newSite(t)
	c, name := s.account("collector")
	other, otherName := s.account("bystander")
	create := func(c *awss3.Client, name string) error {
		_, err := c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
		return err
	}
	for i := range accountBuckets {
		s.must(create(c, fmt.Sprint(name, i)))
	}
	s.fails(create(c, name+"-more"), 400, "TooManyBuckets")
	s.fails(create(c, name+"0"), 409, "BucketAlreadyOwnedByYou")
	s.must(create(other, otherName))
	s.must(create(s.Client, name+"-of-root"))
	s.fails(create(c, name+"-of-root"), 409, "BucketAlreadyExists")
	_, err := c.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: aws.String(name + "0")})
	s.must(err)
	s.must(create(c, name+"-more"))
	for i := range accountBuckets + 1 {
		s.must(create(s.Client, fmt.Sprint(name, "-root-", i)))
	}
}
