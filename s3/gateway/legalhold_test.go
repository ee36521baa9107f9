package gateway_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/ledger"
)

// legalHold sets the legal hold of a key, or removes it.
func (s *site) legalHold(key string, status types.ObjectLockLegalHoldStatus) error {
	_, err := s.PutObjectLegalHold(s.ctx, &awss3.PutObjectLegalHoldInput{
		Bucket: &s.bucket, Key: &key, LegalHold: &types.ObjectLockLegalHold{Status: status},
	})
	return err
}

// denied checks that an error is AccessDenied.
func (s *site) denied(what string, err error) {
	s.t.Helper()
	var api smithy.APIError
	if !errors.As(err, &api) || api.ErrorCode() != "AccessDenied" {
		s.t.Errorf("%s of what is held: %v, want AccessDenied", what, err)
	}
}

func TestLegalHold(t *testing.T) {
	s := newSite(t)
	s.put("k", "body", nil)
	s.put("other", "body", nil)
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOn))
	got, err := s.GetObjectLegalHold(s.ctx, &awss3.GetObjectLegalHoldInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	if got.LegalHold.Status != types.ObjectLockLegalHoldStatusOn {
		t.Errorf("the legal hold is %s", got.LegalHold.Status)
	}
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.denied("delete", err)
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("new")})
	s.denied("overwrite", err)
	out, err := s.DeleteObjects(s.ctx, &awss3.DeleteObjectsInput{Bucket: &s.bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{
		{Key: aws.String("k")}, {Key: aws.String("other")},
	}}})
	s.must(err)
	if len(out.Deleted) != 1 || len(out.Errors) != 1 || aws.ToString(out.Errors[0].Code) != "AccessDenied" {
		t.Errorf("a batch delete with a held key: %+v, %+v", out.Deleted, out.Errors)
	}
	if body, _ := s.get("k"); body != "body" {
		t.Errorf("what is held became %q", body)
	}
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOff))
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOff))
	_, err = s.GetObjectLegalHold(s.ctx, &awss3.GetObjectLegalHoldInput{Bucket: &s.bucket, Key: aws.String("k")})
	if err == nil {
		t.Error("a legal hold that was released is still told")
	}
	_, err = s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
}

// A legal hold keeps the bytes of an object that has ended, and its key from others. Clients, who
// do not see the object any more, can still release the hold.
func TestLegalHoldOfAnEndedObject(t *testing.T) {
	s := newSite(t)
	s.put("k", "body", map[string]string{"ttl": "1h"})
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOn))
	w.clock.Advance(2 * time.Hour)
	put := func() error {
		_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("new")})
		return err
	}
	s.denied("overwrite", put())
	got, err := s.GetObjectLegalHold(s.ctx, &awss3.GetObjectLegalHoldInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	if got.LegalHold.Status != types.ObjectLockLegalHoldStatusOn {
		t.Errorf("the legal hold is %s", got.LegalHold.Status)
	}
	s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOff))
	for _, status := range []types.ObjectLockLegalHoldStatus{types.ObjectLockLegalHoldStatusOn, types.ObjectLockLegalHoldStatusOff} {
		s.fails(s.legalHold("k", status), 404, "NoSuchKey")
	}
	s.must(put())
}

// A bucket that is not deleted for its holds keeps its uploads.
func TestHeldBucketKeepsItsUploads(t *testing.T) {
	s := newSite(t)
	up := s.create("up", nil)
	h := ledger.Hold{Bucket: s.bucket, Scope: ledger.HoldPrefix, Key: "", Reason: "audit", By: "me"}
	_, err := w.db.AddHold(s.ctx, h)
	s.must(err)
	_, err = s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
	s.denied("deleting a held bucket", err)
	_, err = s.ListParts(s.ctx, &awss3.ListPartsInput{Bucket: &s.bucket, Key: aws.String("up"), UploadId: &up.id})
	s.must(err)
	s.must(w.db.ReleaseHold(s.ctx, h))
	_, err = s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
	s.must(err)
}
