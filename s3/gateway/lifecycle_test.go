package gateway_test

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// rule expires objects under tmp/ after a day.
func rule() types.LifecycleRule {
	return types.LifecycleRule{
		ID: aws.String("a rule"), Status: types.ExpirationStatusEnabled,
		Filter: &types.LifecycleRuleFilter{Prefix: aws.String("tmp/")}, Expiration: &types.LifecycleExpiration{Days: aws.Int32(1)},
	}
}

func (s *site) setRules(c *awss3.Client, rules ...types.LifecycleRule) error {
	_, err := c.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{
		Bucket: &s.bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules},
	})
	return err
}

func (s *site) getRules(c *awss3.Client) ([]types.LifecycleRule, error) {
	out, err := c.GetBucketLifecycleConfiguration(s.ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: &s.bucket})
	if err != nil {
		return nil, err
	}
	return out.Rules, nil
}

func (s *site) removeRules(c *awss3.Client) error {
	_, err := c.DeleteBucketLifecycle(s.ctx, &awss3.DeleteBucketLifecycleInput{Bucket: &s.bucket})
	return err
}

func TestLifecycleRulesComeBack(t *testing.T) {
	s := newSite(t)
	_, err := s.getRules(s.Client)
	s.fails(err, 404, "NoSuchLifecycleConfiguration")
	tagged := types.LifecycleRule{
		ID: aws.String("tagged"), Status: types.ExpirationStatusDisabled,
		Filter: &types.LifecycleRuleFilter{And: &types.LifecycleRuleAndOperator{
			Prefix: aws.String("logs/"), Tags: []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}},
			ObjectSizeGreaterThan: aws.Int64(0),
		}},
		Expiration: &types.LifecycleExpiration{Date: aws.Time(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))},
	}
	uploads := types.LifecycleRule{
		ID: aws.String("uploads"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("")},
		AbortIncompleteMultipartUpload: &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(7)},
	}
	s.must(s.setRules(s.Client, rule(), tagged, uploads))
	got, err := s.getRules(s.Client)
	s.must(err)
	if len(got) != 3 || *got[0].Filter.Prefix != "tmp/" || *got[0].Expiration.Days != 1 || *got[1].Filter.And.Tags[0].Value != "v" ||
		got[1].Status != types.ExpirationStatusDisabled || !got[1].Expiration.Date.Equal(*tagged.Expiration.Date) ||
		*got[2].AbortIncompleteMultipartUpload.DaysAfterInitiation != 7 {
		t.Errorf("rules came back as %+v", got)
	}
	s.must(s.removeRules(s.Client))
	s.must(s.removeRules(s.Client))
	_, err = s.getRules(s.Client)
	s.fails(err, 404, "NoSuchLifecycleConfiguration")
	nowhere := &site{t: t, ctx: s.ctx, bucket: "nowhere-at-all", addr: s.addr, Client: s.Client}
	nowhere.fails(nowhere.setRules(s.Client, rule()), 404, "NoSuchBucket")
}

// Terraform waits until it reads the rules that it has set, with the smallest
// size for transitions.
func TestLifecycleReportsTheMinimumTransitionSize(t *testing.T) {
	s := newSite(t)
	set := func(least types.TransitionDefaultMinimumObjectSize) (*awss3.PutBucketLifecycleConfigurationOutput, error) {
		return s.PutBucketLifecycleConfiguration(s.ctx, &awss3.PutBucketLifecycleConfigurationInput{
			Bucket: &s.bucket, TransitionDefaultMinimumObjectSize: least,
			LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{rule()}},
		})
	}
	const all = types.TransitionDefaultMinimumObjectSizeAllStorageClasses128k
	for _, least := range []types.TransitionDefaultMinimumObjectSize{"", all} {
		put, err := set(least)
		s.must(err)
		got, err := s.GetBucketLifecycleConfiguration(s.ctx, &awss3.GetBucketLifecycleConfigurationInput{Bucket: &s.bucket})
		s.must(err)
		if put.TransitionDefaultMinimumObjectSize != all || got.TransitionDefaultMinimumObjectSize != all {
			t.Errorf("set with %q it is %q, and then %q", least, put.TransitionDefaultMinimumObjectSize, got.TransitionDefaultMinimumObjectSize)
		}
	}
	_, err := set(types.TransitionDefaultMinimumObjectSizeVariesByStorageClass)
	s.fails(err, 501, "NotImplemented")
}

func TestLifecycleRulesThatAreNotSupportedAreRefused(t *testing.T) {
	s := newSite(t)
	transition, both := rule(), rule()
	transition.Transitions = []types.Transition{{Days: aws.Int32(1), StorageClass: types.TransitionStorageClassGlacier}}
	s.fails(s.setRules(s.Client, transition), 501, "NotImplemented")
	both.NoncurrentVersionExpiration = &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(1)}
	err := s.setRules(s.Client, both)
	s.fails(err, 501, "NotImplemented")
	var api smithy.APIError
	if !errors.As(err, &api) || !strings.Contains(api.ErrorMessage(), "NoncurrentVersionExpiration") {
		t.Errorf("the refusal does not name the part: %v", err)
	}
	all := rule()
	all.Filter.Prefix = aws.String("")
	s.fails(s.setRules(s.Client, all), 400, "InvalidRequest")
	s.fails(s.setRules(s.Client, rule(), rule()), 400, "InvalidArgument")
	_, err = s.getRules(s.Client)
	s.fails(err, 404, "NoSuchLifecycleConfiguration")
}

// TestLifecycleHeader checks that every response about an object names the rule
// that expires it, as long as the rule is in force.
func TestLifecycleHeader(t *testing.T) {
	s := newSite(t)
	s.must(s.setRules(s.Client, rule()))
	midnight := w.clock.Now().Time().AddDate(0, 0, 1).Truncate(24 * time.Hour).Add(24 * time.Hour)
	want := `expiry-date="` + midnight.Format(http.TimeFormat) + `", rule-id="a%20rule"`
	check := func(what string, header *string) {
		t.Helper()
		if aws.ToString(header) != want {
			t.Errorf("%s: x-amz-expiration is %q, want %q", what, aws.ToString(header), want)
		}
	}
	check("put", s.put("tmp/a", "x", nil).Expiration)
	_, get := s.get("tmp/a")
	check("get", get.Expiration)
	head, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("tmp/a")})
	s.must(err)
	check("head", head.Expiration)
	copied, err := s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("tmp/b"), CopySource: aws.String(s.bucket + "/tmp/a")})
	s.must(err)
	check("copy", copied.Expiration)
	if out := s.put("other", "x", nil); out.Expiration != nil {
		t.Errorf("an object that no rule ends: %s", *out.Expiration)
	}
	if out := s.put("tmp/short", "x", map[string]string{"ttl": "1h"}); !strings.Contains(aws.ToString(out.Expiration), `rule-id="ttl"`) {
		t.Errorf("an object that its client ends earlier: %q", aws.ToString(out.Expiration))
	}
	s.must(s.removeRules(s.Client))
	if _, get := s.get("tmp/a"); get.Expiration != nil {
		t.Errorf("the rule is gone: %s", *get.Expiration)
	}
}

const someRules = `<LifecycleConfiguration><Rule><ID>x</ID><Prefix>x</Prefix><Status>Enabled</Status><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`

// TestLifecycleNeedsPermission checks that reading and changing rules needs
// the right to, whatever the method.
func TestLifecycleNeedsPermission(t *testing.T) {
	s := newSite(t)
	s.must(s.setRules(s.Client, rule()))
	digest := md5.Sum([]byte(someRules))
	request := func(method string) *http.Request {
		r := s.raw(method, "?lifecycle", []byte(someRules))
		r.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(digest[:]))
		return r
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		for name, r := range map[string]*http.Request{
			"unsigned": request(method),
			"foreign":  signed(request(method), gateway.Credentials{Access: "nobody", Secret: "nobody"}, "UNSIGNED-PAYLOAD"),
			"forged":   signed(request(method), gateway.Credentials{Access: root.Access, Secret: "wrong"}, "UNSIGNED-PAYLOAD"),
		} {
			if status, _, body := s.send(r); status != 403 {
				t.Errorf("%s %s: %d %s", name, method, status, body)
			}
		}
		for _, other := range []string{"GET", "PUT", "DELETE"} {
			r := signed(request(other), root, "UNSIGNED-PAYLOAD")
			if r.Method = method; other == method {
				continue
			}
			if status, _, body := s.send(r); status != 403 {
				t.Errorf("signed as %s, sent as %s: %d %s", other, method, status, body)
			}
		}
	}
	s.ruleStays("a rule")
}

// TestLifecycleHasNoOtherMethods checks that other methods on the rules are
// denied to every client, also where the form of the request would make it
// another one.
func TestLifecycleHasNoOtherMethods(t *testing.T) {
	s := newSite(t)
	s.must(s.setRules(s.Client, rule()))
	for _, method := range []string{"POST", "PATCH", "TRACE"} {
		for _, target := range []string{"?lifecycle", "?lifecycle=", "/?lifecycle", "?delete&lifecycle", "?lifecycle&uploads"} {
			for name, r := range map[string]*http.Request{
				"unsigned": s.raw(method, target, []byte(someRules)),
				"foreign":  signed(s.raw(method, target, []byte(someRules)), gateway.Credentials{Access: "nobody", Secret: "nobody"}, "UNSIGNED-PAYLOAD"),
				"root":     signed(s.raw(method, target, []byte(someRules)), root, "UNSIGNED-PAYLOAD"),
			} {
				if status, _, body := s.send(r); status != 403 || !strings.Contains(body, "<Code>AccessDenied</Code>") || !strings.Contains(body, "no other method") {
					t.Errorf("%s %s%s: %d %s", name, method, target, status, body)
				}
			}
		}
	}
	r := s.raw("POST", "?lifecycle", nil)
	r.URL.Path, r.Host = "/", s.bucket+"."+domain
	if status, _, body := s.send(r); status != 403 {
		t.Errorf("in virtual host style: %d %s", status, body)
	}
	s.ruleStays("a rule")
}

// ruleStays checks that the bucket has this one rule.
func (s *site) ruleStays(id string) {
	s.t.Helper()
	got, err := s.getRules(s.Client)
	s.must(err)
	if len(got) != 1 || *got[0].ID != id {
		s.t.Errorf("rules are %+v, want %q", got, id)
	}
}

func TestLifecycleAndRestrictedKeys(t *testing.T) {
	s := newSite(t)
	s.must(s.setRules(s.Client, rule()))
	elsewhere := s.restricted("elsewhere", false, "another-bucket")
	_, err := s.getRules(elsewhere)
	s.fails(err, 403, "AccessDenied")
	s.fails(s.setRules(elsewhere, rule()), 403, "AccessDenied")
	s.fails(s.removeRules(elsewhere), 403, "AccessDenied")
	reader := s.restricted("reader", true, s.bucket)
	_, err = s.getRules(reader)
	s.must(err)
	s.fails(s.setRules(reader, rule()), 403, "AccessDenied")
	s.fails(s.removeRules(reader), 403, "AccessDenied")
	s.ruleStays("a rule")
	writer := s.restricted("writer", false, s.bucket)
	s.must(s.setRules(writer, rule()))
	policy := `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":{"AWS":["` + s.bucket + `-writer"]},` +
		`"Action":["s3:PutLifecycleConfiguration"],"Resource":["arn:aws:s3:::` + s.bucket + `"]}]}`
	_, err = s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &policy})
	s.must(err)
	s.fails(s.setRules(writer, rule()), 403, "AccessDenied")
	s.fails(s.removeRules(writer), 403, "AccessDenied")
	_, err = s.getRules(writer)
	s.must(err)
	s.ruleStays("a rule")
}

func TestLifecycleBodiesAreChecked(t *testing.T) {
	s := newSite(t)
	send := func(body, digest string) (int, string) {
		r := s.raw("PUT", "?lifecycle", []byte(body))
		if digest != "" {
			r.Header.Set("Content-Md5", digest)
		}
		status, _, answer := s.send(signed(r, root, sum([]byte(body))))
		return status, answer
	}
	of := func(body string) string {
		d := md5.Sum([]byte(body))
		return base64.StdEncoding.EncodeToString(d[:])
	}
	for name, c := range map[string]struct {
		body, digest string
		status       int
		code         string
	}{
		"no digest":    {someRules, "", 400, "InvalidRequest"},
		"wrong digest": {someRules, of("other"), 400, "BadDigest"},
		"no body":      {"", of(""), 400, "MissingRequestBodyError"},
		"no XML":       {"<Lifecycle", of("<Lifecycle"), 400, "MalformedXML"},
		"two of them":  {someRules + someRules, of(someRules + someRules), 400, "MalformedXML"},
	} {
		if status, answer := send(c.body, c.digest); status != c.status || !strings.Contains(answer, c.code) {
			t.Errorf("%s: %d %s, want %d %s", name, status, answer, c.status, c.code)
		}
	}
	_, err := s.getRules(s.Client)
	s.fails(err, 404, "NoSuchLifecycleConfiguration")
	if status, answer := send(someRules, of(someRules)); status != 200 || answer != "" {
		t.Errorf("what is right: %d %s", status, answer)
	}
	s.ruleStays("x")
}

func TestLifecycleRulesOfTheConfigurationCanOnlyBeRead(t *testing.T) {
	s := newSite(t)
	_, err := w.db.SetRules(s.ctx, ledger.RulesChange{
		Bucket: s.bucket, By: ledger.ByConfig, Rules: lifecycle.Rules{{ID: "configured", Prefix: "x", Days: 3}},
	})
	s.must(err)
	s.fails(s.setRules(s.Client, rule()), 409, "OperationAborted")
	s.fails(s.removeRules(s.Client), 409, "OperationAborted")
	s.ruleStays("configured")
}

func TestLifecycleInVirtualHostStyle(t *testing.T) {
	s := newSite(t)
	r := s.raw("GET", "?lifecycle", nil)
	r.URL.Path, r.Host = "/", s.bucket+"."+domain
	if status, _, body := s.send(r); status != 403 {
		t.Errorf("unsigned in virtual host style: %d %s", status, body)
	}
}
