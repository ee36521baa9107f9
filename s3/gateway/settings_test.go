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

// withLists enables access control lists in the bucket.
func (s *site) withLists() {
	s.t.Helper()
	_, err := s.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{Bucket: &s.bucket, OwnershipControls: &types.OwnershipControls{
		Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipObjectWriter}},
	}})
	s.must(err)
}

// settings tries each operation that changes the bucket's documents, or decides
// on its objects, and returns what failed.
func (s *site) settings(c *awss3.Client) map[string]error {
	b, key := &s.bucket, aws.String("k")
	errs := map[string]error{}
	_, errs["PutBucketPolicy"] = c.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: b, Policy: aws.String(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + s.bucket + `/*"}]}`)})
	_, errs["DeleteBucketPolicy"] = c.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: b})
	_, errs["PutBucketAcl"] = c.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: b, ACL: types.BucketCannedACLPublicRead})
	_, errs["PutObjectAcl"] = c.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: b, Key: key, ACL: types.ObjectCannedACLPublicRead})
	_, errs["PutBucketCors"] = c.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: b, CORSConfiguration: &types.CORSConfiguration{
		CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}},
	}})
	_, errs["DeleteBucketCors"] = c.DeleteBucketCors(s.ctx, &awss3.DeleteBucketCorsInput{Bucket: b})
	_, errs["PutBucketLifecycle"] = c.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{
		Bucket: b, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: aws.String("all"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
			Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
		}}},
	})
	_, errs["DeleteBucketLifecycle"] = c.DeleteBucketLifecycle(s.ctx, &awss3.DeleteBucketLifecycleInput{Bucket: b})
	_, errs["PutBucketTagging"] = c.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{Bucket: b, Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	_, errs["DeleteBucketTagging"] = c.DeleteBucketTagging(s.ctx, &awss3.DeleteBucketTaggingInput{Bucket: b})
	_, errs["PutOwnership"] = c.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{Bucket: b, OwnershipControls: &types.OwnershipControls{
		Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipObjectWriter}},
	}})
	_, errs["DeleteOwnership"] = c.DeleteBucketOwnershipControls(s.ctx, &awss3.DeleteBucketOwnershipControlsInput{Bucket: b})
	_, errs["PutPublicAccessBlock"] = c.PutPublicAccessBlock(s.ctx, &awss3.PutPublicAccessBlockInput{
		Bucket: b, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{BlockPublicPolicy: aws.Bool(false)},
	})
	_, errs["DeletePublicAccessBlock"] = c.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: b})
	_, errs["PutObjectLegalHold"] = c.PutObjectLegalHold(s.ctx, &awss3.PutObjectLegalHoldInput{
		Bucket: b, Key: key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOff},
	})
	_, errs["PutBucketVersioning"] = c.PutBucketVersioning(s.ctx, &awss3.PutBucketVersioningInput{
		Bucket: b, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	_, errs["CreateBucket"] = c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: b})
	_, errs["DeleteBucket"] = c.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: b})
	return errs
}

// A key without settings works with objects, and cannot change its bucket's
// documents, even if it acts for the bucket's owner.
func TestKeysWithoutSettings(t *testing.T) {
	s := newSite(t)
	s.withLists()
	s.put("k", "x", nil)
	for id, buckets := range map[string][]string{"named": {s.bucket}, "all": {"*"}} {
		key := ledger.AccessKey{ID: s.bucket + "-" + id, Secret: "secret-of-" + id, Owner: root.Access, Buckets: buckets}
		_, err := w.db.AddAccessKey(s.ctx, key)
		s.must(err)
		c := client(gateway.Credentials{Access: key.ID, Secret: key.Secret}, nil)
		s.refused(id, s.settings(c))
		reads, writes := s.everything(c, s.bucket)
		delete(writes, "PutBucketTagging")
		s.allowed(id, reads)
		s.allowed(id, writes)
	}
}

// A key without settings cannot open what it stores to others.
func TestKeysWithoutSettingsCannotShare(t *testing.T) {
	s := newSite(t)
	s.withLists()
	_, err := s.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: &s.bucket})
	s.must(err)
	key := ledger.AccessKey{ID: s.bucket + "-plain", Secret: "secret-of-plain", Buckets: []string{s.bucket}}
	_, err = w.db.AddAccessKey(s.ctx, key)
	s.must(err)
	c := client(gateway.Credentials{Access: key.ID, Secret: key.Secret}, nil)
	put := func(acl types.ObjectCannedACL) error {
		_, err := c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x"), ACL: acl})
		return err
	}
	s.must(put(types.ObjectCannedACLPrivate))
	s.fails(put(types.ObjectCannedACLPublicRead), http.StatusForbidden, "AccessDenied")
}
