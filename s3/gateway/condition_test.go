package gateway_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
)

// conditional is a statement of a policy of the site's bucket.
func conditional(effect, who, actions, condition string) string {
	return fmt.Sprintf(`{"Effect":%q,"Principal":%s,"Action":%s,"Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"],"Condition":%s}`, effect, who, actions, condition)
}

func (s *site) tagged(key, tags string) {
	s.t.Helper()
	_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x"), Tagging: &tags})
	s.must(err)
}

// copyAs copies from one place to another, both bucket/key.
func copyAs(s *site, c *awss3.Client, from, to string, change func(*awss3.CopyObjectInput)) error {
	bucket, key, _ := strings.Cut(to, "/")
	in := &awss3.CopyObjectInput{Bucket: &bucket, Key: &key, CopySource: &from}
	if change != nil {
		change(in)
	}
	_, err := c.CopyObject(s.ctx, in)
	return err
}

// is checks that exactly the named outcomes succeed, and all others are
// AccessDenied.
func (s *site) is(outcomes map[string]error, allowed ...string) {
	s.t.Helper()
	for what, err := range outcomes {
		status, code := errorOf(err)
		if ok := slices.Contains(allowed, what); ok != (err == nil) || !ok && (status != 403 || code != "AccessDenied") {
			s.t.Errorf("%s: %v", what, err)
		}
	}
}

// A policy may condition on the tags of the object that is read or copied,
// whatever the destination of the copy.
func TestPoliciesOnExistingTags(t *testing.T) {
	s := newSite(t)
	bob, bobs := s.account("tagbob")
	own := s.makes(bob, s.bucket+"-bobs")
	s.tagged("public", "security=public&a=b")
	s.tagged("private", "security=private")
	s.tagged("other", "Security=public")
	s.put("none", "x", nil)
	who := fmt.Sprintf(`{"AWS":%q}`, bobs)
	reads := func(c *awss3.Client) map[string]error {
		out := map[string]error{}
		for _, key := range []string{"public", "private", "other", "none", "gone"} {
			out["get "+key] = getAs(s, c, s.bucket, key)
			_, out["tags "+key] = c.GetObjectTagging(s.ctx, &awss3.GetObjectTaggingInput{Bucket: &s.bucket, Key: &key})
			out["copy "+key] = copyAs(s, c, s.bucket+"/"+key, own+"/public", nil)
		}
		return out
	}
	s.must(s.policy(conditional("Allow", who, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/security":"public"}}`)))
	s.is(reads(bob), "get public", "copy public")
	s.must(s.policy(conditional("Allow", who, `["s3:GetObject","s3:GetObjectTagging"]`,
		`{"StringLike":{"s3:existingobjecttag/security":["pub*","x"]},"Null":{"s3:ExistingObjectTag/a":"false"},"IpAddress":{"aws:SourceIp":"127.0.0.0/8"}}`)))
	s.is(reads(bob), "get public", "copy public", "tags public")
	s.must(s.policy(conditional("Allow", who, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/security":"public"},"IpAddress":{"aws:SourceIp":"10.0.0.0/8"}}`)))
	s.is(reads(bob))
	s.must(s.policy(conditional("Allow", who, `"s3:GetObjectTagging"`, `{"StringNotEqualsIfExists":{"s3:ExistingObjectTag/security":"PRIVATE"},"StringNotEqualsIgnoreCase":{"s3:ExistingObjectTag/security":"PRIVATE"}}`)))
	outcomes := reads(bob)
	if status, _ := errorOf(outcomes["tags gone"]); status != 404 {
		t.Errorf("the tags of what is not there: %v", outcomes["tags gone"])
	}
	delete(outcomes, "tags gone")
	s.is(outcomes, "tags public", "tags other", "tags none")
	if status := s.anonymously(http.MethodGet, "/public", nil); status != 403 {
		t.Errorf("unsigned: %d", status)
	}
	s.must(s.policy(conditional("Allow", `"*"`, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/security":"public"}}`)))
	for key, want := range map[string]int{"public": 200, "private": 403, "none": 403, "gone": 403} {
		if status := s.anonymously(http.MethodGet, "/"+key, nil); status != want {
			t.Errorf("%s, unsigned: %d", key, status)
		}
	}
	// The policy is returned as it was set, and a change of tags takes effect
	// at once.
	shown, err := s.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.must(err)
	if !strings.Contains(*shown.Policy, "s3:ExistingObjectTag/security") || strings.Contains(*shown.Policy, "never") {
		t.Errorf("the policy is shown as %s", *shown.Policy)
	}
	s.tagged("public", "security=private")
	s.is(reads(bob))
}

// An object that gets another tag between the authorisation of a read and the read is not served
// by what a policy allows for the former tag: it is decided on again, by the tag that it has now, and
// refused for now if that changes each time. Other tags are not asked for. Nor is any for the
// bucket's owner, whom the policy denies nothing.
func TestAReadIsDecidedByTheTagsOfWhatItReads(t *testing.T) {
	s := newSite(t)
	alice, _ := s.account("alice")
	bob, _ := s.account("bob")
	s.bucket, s.Client = s.makes(alice, s.bucket+"-hers"), alice
	s.must(s.policy(conditional("Allow", `"*"`, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/security":["public","open"]}}`)))
	for tags, want := range map[string]int{"security=private": 403, "": 403, "security=open": 200, "security=public&version=2": 200} {
		replace := func() { s.tagged("k", tags) }
		for _, query := range []string{"", "?policy="} {
			s.tagged("k", "security=public&version=1")
			w.beforeChange.Store(&replace)
			if got := s.anonymously(http.MethodGet, "/k"+query, nil); got != want {
				t.Errorf("k%s, replaced by one with the tags %q while it was read: %d, want %d", query, tags, got, want)
			}
		}
		s.tagged("k", "security=public")
		w.beforeChange.Store(&replace)
		if err := getAs(s, bob, s.bucket, "k"); (err == nil) != (want == 200) {
			t.Errorf("replaced by one with the tags %q while an account read it: %v, want %d", tags, err, want)
		}
	}
	for times, want := range map[int]int{4: 200, 5: 503} {
		s.tagged("k", "security=public")
		var n int
		var flip func()
		flip = func() {
			if n++; n < times {
				w.beforeChange.Store(&flip)
			}
			s.tagged("k", "security="+[]string{"public", "open"}[n%2])
		}
		w.beforeChange.Store(&flip)
		if got := s.anonymously(http.MethodGet, "/k", nil); got != want || n != times {
			t.Errorf("its tag changed %d of %d times while it was read: %d, want %d", n, times, got, want)
		}
	}
	s.tagged("k", "security=public")
	replace := func() { s.tagged("k", "security=private") }
	w.beforeChange.Store(&replace)
	s.must(getAs(s, alice, s.bucket, "k"))
}

// An object that is sealed between the authorisation of a change and the change keeps its seal and
// its list, as does one whose list no longer lets the requester set it; a change of other tags
// disturbs nobody.
func TestAChangeIsDecidedByWhatItChanges(t *testing.T) {
	s := newSite(t)
	alice, _ := s.account("alice")
	s.bucket, s.Client = s.makes(alice, s.bucket+"-hers"), alice
	s.must(s.policy(conditional("Deny", `"*"`, `["s3:PutObjectTagging","s3:DeleteObjectTagging","s3:PutObjectAcl"]`, `{"StringEquals":{"s3:ExistingObjectTag/seal":"yes"}}`)))
	changes := map[string]func() error{
		"tag": func() error {
			tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("x"), Value: aws.String("y")}}}
			_, err := alice.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k"), Tagging: tags})
			return err
		},
		"untag": func() error {
			_, err := alice.DeleteObjectTagging(s.ctx, &awss3.DeleteObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k")})
			return err
		},
		"list": func() error { return s.setACL("k", types.ObjectCannedACLPublicRead) },
	}
	for what, change := range changes {
		for tag, refused := range map[string]bool{"seal": true, "a": false} {
			_, err := w.store.Put(s.ctx, object.PutRequest{Bucket: s.bucket, Key: "k", Body: strings.NewReader("x"), Size: 1, Tags: map[string]string{"a": "b"}})
			s.must(err)
			retag := func() {
				_, err := w.store.Update(s.ctx, ledger.Update{Bucket: s.bucket, Key: "k", Tags: &map[string]string{tag: "yes"}})
				s.must(err)
			}
			w.beforeChange.Store(&retag)
			if err = change(); !refused {
				s.must(err)
				continue
			}
			s.fails(err, 503, "ServiceUnavailable")
			o, err := w.store.Head(s.ctx, object.GetRequest{Bucket: s.bucket, Key: "k"})
			s.must(err)
			if len(o.Tags) != 1 || o.Tags["seal"] != "yes" || o.Attrs.ACL != nil {
				t.Errorf("%s: sealed meanwhile, it has the tags %v and the list %v", what, o.Tags, o.Attrs.ACL)
			}
			s.is(map[string]error{what: change()})
		}
	}
}

// Whoever may set an object's list by that list does not set it after a change has taken the right away.
func TestAListIsSetByTheListThatItReplaces(t *testing.T) {
	s := withLists(t)
	bob, bobs := s.account("bob")
	s.put("k", "x", nil)
	_, err := s.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: aws.String("k"), GrantWriteACP: aws.String("id=" + bobs)})
	s.must(err)
	revoke := func() {
		_, err := w.store.Update(s.ctx, ledger.Update{Bucket: s.bucket, Key: "k", ACL: &ledger.ACL{}})
		s.must(err)
	}
	w.beforeChange.Store(&revoke)
	_, err = bob.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: aws.String("k"), ACL: types.ObjectCannedACLPublicRead})
	s.fails(err, 503, "ServiceUnavailable")
	if got := s.grants("k"); strings.Contains(got, "AllUsers") {
		t.Errorf("the grants are %s", got)
	}
}

// Conditions on several tags are decided by one version of the object, read once.
func TestConditionsOnTagsReadTheObjectOnce(t *testing.T) {
	s := newSite(t)
	s.must(s.policy(conditional("Allow", `"*"`, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/a":"public","s3:ExistingObjectTag/b":"public"},"Null":{"s3:ExistingObjectTag/c":"true"}}`),
		conditional("Deny", `"*"`, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/d":"public"}}`)))
	s.tagged("k", "a=public&b=public")
	before := w.heads.Load()
	if got := s.anonymously(http.MethodGet, "/k", nil); got != 200 {
		t.Errorf("status %d", got)
	}
	if got := w.heads.Load() - before; got != 1 {
		t.Errorf("the object was looked up %d times before it was opened", got)
	}
}

// A Deny by tags applies to the bucket's owner, too, and cannot be bypassed by
// a query or another operation on the object.
func TestDeniesByExistingTags(t *testing.T) {
	s := newSite(t)
	hers := s.key("tagalice", false, ledger.AccountBuckets)
	alice := client(hers, nil)
	s.bucket, s.Client = s.makes(alice, s.bucket+"-hers"), alice
	s.tagged("open", "a=b")
	s.tagged("shut", "seal=yes")
	odd := []string{"ä b+c", "%41", "a//b", "a?b#c&d", "trailing/", `back\slash`, "x/../y", "é\u0301"}
	for _, key := range odd {
		s.tagged(key, "seal=yes")
	}
	s.must(s.policy(conditional("Deny", `"*"`, `["s3:GetObject","s3:GetObjectVersion","s3:PutObjectTagging","s3:DeleteObjectTagging"]`, `{"StringEquals":{"s3:ExistingObjectTag/seal":["no","yes"]}}`)))
	for _, key := range odd {
		s.is(map[string]error{key: getAs(s, alice, s.bucket, key)})
	}
	for key, want := range map[string]int{"open": 200, "shut": 403} {
		for _, query := range []string{"", "policy=", "policyStatus=", "versionId=null", "partNumber=1"} {
			r := s.raw(http.MethodGet, "/"+key+"?"+query, nil)
			status, _, _ := s.send(signed(r, hers, "UNSIGNED-PAYLOAD"))
			if status != want && !(want == 200 && query == "partNumber=1" && status == 206) {
				t.Errorf("%s?%s: %d", key, query, status)
			}
		}
		tags := &types.Tagging{TagSet: []types.Tag{{Key: aws.String("x"), Value: aws.String("y")}}}
		_, err := alice.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &s.bucket, Key: &key, Tagging: tags})
		outcomes := map[string]error{"tag": err, "copy": copyAs(s, alice, s.bucket+"/"+key, s.bucket+"/copy of "+key, nil)}
		if want == 200 {
			s.is(outcomes, "tag", "copy")
		} else {
			s.is(outcomes)
		}
	}
}

// A policy may condition on the tags that a write sets, in any form.
func TestPoliciesOnRequestTags(t *testing.T) {
	s := newSite(t)
	bob, bobs := s.account("givebob")
	own := s.makes(bob, s.bucket+"-bobs")
	s.must(s.policy(conditional("Allow", fmt.Sprintf(`{"AWS":%q}`, bobs), `["s3:PutObject","s3:PutObjectTagging"]`, `{"StringEquals":{"s3:RequestObjectTag/project":"x"}}`)))
	writes := func(tags url.Values) map[string]error {
		text, out := tags.Encode(), map[string]error{}
		set := &types.Tagging{TagSet: []types.Tag{}}
		for key := range tags {
			set.TagSet = append(set.TagSet, types.Tag{Key: aws.String(key), Value: aws.String(tags.Get(key))})
		}
		_, out["put"] = bob.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), Body: strings.NewReader("x"), Tagging: &text})
		_, out["create"] = bob.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("k"), Tagging: &text})
		_, out["tag"] = bob.PutObjectTagging(s.ctx, &awss3.PutObjectTaggingInput{Bucket: &s.bucket, Key: aws.String("k"), Tagging: set})
		out["copy"] = copyAs(s, bob, own+"/k", s.bucket+"/copied", func(in *awss3.CopyObjectInput) {
			in.Tagging, in.TaggingDirective = &text, types.TaggingDirectiveReplace
		})
		out["copy with its own"] = copyAs(s, bob, own+"/k", s.bucket+"/copied", func(in *awss3.CopyObjectInput) { in.Tagging = &text })
		return out
	}
	s.put("k", "x", nil)
	s.is(writes(url.Values{"project": {"x"}, "a": {"b"}}), "put", "create", "tag", "copy")
	s.is(writes(url.Values{"project": {"y"}}))
	s.is(writes(url.Values{"a": {"project=x"}}))
	s.is(writes(nil))
	s.must(s.policy(conditional("Deny", `"*"`, `"s3:PutObject"`, `{"StringNotEquals":{"s3:RequestObjectTag/project":"x"}}`),
		`{"Effect":"Allow","Principal":"*","Action":["s3:PutObject","s3:PutObjectTagging"],"Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}`))
	s.is(writes(url.Values{"project": {"x"}}), "put", "create", "copy", "tag")
	s.is(writes(url.Values{"project": {"y"}}), "tag")
	for tags, want := range map[string]int{
		"": 403, "<Tagging><TagSet><Tag><Key>project</Key><Value>x</Value></Tag></TagSet></Tagging>": 204,
		"<Tagging><TagSet><Tag><Key>project</Key><Value>y</Value></Tag></TagSet></Tagging>": 403, "project=x": 400,
	} {
		fields := map[string]string{"key": "form"}
		if tags != "" {
			fields["tagging"] = tags
		}
		if status, answer := s.post(form{fields: fields, name: "f", body: "x"}); status != want {
			t.Errorf("form with %q: %d %s", tags, status, answer)
		}
	}
}

// An unsigned upload sets tags only where the policy lets it.
func TestUnsignedUploadsAreTaggedByPermission(t *testing.T) {
	s := newSite(t)
	const allow = `{"Effect":"Allow","Principal":"*","Action":%s,"Resource":"arn:aws:s3:::BUCKET/*"}`
	put := func(tags string) int {
		r := s.raw(http.MethodPut, "/k", []byte("x"))
		r.Header.Set("X-Amz-Tagging", tags)
		status, _, _ := s.send(r)
		return status
	}
	both := fmt.Sprintf(allow, `["s3:PutObject","s3:PutObjectTagging"]`)
	for name, c := range map[string]struct {
		policy []string
		want   int
	}{
		"allowed": {[]string{both}, 200},
		"not":     {[]string{fmt.Sprintf(allow, `"s3:PutObject"`)}, 403},
		"denied":  {[]string{both, `{"Effect":"Deny","Principal":"*","Action":"s3:PutObjectTagging","Resource":"arn:aws:s3:::BUCKET/*"}`}, 403},
		"others":  {[]string{both, conditional("Deny", `"*"`, `"s3:PutObjectTagging"`, `{"StringEquals":{"s3:RequestObjectTag/a":"c"}}`)}, 200},
		"these":   {[]string{both, conditional("Deny", `"*"`, `"s3:PutObjectTagging"`, `{"StringEquals":{"s3:RequestObjectTag/a":"b"}}`)}, 403},
	} {
		s.must(s.policy(c.policy...))
		if got := put("a=b"); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		if got := put(""); got != 200 {
			t.Errorf("%s, without tags: %d", name, got)
		}
	}
}

// A policy may condition on the source of a copy, on its metadata directive,
// and on grant headers.
func TestPoliciesOnHeaders(t *testing.T) {
	s := newSite(t)
	bob, bobs := s.account("headbob")
	own := s.makes(bob, s.bucket+"-bobs")
	s.must(putAs(s, bob, own, "public/ä b"))
	s.must(putAs(s, bob, own, "private/k"))
	who := fmt.Sprintf(`{"AWS":%q}`, bobs)
	s.must(s.policy(conditional("Allow", who, `"s3:PutObject"`, fmt.Sprintf(`{"StringLike":{"s3:x-amz-copy-source":"%s/public/?*"}}`, own))))
	s.is(map[string]error{
		"public": copyAs(s, bob, own+"/public/"+url.PathEscape("ä b"), s.bucket+"/k", nil), "private": copyAs(s, bob, own+"/private/k", s.bucket+"/k", nil),
		"slash": copyAs(s, bob, "/"+own+"/public/"+url.PathEscape("ä b"), s.bucket+"/k", nil), "put": putAs(s, bob, s.bucket, "k"),
	}, "public", "slash")
	s.must(s.policy(conditional("Allow", who, `"s3:PutObject"`, `{"StringEqualsIgnoreCase":{"s3:x-amz-metadata-directive":"copy"}}`)))
	directive := func(d types.MetadataDirective) error {
		return copyAs(s, bob, own+"/private/k", s.bucket+"/k", func(in *awss3.CopyObjectInput) { in.MetadataDirective = d })
	}
	s.is(map[string]error{"copy": directive(types.MetadataDirectiveCopy), "replace": directive(types.MetadataDirectiveReplace), "none": directive("")}, "copy")
	s.bucket = s.makes(s.Client, s.bucket+"-lists")
	s.must(s.policy(conditional("Allow", who, `["s3:PutObject","s3:PutObjectAcl"]`, fmt.Sprintf(`{"StringEquals":{"s3:x-amz-grant-full-control":"id=%s"}}`, root.Access))))
	granting := func(grant *string) error {
		_, err := bob.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), GrantFullControl: grant, Body: strings.NewReader("x")})
		return err
	}
	s.is(map[string]error{"full": granting(aws.String("id=" + root.Access)), "another": granting(aws.String("id=" + bobs)), "none": granting(nil)}, "full")
}

// A policy whose conditions do not hold is still a policy: the bucket's list
// does not apply.
func TestUnmetPolicyStillExists(t *testing.T) {
	s := newSite(t)
	bob, bobs := s.account("listbob")
	s.bucket = s.makes(s.Client, s.bucket+"-lists")
	_, err := s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, GrantRead: aws.String("id=" + bobs)})
	s.must(err)
	s.must(getAs(s, bob, s.bucket, "k"))
	s.must(s.policy(conditional("Allow", fmt.Sprintf(`{"AWS":%q}`, bobs), `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`)))
	s.is(map[string]error{"get": getAs(s, bob, s.bucket, "k")})
}

// Conditions that would be ignored, or that do not fit the actions, are
// refused.
func TestInvalidConditionsAreRefused(t *testing.T) {
	s := newSite(t)
	for actions, condition := range map[string]string{
		`"s3:*"`:                             `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`,
		`"s3:Get*"`:                          `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`,
		`["s3:GetObject","s3:DeleteObject"]`: `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`,
		`"s3:PutObject"`:                     `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`,
		`["s3:GetObjectAcl"]`:                `{"StringEquals":{"s3:RequestObjectTag/a":"b"}}`,
		`"s3:GetObject"`:                     `{"StringEquals":{"s3:ExistingObjectTag/":"b"}}`,
		`"s3:GetObject" `:                    `{"StringEquals":{"s3:ExistingObjectTag":"b"}}`,
		` "s3:GetObject"`:                    `{"NumericEquals":{"s3:ExistingObjectTag/a":"1"}}`,
		` "s3:GetObject" `:                   `{"ForAllValues:StringEquals":{"s3:ExistingObjectTag/a":"b"}}`,
		`  "s3:GetObject"`:                   `{"StringEquals":{"s3:ExistingObjectTag/a":1}}`,
		`"s3:GetObject"  `:                   `{"StringEquals":{"s3:ExistingObjectTag/a":[]}}`,
		`  "s3:GetObject"  `:                 `{"StringEquals":{"s3:ExistingObjectTag/a":"${aws:username}"}}`,
		`   "s3:GetObject"`:                  `{"Null":{"s3:ExistingObjectTag/a":"maybe"}}`,
		`"s3:GetObject"   `:                  `{"NullIfExists":{"s3:ExistingObjectTag/a":"true"}}`,
		`    "s3:GetObject"`:                 `{"StringEquals":{"s3:ExistingObjectTag/a":"b","s3:existingobjecttag/a":"c"}}`,
		`"s3:GetObject"    `:                 `{"StringEquals":{"s3:ExistingObjectTag/a":"b","s3:unheard-of":"c"}}`,
		`"s3:PutObject" `:                    `{"StringEquals":{"s3:RequestObjectTagKeys":"b"}}`,
		`"s3:GetObject"     `:                `{"stringequals":{"s3:ExistingObjectTag/a":"b"}}`,
	} {
		if status, code := errorOf(s.policy(conditional("Deny", `"*"`, actions, condition))); status != 400 || code != "MalformedPolicy" {
			t.Errorf("%s of %s: %d %s", condition, actions, status, code)
		}
	}
	_, err := s.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.fails(err, 404, "NoSuchBucketPolicy")
	// A key that may not set policies may not set such a policy, either.
	bob, _ := s.account("setbob")
	policy := conditional("Allow", `"*"`, `"s3:GetObject"`, `{"StringEquals":{"s3:ExistingObjectTag/a":"b"}}`)
	s.is(map[string]error{"set": putPolicyAs(s, bob, s.bucket, `{"Statement":[`+strings.ReplaceAll(policy, "BUCKET", s.bucket)+`]}`)})
}
