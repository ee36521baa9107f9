package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/s3/gateway"
)

func (s *site) blockPublic(b types.PublicAccessBlockConfiguration) {
	s.t.Helper()
	_, err := s.PutPublicAccessBlock(s.ctx, &awss3.PutPublicAccessBlockInput{Bucket: &s.bucket, PublicAccessBlockConfiguration: &b})
	s.must(err)
}

func (s *site) bucketACL(list types.BucketCannedACL) error {
	_, err := s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, ACL: list})
	return err
}

func (s *site) publicPolicy() error {
	arn := "arn:aws:s3:::" + s.bucket
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[
		{"Effect":"Allow","Principal":"*","Action":["s3:GetObject"],"Resource":"` + arn + `/*"},
		{"Effect":"Deny","Principal":"*","Action":["s3:GetObject"],"Resource":"` + arn + `/secret"}]}`)})
	return err
}

func TestPublicAccessBlock(t *testing.T) {
	s := withLists(t)
	get := func() (*types.PublicAccessBlockConfiguration, error) {
		out, err := s.GetPublicAccessBlock(s.ctx, &awss3.GetPublicAccessBlockInput{Bucket: &s.bucket})
		if err != nil {
			return nil, err
		}
		return out.PublicAccessBlockConfiguration, nil
	}
	_, err := get()
	s.fails(err, 404, "NoSuchPublicAccessBlockConfiguration")
	s.put("k", "x", nil)
	s.put("secret", "x", nil)

	s.blockPublic(types.PublicAccessBlockConfiguration{BlockPublicAcls: aws.Bool(true), BlockPublicPolicy: aws.Bool(true)})
	have, err := get()
	s.must(err)
	if !*have.BlockPublicAcls || !*have.BlockPublicPolicy || *have.IgnorePublicAcls || *have.RestrictPublicBuckets {
		t.Errorf("block is %+v", have)
	}
	s.fails(s.bucketACL(types.BucketCannedACLPublicRead), 403, "AccessDenied")
	s.fails(s.setACL("k", types.ObjectCannedACLPublicRead), 403, "AccessDenied")
	_, err = s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("new"), ACL: types.ObjectCannedACLPublicRead})
	s.fails(err, 403, "AccessDenied")
	s.missing("new")
	s.must(s.bucketACL(types.BucketCannedACLPrivate))
	s.fails(s.publicPolicy(), 403, "AccessDenied")

	_, err = s.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: &s.bucket})
	s.must(err)
	_, err = get()
	s.fails(err, 404, "NoSuchPublicAccessBlockConfiguration")
	s.must(s.bucketACL(types.BucketCannedACLPublicRead))
	s.must(s.setACL("secret", types.ObjectCannedACLPublicRead))
	s.publicIs(200, 200, 200)
	s.blockPublic(types.PublicAccessBlockConfiguration{IgnorePublicAcls: aws.Bool(true)})
	s.publicIs(403, 403, 403)
	s.must(s.publicPolicy())
	s.publicIs(403, 200, 403)
	s.blockPublic(types.PublicAccessBlockConfiguration{RestrictPublicBuckets: aws.Bool(true)})
	// What the policy denies stays denied.
	s.publicIs(200, 200, 403)
	s.blockPublic(types.PublicAccessBlockConfiguration{RestrictPublicBuckets: aws.Bool(true), IgnorePublicAcls: aws.Bool(true)})
	s.publicIs(403, 403, 403)
	reader := client(s.key("reader", true, s.bucket), nil)
	_, err = reader.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	_, err = reader.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("secret")})
	s.fails(err, 403, "AccessDenied")
	_, err = reader.DeletePublicAccessBlock(s.ctx, &awss3.DeletePublicAccessBlockInput{Bucket: &s.bucket})
	s.fails(err, 403, "AccessDenied")
}

// publicIs checks anonymous access: list, read k, read secret.
func (s *site) publicIs(list, k, secret int) {
	s.t.Helper()
	for target, want := range map[string]int{"": list, "/k": k, "/secret": secret} {
		if got := s.anonymously(http.MethodGet, target, nil); got != want {
			s.t.Errorf("GET %q: %d, want %d", target, got, want)
		}
	}
}

func TestOnlyTheOwnerSetsPublicAccessBlock(t *testing.T) {
	s := newSite(t)
	body := []byte(`<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls></PublicAccessBlockConfiguration>`)
	foreign := map[string]gateway.Credentials{
		"foreign": {Access: "nobody", Secret: "nobody"}, "forged": {Access: root.Access, Secret: "wrong"},
		"another bucket's": s.key("elsewhere", false, "elsewhere"), "a reader's": s.key("reader", true, s.bucket),
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		if got := s.anonymously(method, "?publicAccessBlock", nil); got != 403 {
			t.Errorf("unsigned %s: %d", method, got)
		}
		for name, c := range foreign {
			if status, _, answer := s.send(signed(s.raw(method, "?publicAccessBlock", body), c, sum(body))); status != 403 {
				t.Errorf("%s %s: %d %s", name, method, status, answer)
			}
		}
	}
	for _, bad := range []string{"", "x", "<Other/>", string(body) + "x", "<PublicAccessBlockConfiguration><BlockPublicAcls>perhaps</BlockPublicAcls></PublicAccessBlockConfiguration>"} {
		if status, _, answer := s.send(signed(s.raw(http.MethodPut, "?publicAccessBlock", []byte(bad)), root, sum([]byte(bad)))); status != 400 {
			t.Errorf("%q: %d %s", bad, status, answer)
		}
	}
	_, err := s.GetPublicAccessBlock(s.ctx, &awss3.GetPublicAccessBlockInput{Bucket: &s.bucket})
	s.fails(err, 404, "NoSuchPublicAccessBlockConfiguration")
}

func TestBucketListsNameGroupsByAddress(t *testing.T) {
	s := withLists(t)
	reader := s.key("reader", true, s.bucket)
	put := func(grantee string) (int, string) {
		body := []byte(`<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>` + root.Access + `</ID></Owner><AccessControlList>
			<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" ` + grantee + `</Grantee><Permission>READ</Permission></Grant></AccessControlList></AccessControlPolicy>`)
		status, _, answer := s.send(signed(s.raw(http.MethodPut, "?acl", body), root, sum(body)))
		return status, answer
	}
	for grantee, want := range map[string]string{
		`xsi:type="Group"><URI>http://acs.amazonaws.com/groups/global/Others</URI>`: "400 InvalidArgument",
		`xsi:type="AmazonCustomerByEmail"><EmailAddress>a@b</EmailAddress>`:         "400 UnresolvableGrantByEmailAddress",
		`xsi:type="CanonicalUser"><ID>` + reader.Access + `</ID>`:                   "501 NotImplemented",
		`xsi:type="CanonicalUser"><ID>nobody</ID>`:                                  "400 InvalidArgument",
	} {
		status, answer := put(grantee)
		if code, text, _ := strings.Cut(want, " "); itoa(status) != code || !strings.Contains(answer, text) {
			t.Errorf("%s: %d %s", grantee, status, answer)
		}
	}
	s.publicIs(403, 403, 403)
	if status, answer := put(`xsi:type="Group"><URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>`); status != 200 {
		t.Fatalf("everybody: %d %s", status, answer)
	}
	s.put("k", "x", nil)
	s.put("secret", "x", nil)
	s.publicIs(200, 200, 200)
	out, err := s.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &s.bucket})
	s.must(err)
	if len(out.Grants) != 2 || *out.Owner.DisplayName != root.Access || *out.Grants[0].Grantee.ID != root.Access ||
		!strings.HasSuffix(aws.ToString(out.Grants[1].Grantee.URI), "/AllUsers") {
		t.Errorf("grants are %+v", out.Grants)
	}
	if status, answer := put(`xsi:type="Group"><URI>http://acs.amazonaws.com/groups/global/AuthenticatedUsers</URI>`); status != 200 {
		t.Fatalf("everybody who signs: %d %s", status, answer)
	}
	s.publicIs(403, 403, 403)
	alice, _ := s.account("alice")
	s.must(getAs(s, alice, s.bucket, "k"))
}
