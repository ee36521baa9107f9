package gateway_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// dates is a client that checks the dates and the namespace of every response.
type dates struct {
	t    *testing.T
	seen map[string]int // count of each header or element
}

var (
	dateElements = regexp.MustCompile(`<(LastModified|CreationDate|Initiated|Date|AbortDate)>([^<]*)</`)
	rootElement  = regexp.MustCompile(`^(?:<\?xml[^>]*\?>\s*)?<(\w+)([^>]*)>`)
)

// Do implements the SDK's HTTP client.
func (d *dates) Do(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	name := r.Method + " " + r.URL.RawQuery
	for _, header := range []string{"Date", "Last-Modified", "Expires", "X-Amz-Abort-Date"} {
		if value := resp.Header.Get(header); value != "" {
			d.seen[header]++
			if _, err := time.Parse(http.TimeFormat, value); err != nil {
				d.t.Errorf("%s: %s is %q", name, header, value)
			}
		}
	}
	body, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		d.t.Error(err)
	}
	for _, m := range dateElements.FindAllSubmatch(body, -1) {
		d.seen[string(m[1])]++
		if _, err := time.Parse(time.RFC3339, string(m[2])); err != nil || !bytes.HasSuffix(m[2], []byte("Z")) {
			d.t.Errorf("%s: %s", name, m[0])
		}
	}
	if m := rootElement.FindSubmatch(body); m != nil && string(m[1]) != "Error" && !strings.Contains(string(m[2]), "http://s3.amazonaws.com/doc/2006-03-01/") {
		d.t.Errorf("%s: <%s%s> has no namespace", name, m[1], m[2])
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}

// U16: dates have HTTP's form in headers and ISO 8601 in documents, in every
// response that has one. Documents are in S3's namespace.
func TestEveryResponseHasADate(t *testing.T) {
	s := newSite(t)
	d := &dates{t: t, seen: map[string]int{}}
	s.Client = client(root, func(o *awss3.Options) { o.HTTPClient = d })
	b, k := &s.bucket, aws.String("k")
	s.put("k", "body", map[string]string{"ttl": "30d"})
	did := func(_ any, err error) {
		t.Helper()
		s.must(err)
	}
	did(s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: b, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/k")}))
	up, err := s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: b, Key: aws.String("up"), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32})
	s.must(err)
	part, err := s.UploadPart(s.ctx, &awss3.UploadPartInput{Bucket: b, Key: aws.String("up"), UploadId: up.UploadId, PartNumber: aws.Int32(1),
		Body: bytes.NewReader(pattern(minPart)), ChecksumAlgorithm: types.ChecksumAlgorithmCrc32})
	s.must(err)
	copied, err := s.UploadPartCopy(s.ctx, &awss3.UploadPartCopyInput{Bucket: b, Key: aws.String("up"), UploadId: up.UploadId, PartNumber: aws.Int32(2), CopySource: aws.String(s.bucket + "/k")})
	s.must(err)
	did(s.ListParts(s.ctx, &awss3.ListPartsInput{Bucket: b, Key: aws.String("up"), UploadId: up.UploadId}))
	did(s.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: b}))
	did(s.CompleteMultipartUpload(s.ctx, &awss3.CompleteMultipartUploadInput{Bucket: b, Key: aws.String("up"), UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{
			{PartNumber: aws.Int32(1), ETag: part.ETag, ChecksumCRC32: part.ChecksumCRC32},
			{PartNumber: aws.Int32(2), ETag: copied.CopyPartResult.ETag, ChecksumCRC32: copied.CopyPartResult.ChecksumCRC32},
		}}}))
	for _, key := range []*string{k, aws.String("up")} {
		did(s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: b, Key: key}))
		got, err := s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: b, Key: key})
		s.must(err)
		_, err = s.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: b, Key: key, IfNoneMatch: got.ETag})
		s.fails(err, 304, "NotModified")
		did(s.GetObjectAttributes(s.ctx, &awss3.GetObjectAttributesInput{Bucket: b, Key: key, ObjectAttributes: types.ObjectAttributes("").Values()}))
		did(s.GetObjectAcl(s.ctx, &awss3.GetObjectAclInput{Bucket: b, Key: key}))
		did(s.GetObjectTagging(s.ctx, &awss3.GetObjectTaggingInput{Bucket: b, Key: key}))
	}
	s.datesOfBuckets(did)
	for _, name := range []string{"Date", "Last-Modified", "LastModified", "CreationDate", "Initiated"} {
		if d.seen[name] == 0 {
			t.Errorf("no answer had %s", name)
		}
	}
}

// datesOfBuckets runs the operations on a bucket.
func (s *site) datesOfBuckets(did func(any, error)) {
	s.t.Helper()
	b := &s.bucket
	did(s.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{Bucket: b, Tagging: &types.Tagging{TagSet: []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}}}))
	did(s.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: b, CORSConfiguration: &types.CORSConfiguration{
		CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}}}}))
	did(s.PutPublicAccessBlock(s.ctx, &awss3.PutPublicAccessBlockInput{Bucket: b, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{}}))
	did(s.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{Bucket: b, LifecycleConfiguration: &types.BucketLifecycleConfiguration{
		Rules: []types.LifecycleRule{{ID: aws.String("r"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("p/")},
			Expiration: &types.LifecycleExpiration{Days: aws.Int32(30)}}}}}))
	did(s.ListBuckets(s.ctx, &awss3.ListBucketsInput{}))
	did(s.ListObjects(s.ctx, &awss3.ListObjectsInput{Bucket: b}))
	did(s.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: b}))
	did(s.ListObjectVersions(s.ctx, &awss3.ListObjectVersionsInput{Bucket: b}))
	did(s.GetBucketLocation(s.ctx, &awss3.GetBucketLocationInput{Bucket: b}))
	did(s.GetBucketVersioning(s.ctx, &awss3.GetBucketVersioningInput{Bucket: b}))
	did(s.GetBucketTagging(s.ctx, &awss3.GetBucketTaggingInput{Bucket: b}))
	did(s.GetBucketCors(s.ctx, &awss3.GetBucketCorsInput{Bucket: b}))
	did(s.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: b}))
	did(s.GetBucketOwnershipControls(s.ctx, &awss3.GetBucketOwnershipControlsInput{Bucket: b}))
	did(s.GetPublicAccessBlock(s.ctx, &awss3.GetPublicAccessBlockInput{Bucket: b}))
	did(s.GetBucketLifecycleConfiguration(s.ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: b}))
	did(s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: b, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: aws.String("copy")}}}}))
}
