package gateway_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/s3/gateway"
)

// A listing that is not URL-encoded never shows a wrong key: what XML cannot
// represent makes it unreadable.
func TestUnencodedListingsNeverShowAWrongKey(t *testing.T) {
	s := newSite(t)
	fine := "a\tb\nc\rd\ufffd"
	s.put(fine, "", nil)
	if got := s.keys(); !slices.Equal(got, []string{fine}) {
		t.Errorf("listed %q, want %q", got, fine)
	}
	for _, key := range []string{"\v", "dir\x01/x", "\ufffe"} {
		s.put(key, "", nil)
		up, err := s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: &key})
		s.must(err)
		var syntax *xml.SyntaxError
		_, err = s.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &s.bucket, Delimiter: aws.String("/")})
		if !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want a syntax error", key, err)
		}
		_, err = s.ListObjects(s.ctx, &awss3.ListObjectsInput{Bucket: &s.bucket})
		if !errors.As(err, &syntax) {
			t.Errorf("%q: got %v, want a syntax error", key, err)
		}
		_, err = s.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: &s.bucket})
		if !errors.As(err, &syntax) {
			t.Errorf("%q among uploads: got %v, want a syntax error", key, err)
		}
		_, err = s.AbortMultipartUpload(s.ctx, &awss3.AbortMultipartUploadInput{Bucket: &s.bucket, Key: &key, UploadId: up.UploadId})
		s.must(err)
		_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: &key})
		s.must(err)
	}
}

func TestVersionsAreListedInPages(t *testing.T) {
	s := newSite(t)
	var want, got []string
	for i := range 5 {
		want = append(want, itoa(i))
		s.put(itoa(i), "", nil)
	}
	pages := awss3.NewListObjectVersionsPaginator(s.Client, &awss3.ListObjectVersionsInput{Bucket: &s.bucket, MaxKeys: aws.Int32(2)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.ctx)
		s.must(err)
		for _, v := range page.Versions {
			got = append(got, *v.Key)
		}
		if *page.IsTruncated != (aws.ToString(page.NextVersionIdMarker) == "null") {
			t.Errorf("truncated %v, next version %v", *page.IsTruncated, aws.ToString(page.NextVersionIdMarker))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestNotModifiedNamesTheETag(t *testing.T) {
	s := newSite(t)
	etag := *s.put("k", "body", nil).ETag
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		r, err := http.NewRequest(method, "http://"+s.addr+"/"+s.bucket+"/k", nil)
		s.must(err)
		r.Header.Set("If-None-Match", etag)
		status, header, _ := s.send(signed(r, root, "UNSIGNED-PAYLOAD"))
		if status != 304 || header.Get("ETag") != etag || header.Get("Last-Modified") == "" {
			t.Errorf("%s: %d, ETag %q, Last-Modified %q", method, status, header.Get("ETag"), header.Get("Last-Modified"))
		}
	}
}

func TestTagsComeInOrder(t *testing.T) {
	s := newSite(t)
	var want, got []string
	var set []types.Tag
	for i := range 10 {
		set = append(set, types.Tag{Key: aws.String(strings.Repeat("k", 10-i)), Value: aws.String("v")})
		want = append(want, strings.Repeat("k", i+1))
	}
	s.put("k", "", nil)
	_, err := s.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k"), Tagging: &types.Tagging{TagSet: set}})
	s.must(err)
	out, err := s.GetObjectTagging(s.ctx, &awss3.GetObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	for _, tag := range out.TagSet {
		got = append(got, *tag.Key)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A server may enable access control lists by default. The client's choice
// overrides that, and the signature stays valid.
func TestDefaultOwnership(t *testing.T) {
	addr, _ := another(t, func(o *gateway.Options) { o.Ownership = types.ObjectOwnershipBucketOwnerPreferred })
	s := newSite(t)
	c := at("http://"+addr, nil)
	made := func(c *awss3.Client, o types.ObjectOwnership) (types.ObjectOwnership, error) {
		name := aws.String(fmt.Sprintf("bucket-%d", sites.Add(1)))
		_, err := c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: name, ACL: types.BucketCannedACLPublicRead, ObjectOwnership: o})
		if err != nil {
			return "", err
		}
		out, err := c.GetBucketOwnershipControls(s.ctx, &awss3.GetBucketOwnershipControlsInput{Bucket: name})
		s.must(err)
		acl, err := c.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: name})
		s.must(err)
		if len(acl.Grants) != 2 {
			t.Errorf("%d grants, want the owner's and everybody's", len(acl.Grants))
		}
		return out.OwnershipControls.Rules[0].ObjectOwnership, nil
	}
	got, err := made(c, "")
	if s.must(err); got != types.ObjectOwnershipBucketOwnerPreferred {
		t.Errorf("got %s, want the server's", got)
	}
	got, err = made(c, types.ObjectOwnershipObjectWriter)
	if s.must(err); got != types.ObjectOwnershipObjectWriter {
		t.Errorf("got %s, want the client's", got)
	}
	_, err = made(c, types.ObjectOwnershipBucketOwnerEnforced)
	s.fails(err, 400, "InvalidBucketAclWithObjectOwnership")
	_, err = made(s.Client, "")
	s.fails(err, 400, "InvalidBucketAclWithObjectOwnership")
	_, err = made(client(gateway.Credentials{Access: root.Access, Secret: strings.Repeat("x", 20)}, func(o *awss3.Options) {
		o.BaseEndpoint = aws.String("http://" + addr)
	}), "")
	s.fails(err, 403, "SignatureDoesNotMatch")
}

func TestPartsComeWithTheirChecksums(t *testing.T) {
	s := newSite(t)
	up := s.create("k", crc32)
	up.part(1, pattern(minPart))
	up.part(2, []byte("the last"))
	up.complete()
	for i, p := range up.parts {
		got, err := s.GetObject(s.ctx, &awss3.GetObjectInput{
			Bucket: &s.bucket, Key: &up.key, PartNumber: p.PartNumber, ChecksumMode: types.ChecksumModeEnabled,
		})
		s.must(err)
		s.read(got.Body)
		head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{
			Bucket: &s.bucket, Key: &up.key, PartNumber: p.PartNumber, ChecksumMode: types.ChecksumModeEnabled,
		})
		s.must(err)
		for _, c := range []*string{got.ChecksumCRC32, head.ChecksumCRC32} {
			if aws.ToString(c) != *p.ChecksumCRC32 {
				t.Errorf("part %d: checksum %q, want %q", i+1, aws.ToString(c), *p.ChecksumCRC32)
			}
		}
		if got.ChecksumType != types.ChecksumTypeComposite || head.ChecksumType != types.ChecksumTypeComposite {
			t.Errorf("part %d: types %q and %q", i+1, got.ChecksumType, head.ChecksumType)
		}
	}
	some, err := s.GetObject(s.ctx, &awss3.GetObjectInput{
		Bucket: &s.bucket, Key: &up.key, Range: aws.String("bytes=1-5"), ChecksumMode: types.ChecksumModeEnabled,
	})
	s.must(err)
	if s.read(some.Body); some.ChecksumCRC32 != nil {
		t.Error("a range comes with a checksum that is not its own")
	}
}

func TestBucketNamesAreHostNames(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{"foo..bar", "foo.-bar", "foo-.bar"} {
		_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name})
		s.fails(err, 400, "InvalidBucketName")
	}
}

// Access control lists cannot be disabled while they grant something: the
// grants would stay in effect.
func TestOwnershipIsNotEnforcedOverGrants(t *testing.T) {
	s := newSite(t)
	set := func(o types.ObjectOwnership) error {
		_, err := s.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{
			Bucket: &s.bucket, OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: o}}},
		})
		return err
	}
	grant := func(acl types.BucketCannedACL) {
		_, err := s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, ACL: acl})
		s.must(err)
	}
	s.must(set(types.ObjectOwnershipBucketOwnerPreferred))
	grant(types.BucketCannedACLPublicRead)
	s.fails(set(types.ObjectOwnershipBucketOwnerEnforced), 400, "InvalidBucketAclWithObjectOwnership")
	grant(types.BucketCannedACLPrivate)
	s.must(set(types.ObjectOwnershipBucketOwnerEnforced))
}
