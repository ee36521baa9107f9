package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/s3"
)

// told runs do, and returns the event of its request on the bucket.
func (s *site) told(do func() error) (e s3.RequestEvent, err error) {
	s.t.Helper()
	w.mu.Lock()
	from := len(w.requests)
	w.mu.Unlock()
	err = do()
	eventually(s.t, "an event", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, r := range w.requests[from:] {
			if e = r; r.Bucket == s.bucket {
				return true
			}
		}
		return false
	})
	return e, err
}

// step is a request and the expected record of its change: parts of the states
// before and after, which have to be empty where these are.
type step struct {
	operation     string
	before, after string
	do            func() error
}

func (s *site) rulingSteps() []step {
	key := aws.String("k")
	hold := func(status types.ObjectLockLegalHoldStatus) func() error {
		return func() error { return s.legalHold(*key, status) }
	}
	return []step{
		{"PutBucketLifecycleConfiguration", "", `{"lifecycle":{"Rules":[{"Expiration":{"Days":1}`, func() error { return s.setRules(s.Client, rule()) }},
		{"DeleteBucketLifecycle", `{"lifecycle":{"Rules":[{"Expiration":{"Days":1}`, "", func() error { return s.removeRules(s.Client) }},
		{"PutObjectLegalHold", `{"legal_hold":false}`, `{"legal_hold":true}`, hold(types.ObjectLockLegalHoldStatusOn)},
		{"PutObjectLegalHold", `{"legal_hold":true}`, `{"legal_hold":false}`, hold(types.ObjectLockLegalHoldStatusOff)},
		{"PutBucketPolicy", "", `{"policy":{"Version"`, s.publicPolicy},
		{"DeleteBucketPolicy", `{"policy":{"Version"`, "", func() error {
			_, err := s.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: &s.bucket})
			return err
		}},
		{"PutPublicAccessBlock", "", `{"public-access":{"ignoreAcls":true}}`, func() error {
			s.blockPublic(types.PublicAccessBlockConfiguration{IgnorePublicAcls: aws.Bool(true)})
			return nil
		}},
		{"DeletePublicAccessBlock", `{"public-access":{"ignoreAcls":true}}`, "", func() error {
			_, err := s.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: &s.bucket})
			return err
		}},
	}
}

func (s *site) openingSteps() []step {
	key := aws.String("k")
	return []step{
		{"PutBucketAcl", `{"acl":{`, `all-users`, func() error { return s.bucketACL(types.BucketCannedACLPublicRead) }},
		{"PutObjectAcl", "", `{"acl":[{`, func() error { return s.setACL(*key, types.ObjectCannedACLPublicRead) }},
		{"PutObjectAcl", `{"acl":[{`, `{"acl":[{`, func() error { return s.setACL(*key, types.ObjectCannedACLPrivate) }},
		{"PutBucketCors", "", `{"cors":"\u003cCORS`, func() error {
			_, err := s.PutBucketCors(s.ctx, &awss3.PutBucketCorsInput{Bucket: &s.bucket, CORSConfiguration: &types.CORSConfiguration{
				CORSRules: []types.CORSRule{{AllowedMethods: []string{"GET"}, AllowedOrigins: []string{"*"}}},
			}})
			return err
		}},
		{"DeleteBucketCors", `{"cors":"\u003cCORS`, "", func() error {
			_, err := s.DeleteBucketCors(s.ctx, &awss3.DeleteBucketCorsInput{Bucket: &s.bucket})
			return err
		}},
		{"DeleteBucketOwnershipControls", `{"ownership":"BucketOwnerPreferred"}`, "", func() error {
			_, err := s.DeleteBucketOwnershipControls(s.ctx, &awss3.DeleteBucketOwnershipControlsInput{Bucket: &s.bucket})
			return err
		}},
	}
}

// TestChangesAreReported checks the states before and after in the record of each
// request that changes what retains, expires or exposes objects.
func TestChangesAreReported(t *testing.T) {
	s := withLists(t)
	s.put("k", "body", nil)
	check := func(st step) {
		t.Helper()
		e, err := s.told(st.do)
		s.must(err)
		if e.Operation != st.operation || e.Change == nil || e.Requester != root.Access {
			t.Errorf("of %s is told %+v", st.operation, e)
			return
		}
		for _, side := range []struct {
			have map[string]any
			want string
		}{{e.Change.Before, st.before}, {e.Change.After, st.after}} {
			text, err := json.Marshal(side.have)
			s.must(err)
			if side.want == "" && len(side.have) > 0 || !strings.Contains(string(text), side.want) {
				t.Errorf("%s is told as %s, want %q", st.operation, text, side.want)
			}
		}
	}
	for _, st := range append(s.rulingSteps(), s.openingSteps()...) {
		check(st)
	}
	_, err := s.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	owner := `{"owner":"` + root.Access + `"}`
	check(step{"DeleteBucket", owner, "", func() error {
		_, err := s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
		return err
	}})
	check(step{"CreateBucket", "", `"owner":"` + root.Access + `"`, func() error {
		_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &s.bucket})
		return err
	}})
}

// TestFailedChangesRecordNoChange checks that a failed change records an unchanged
// state, and that a denied request, or one that changes only objects, records
// nothing.
func TestFailedChangesRecordNoChange(t *testing.T) {
	s := newSite(t)
	s.must(s.setRules(s.Client, rule()))
	stranger := s.key("stranger", false, "elsewhere")
	refused := map[string]func() error{
		"foreign":  func() error { return s.setRules(client(stranger, nil), rule()) },
		"unsigned": func() error { _, _, _ = s.send(s.raw(http.MethodDelete, "?lifecycle", nil)); return nil },
		"a put": func() error {
			_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x")})
			return err
		},
		"a bucket that is there": func() error {
			_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &s.bucket})
			return err
		},
		"a hold of no object": func() error { return s.legalHold("none", types.ObjectLockLegalHoldStatusOn) },
	}
	for what, do := range refused {
		if e, _ := s.told(do); e.Change != nil {
			t.Errorf("%s is told as a change: %+v", what, e.Change)
		}
	}
	e, err := s.told(func() error {
		_, err := s.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &s.bucket})
		return err
	})
	s.fails(err, 409, "BucketNotEmpty")
	if e.Change == nil || e.Code != "BucketNotEmpty" || e.Change.Before["owner"] != root.Access || e.Change.After["owner"] != root.Access {
		t.Errorf("a deletion that failed is told as %+v %+v", e, e.Change)
	}
}
