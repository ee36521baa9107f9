package gateway_test

import (
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
)

// ungrantable tries what no access control list grants.
func (s *site) ungrantable(c *awss3.Client) map[string]error {
	errs, bucket, key := map[string]error{}, &s.bucket, aws.String("k")
	policy := strings.ReplaceAll(`{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}]}`, "BUCKET", s.bucket)
	rules := types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
		ID: aws.String("x"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("k")},
		Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
	}}}
	_, errs["PutBucketPolicy"] = c.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: bucket, Policy: &policy})
	_, errs["GetBucketPolicy"] = c.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: bucket})
	_, errs["GetBucketPolicyStatus"] = c.GetBucketPolicyStatus(s.ctx, &awss3.GetBucketPolicyStatusInput{Bucket: bucket})
	_, errs["DeleteBucketPolicy"] = c.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: bucket})
	_, errs["PutBucketLifecycle"] = c.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{Bucket: bucket, LifecycleConfiguration: &rules})
	_, errs["GetBucketLifecycle"] = c.GetBucketLifecycleConfiguration(s.ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: bucket})
	_, errs["DeleteBucketLifecycle"] = c.DeleteBucketLifecycle(s.ctx, &awss3.DeleteBucketLifecycleInput{Bucket: bucket})
	_, errs["PutPublicAccessBlock"] = c.PutPublicAccessBlock(s.ctx, &awss3.PutPublicAccessBlockInput{
		Bucket: bucket, PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{},
	})
	_, errs["DeletePublicAccessBlock"] = c.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: bucket})
	_, errs["PutBucketOwnershipControls"] = c.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{
		Bucket: bucket, OwnershipControls: &types.OwnershipControls{Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipObjectWriter}}},
	})
	_, errs["PutBucketTagging"] = c.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{Bucket: bucket, Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	_, errs["DeleteBucketTagging"] = c.DeleteBucketTagging(s.ctx, &awss3.DeleteBucketTaggingInput{Bucket: bucket})
	_, errs["DeleteBucketCors"] = c.DeleteBucketCors(s.ctx, &awss3.DeleteBucketCorsInput{Bucket: bucket})
	_, errs["PutObjectLegalHold"] = c.PutObjectLegalHold(s.ctx, &awss3.PutObjectLegalHoldInput{
		Bucket: bucket, Key: key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOff},
	})
	return errs
}

// An access control list allows accounts to read, write and delete objects, and
// never to change the bucket: a writer could otherwise set a policy that allows
// everything.
func TestACLsGrantNoSettings(t *testing.T) {
	s := withLists(t)
	keyOfBob := s.key("bob", false, ledger.AccountBuckets)
	bob, bobs := client(keyOfBob, nil), keyOfBob.Access
	everybody := []awss3.PutBucketAclInput{{ACL: types.BucketCannedACLPublicReadWrite}, {GrantWrite: &bobs, GrantRead: &bobs}, {GrantFullControl: &bobs}}
	for _, in := range everybody {
		in.Bucket = &s.bucket
		_, err := s.PutBucketAcl(s.ctx, &in)
		s.must(err)
		s.put("k", "x", nil)
		s.must(getAs(s, bob, s.bucket, "k"))
		s.must(putAs(s, bob, s.bucket, "new"))
		s.must(deleteAll(s, bob, s.bucket))
		s.put("k", "x", nil)
		s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOn))
		s.refused("who may write", s.ungrantable(bob))
		if _, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")}); err == nil {
			t.Error("the hold was released")
		}
		s.must(s.legalHold("k", types.ObjectLockLegalHoldStatusOff))
		s.must(deleteAll(s, bob, s.bucket))
		_, err = bob.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
		s.fails(err, 403, "AccessDenied")
	}
	// In any spelling of the bucket's name: signatures cover its plain form.
	for _, query := range []string{"?policy=", "/?policy=", "?acl=&policy=", "?legal-hold=&policy="} {
		for _, first := range []string{s.bucket[:1], "%" + hex.EncodeToString([]byte(s.bucket[:1]))} {
			r := s.raw(http.MethodPut, query, nil)
			r.Header.Set("X-Amz-Copy-Source", s.bucket+"/k")
			signed(r, keyOfBob, sum(nil))
			r.URL.RawPath = "/" + first + r.URL.Path[2:]
			if status, _, answer := s.send(r); status != 403 || !strings.Contains(answer, "AccessDenied") {
				t.Errorf("PUT %s: %d %.300s", r.URL, status, answer)
			}
		}
	}
	// A policy can allow them.
	s.put("k", "x", nil)
	s.must(s.policy(`{"Effect":"Allow","Principal":{"AWS":"` + bobs + `"},"Action":"s3:*","Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}`))
	_, err := bob.PutBucketTagging(s.ctx, &awss3.PutBucketTaggingInput{Bucket: &s.bucket, Tagging: &types.Tagging{TagSet: []types.Tag{}}})
	s.must(err)
	// The owner needs no list, nor does a key with the bucket in its list.
	hers := withLists(t)
	alice, _ := hers.account("alice")
	hers.bucket = hers.makes(alice, hers.bucket+"-hers")
	hers.allowed("the owner", hers.ungrantable(alice))
}
