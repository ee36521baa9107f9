package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// restricted makes an access key for the buckets and its client.
func (s *site) restricted(id string, readOnly bool, buckets ...string) *awss3.Client {
	s.t.Helper()
	return client(s.key(id, readOnly, buckets...), nil)
}

// key makes an access key for the buckets.
func (s *site) key(id string, readOnly bool, buckets ...string) gateway.Credentials {
	s.t.Helper()
	key := ledger.AccessKey{ID: s.bucket + "-" + id, Secret: "secret-of-" + id, Buckets: buckets, ReadOnly: readOnly, Settings: true}
	_, err := w.db.AddAccessKey(s.ctx, key)
	s.must(err)
	return gateway.Credentials{Access: key.ID, Secret: key.Secret}
}

// everything tries each kind of operation on the bucket and returns what
// failed.
func (s *site) everything(c *awss3.Client, bucket string) (reads, writes map[string]error) {
	key, source := aws.String("k"), aws.String(bucket+"/k")
	reads, writes = map[string]error{}, map[string]error{}
	_, reads["HeadBucket"] = c.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &bucket})
	_, reads["GetObject"] = c.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &bucket, Key: key})
	_, reads["HeadObject"] = c.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &bucket, Key: key})
	_, reads["ListObjects"] = c.ListObjects(s.ctx, &awss3.ListObjectsInput{Bucket: &bucket})
	_, reads["ListObjectsV2"] = c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &bucket})
	_, reads["ListObjectVersions"] = c.ListObjectVersions(s.ctx, &awss3.ListObjectVersionsInput{Bucket: &bucket})
	_, reads["ListMultipartUploads"] = c.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: &bucket})
	_, reads["GetObjectTagging"] = c.GetObjectTagging(s.ctx, &awss3.GetObjectTaggingInput{Bucket: &bucket, Key: key})
	_, reads["GetBucketAcl"] = c.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &bucket})
	_, reads["GetBucketVersioning"] = c.GetBucketVersioning(s.ctx, &awss3.GetBucketVersioningInput{Bucket: &bucket})
	_, reads["GetBucketLocation"] = c.GetBucketLocation(s.ctx, &awss3.GetBucketLocationInput{Bucket: &bucket})
	_, writes["PutObject"] = c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: aws.String("new"), Body: strings.NewReader("x")})
	_, writes["CopyObject"] = c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &bucket, Key: aws.String("copy"), CopySource: source})
	_, writes["CreateMultipartUpload"] = c.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &bucket, Key: key})
	_, writes["PutObjectTagging"] = c.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &bucket, Key: key, Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	_, writes["PutBucketTagging"] = c.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{Bucket: &bucket, Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	_, writes["DeleteObject"] = c.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("new")})
	_, writes["DeleteObjects"] = deleteOne(s, c, bucket)
	return reads, writes
}

// deleteOne deletes one key by DeleteObjects; an error of the entry counts.
func deleteOne(s *site, c *awss3.Client, bucket string) (any, error) {
	out, err := c.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{
		Bucket: &bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("copy")}}},
	})
	if err == nil && len(out.Errors) > 0 {
		return s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: aws.String("refused"), Key: out.Errors[0].Code})
	}
	return out, err
}

func (s *site) allowed(what string, ops map[string]error) {
	s.t.Helper()
	for name, err := range ops {
		if err != nil {
			s.t.Errorf("%s: %s: %v", what, name, err)
		}
	}
}

func (s *site) refused(what string, ops map[string]error) {
	s.t.Helper()
	for name, err := range ops {
		if err == nil {
			s.t.Errorf("%s: %s was allowed", what, name)
			continue
		}
		if status, _ := errorOf(err); status != http.StatusForbidden && name != "DeleteObjects" {
			s.t.Errorf("%s: %s: %v", what, name, err)
		}
	}
}

func TestKeysAreConfinedToTheirBuckets(t *testing.T) {
	s, other := newSite(t), newSite(t)
	s.put("k", "x", nil)
	other.put("k", "theirs", nil)
	c := s.restricted("rw", false, s.bucket)
	reads, writes := s.everything(c, s.bucket)
	s.allowed("its bucket", reads)
	s.allowed("its bucket", writes)
	reads, writes = s.everything(c, other.bucket)
	s.refused("another bucket", reads)
	s.refused("another bucket", writes)
	reads, _ = s.everything(c, "no-such-bucket")
	s.refused("a bucket that is not there", reads)
	list, err := c.ListBuckets(s.ctx, &awss3.ListBucketsInput{})
	s.must(err)
	if len(list.Buckets) != 1 || *list.Buckets[0].Name != s.bucket {
		t.Errorf("buckets: %+v", list.Buckets)
	}
	reads, writes = s.everything(s.restricted("none", false), s.bucket)
	s.refused("a key without buckets", reads)
	s.refused("a key without buckets", writes)
}

func TestReadOnlyKeys(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	c := s.restricted("ro", true, s.bucket)
	reads, writes := s.everything(c, s.bucket)
	s.allowed("read-only key", reads)
	s.refused("read-only key", writes)
	_, err := c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: aws.String(s.bucket + "-new")})
	s.fails(err, 403, "AccessDenied")
}

func TestCopySourcesAreConfined(t *testing.T) {
	s, other := newSite(t), newSite(t)
	other.put("k", "theirs", nil)
	c := s.restricted("rw", false, s.bucket)
	for _, source := range []string{"/k", "%2Fk", "/k?versionId=null"} {
		_, err := c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("c"), CopySource: aws.String(other.bucket + source)})
		s.fails(err, 403, "AccessDenied")
	}
	up := s.create("k", nil)
	_, err := c.UploadPartCopy(s.ctx, &awss3.UploadPartCopyInput{
		Bucket: &s.bucket, Key: &up.key, UploadId: &up.id, PartNumber: aws.Int32(1), CopySource: aws.String(other.bucket + "/k"),
	})
	s.fails(err, 403, "AccessDenied")
	if keys := s.keys(); len(keys) != 0 {
		t.Errorf("copied: %q", keys)
	}
}

func TestKeysMakeBucketsOfTheirList(t *testing.T) {
	s := newSite(t)
	name := s.bucket + "-own"
	c := s.restricted("rw", false, name)
	_, err := c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: aws.String(s.bucket + "-else")})
	s.fails(err, 403, "AccessDenied")
	_, err = c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
	s.must(err)
	_, err = c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
	s.fails(err, 409, "BucketAlreadyOwnedByYou")
	_, err = s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
	s.fails(err, 409, "BucketAlreadyExists")
	b, err := w.db.Bucket(s.ctx, name)
	s.must(err)
	if b.Owner != s.bucket+"-rw" {
		t.Errorf("owner %q", b.Owner)
	}
}

func TestPoliciesNeitherWidenNorLoseAKey(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	inside, outside := s.restricted("in", false, s.bucket), s.restricted("out", false)
	policy := strings.NewReplacer("BUCKET", s.bucket).Replace(`{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Principal":{"AWS":["BUCKET-out"]},"Action":"s3:*","Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]},
		{"Effect":"Deny","Principal":{"AWS":["BUCKET-in"]},"Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/secret*"}]}`)
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &policy})
	s.must(err)
	s.put("secret", "x", nil)
	_, err = inside.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	_, err = inside.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("secret")})
	s.fails(err, 403, "AccessDenied")
	_, err = outside.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.fails(err, 403, "AccessDenied")
	for _, c := range []*awss3.Client{s.Client, inside} {
		got, err := c.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
		s.must(err)
		if *got.Policy != policy {
			t.Errorf("the policy came back changed: %s", *got.Policy)
		}
	}
}

func TestRemovedKeyIsRefused(t *testing.T) {
	s := newSite(t)
	c := s.restricted("rw", false, s.bucket)
	_, err := c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket})
	s.must(err)
	s.must(w.db.RemoveAccessKey(s.ctx, s.bucket+"-rw"))
	_, err = c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket})
	s.fails(err, 403, "InvalidAccessKeyId")
}

func TestPublicBucket(t *testing.T) {
	s := newSite(t)
	s.put("k", "x", nil)
	url := "http://" + w.addr + "/" + s.bucket + "/k"
	get := func(method string) int {
		r, err := http.NewRequestWithContext(s.ctx, method, url, nil)
		s.must(err)
		status, _, _ := s.send(r)
		return status
	}
	if got := get(http.MethodGet); got != 403 {
		t.Errorf("before: %d", got)
	}
	policy := `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + s.bucket + `/*"}]}`
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &policy})
	s.must(err)
	if got := get(http.MethodGet); got != 200 {
		t.Errorf("reading a public object: %d", got)
	}
	if got := get(http.MethodDelete); got != 403 {
		t.Errorf("deleting a public object: %d", got)
	}
	s.get("k")
}
