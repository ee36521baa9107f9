package gateway_test

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/s3err"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// account makes a key that is an account, and its client.
func (s *site) account(id string) (*awss3.Client, string) {
	s.t.Helper()
	return s.restricted(id, false, ledger.AccountBuckets), s.bucket + "-" + id
}

// makes creates a bucket with access control lists, as the client, with an
// object k.
func (s *site) makes(c *awss3.Client, name string) string {
	s.t.Helper()
	_, err := c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &name, ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred})
	s.must(err)
	s.must(putAs(s, c, name, "k"))
	return name
}

func putAs(s *site, c *awss3.Client, bucket, key string) error {
	_, err := c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader("x")})
	return err
}

func getAs(s *site, c *awss3.Client, bucket, key string) error {
	_, err := c.GetObject(s.ctx, &awss3.GetObjectInput{Bucket: &bucket, Key: &key})
	return err
}

// sees returns the buckets that the client can list, page by page.
func (s *site) sees(c *awss3.Client) (names []string) {
	s.t.Helper()
	for pages := awss3.NewListBucketsPaginator(c, &awss3.ListBucketsInput{MaxBuckets: aws.Int32(2)}); pages.HasMorePages(); {
		page, err := pages.NextPage(s.ctx)
		s.must(err)
		for _, b := range page.Buckets {
			names = append(names, *b.Name)
		}
	}
	return names
}

func TestAccountsOwnWhatTheyMake(t *testing.T) {
	s := newSite(t)
	s.put("k", "the root's", nil)
	alice, name := s.account("alice")
	bob, _ := s.account("bob")
	hers := s.makes(alice, s.bucket+"-hers")
	b, err := w.db.Bucket(s.ctx, hers)
	s.must(err)
	if b.Owner != name {
		t.Errorf("the owner is %q", b.Owner)
	}
	reads, writes := s.everything(alice, hers)
	s.allowed("her bucket", reads)
	s.allowed("her bucket", writes)
	s.must(putAs(s, alice, hers, "k"))
	for what, c := range map[string]*awss3.Client{
		"another account": bob, "a key for another bucket": s.restricted("rw", false, s.bucket), "a reader": s.restricted("ro", true, ledger.AccountBuckets),
	} {
		reads, writes = s.everything(c, hers)
		s.refused(what, reads)
		s.refused(what, writes)
	}
	reads, writes = s.everything(alice, s.bucket)
	s.refused("the root's bucket", reads)
	s.refused("the root's bucket", writes)
	_, err = bob.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &hers})
	s.fails(err, 409, "BucketAlreadyExists")
	_, err = alice.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &hers})
	s.fails(err, 409, "BucketAlreadyOwnedByYou")
	_, err = bob.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &hers})
	s.fails(err, 403, "AccessDenied")
	_, err = alice.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: aws.String(s.bucket + "-nobodys")})
	s.fails(err, 404, "NoSuchBucket")
	s.must(getAs(s, client(root, nil), hers, "k"))
	// A recreated bucket belongs to its new owner.
	s.must(deleteAll(s, alice, hers))
	_, err = alice.DeleteBucket(s.ctx, &awss3.DeleteBucketInput{Bucket: &hers})
	s.must(err)
	s.makes(bob, hers)
	s.fails(getAs(s, alice, hers, "k"), 403, "AccessDenied")
}

func deleteAll(s *site, c *awss3.Client, bucket string) error {
	list, err := c.ListObjectsV2(s.ctx, &awss3.ListObjectsV2Input{Bucket: &bucket})
	if err != nil {
		return err
	}
	for _, o := range list.Contents {
		if _, err := c.DeleteObject(s.ctx, &awss3.DeleteObjectInput{Bucket: &bucket, Key: o.Key}); err != nil {
			return err
		}
	}
	ups, err := c.ListMultipartUploads(s.ctx, &awss3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		return err
	}
	for _, u := range ups.Uploads {
		if _, err := c.AbortMultipartUpload(s.ctx, &awss3.AbortMultipartUploadInput{Bucket: &bucket, Key: u.Key, UploadId: u.UploadId}); err != nil {
			return err
		}
	}
	return nil
}

func TestAccountsAreListedTheirBuckets(t *testing.T) {
	s := newSite(t)
	bob, _ := s.account("bob")
	s.makes(bob, s.bucket+"-bobs")
	// A name of her list sorts between those that she creates.
	alice := s.restricted("alice", false, s.bucket+"-b", ledger.AccountBuckets)
	_, err := s.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: aws.String(s.bucket + "-b")})
	s.must(err)
	want := []string{s.bucket + "-b"}
	for _, end := range []string{"-a", "-c", "-d"} {
		want = append(want, s.makes(alice, s.bucket+end))
	}
	slices.Sort(want)
	if got := s.sees(alice); !slices.Equal(got, want) {
		t.Errorf("she sees %q, want %q", got, want)
	}
	s.must(putAs(s, alice, s.bucket+"-b", "k"))
	if got := s.sees(bob); !slices.Equal(got, []string{s.bucket + "-bobs"}) {
		t.Errorf("he sees %q", got)
	}
}

// No address, method or query shows or changes anything in a bucket without a
// grant for the account.
func TestRequestsCannotBypassAnAccountsGrants(t *testing.T) {
	s := withLists(t)
	s.put("k", "secret body", map[string]string{"a": "b"})
	bob := s.key("bob", false, ledger.AccountBuckets)
	queries := append(slices.Clone(objectQueries), "policy", "policyStatus", "publicAccessBlock", "lifecycle", "ownershipControls", "cors", "location",
		"delete", "list-type=2", "versioning", "object-lock", "website", "inventory")
	for _, path := range []string{"", "/k"} {
		for _, query := range queries {
			for _, method := range []string{"GET", "HEAD", "PUT", "POST", "DELETE"} {
				for _, source := range []string{"", s.bucket + "/k", "%2F" + s.bucket + "%2Fk?versionId=null"} {
					r := s.raw(method, path+"?"+query, nil)
					if source != "" {
						r.Header.Set("X-Amz-Copy-Source", source)
					}
					status, h, body := s.send(signed(r, bob, sum(nil)))
					if status < 400 || status == 404 || status >= 500 && status != 501 || h.Get("Etag") != "" || h.Get("X-Amz-Meta-A") != "" {
						t.Errorf("%s %s?%s: %d %v %s", method, path, query, status, h, body)
					}
				}
			}
		}
	}
	// Nor does a copy from another bucket.
	for _, c := range []struct{ target, name, value, body string }{
		{"?acl", "X-Amz-Acl", "authenticated-read", ""}, {"?acl", "X-Amz-Grant-Full-Control", `id="` + bob.Access + `"`, ""}, {"/k?acl", "X-Amz-Acl", "public-read", ""},
		{"/k?acl", "X-Amz-Grant-Read", `id="` + bob.Access + `"`, ""}, {"/new", "X-Amz-Acl", "bucket-owner-full-control", "x"},
		{"?policy", "", "", `{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::` + s.bucket + `"}]}`},
		{"?publicAccessBlock", "", "", `<PublicAccessBlockConfiguration/>`},
		{"?lifecycle", "", "", `<LifecycleConfiguration><Rule><ID>r</ID><Status>Enabled</Status><Filter><Prefix>k</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule></LifecycleConfiguration>`},
		{"?ownershipControls", "", "", `<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule></OwnershipControls>`},
		{"?tagging", "", "", `<Tagging><TagSet></TagSet></Tagging>`}, {"/k?tagging", "", "", `<Tagging><TagSet></TagSet></Tagging>`},
		{"/k?legal-hold", "", "", `<LegalHold><Status>ON</Status></LegalHold>`},
	} {
		r, md := s.raw(http.MethodPut, c.target, []byte(c.body)), md5.Sum([]byte(c.body))
		r.Header.Set("Content-MD5", base64.StdEncoding.EncodeToString(md[:]))
		if c.name != "" {
			r.Header.Set(c.name, c.value)
		}
		if status, _, body := s.send(signed(r, bob, sum([]byte(c.body)))); status != 403 {
			t.Errorf("PUT %s: %d %s", c.target, status, body)
		}
	}
	if got, out := s.get("k"); got != "secret body" || out.Metadata["a"] != "b" || len(s.keys()) != 1 {
		t.Errorf("something changed: %q %v %q", got, out.Metadata, s.keys())
	}
}

// A grant by a bucket's list, its policy or an object's list allows just that,
// until it is withdrawn.
func TestAccountsAreGranted(t *testing.T) {
	s := withLists(t)
	s.put("k", "x", nil)
	s.put("other", "x", nil)
	bob, bobs := s.account("bob")
	s.account("carol")
	grant := func(in awss3.PutBucketAclInput) {
		in.Bucket = &s.bucket
		_, err := s.PutBucketAcl(s.ctx, &in)
		s.must(err)
	}
	s.fails(getAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	grant(awss3.PutBucketAclInput{GrantRead: aws.String(bobs)})
	s.must(getAs(s, bob, s.bucket, "k"))
	s.fails(putAs(s, bob, s.bucket, "new"), 403, "AccessDenied")
	grant(awss3.PutBucketAclInput{GrantWrite: aws.String(bobs)})
	s.must(putAs(s, bob, s.bucket, "new"))
	s.fails(getAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	// A canned list grants the writer what it wrote.
	_, err := bob.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("his"), ACL: types.ObjectCannedACLPrivate})
	s.must(err)
	s.must(getAs(s, bob, s.bucket, "his"))
	grant(awss3.PutBucketAclInput{GrantFullControl: aws.String(s.bucket + "-carol")})
	s.fails(putAs(s, bob, s.bucket, "new"), 403, "AccessDenied")
	grant(awss3.PutBucketAclInput{ACL: types.BucketCannedACLAuthenticatedRead})
	s.must(getAs(s, bob, s.bucket, "k"))
	s.fails(getAs(s, s.restricted("rw", false, "elsewhere"), s.bucket, "k"), 403, "AccessDenied")
	if got := s.anonymously(http.MethodGet, "/k", nil); got != 403 {
		t.Errorf("without a signature: %d", got)
	}
	grant(awss3.PutBucketAclInput{ACL: types.BucketCannedACLPrivate})
	_, err = s.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: aws.String("k"), GrantRead: aws.String(`id="` + bobs + `"`)})
	s.must(err)
	s.must(getAs(s, bob, s.bucket, "k"))
	s.fails(getAs(s, bob, s.bucket, "other"), 403, "AccessDenied")
	s.must(s.setACL("k", types.ObjectCannedACLPrivate))
	s.fails(getAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	s.must(s.policy(fmt.Sprintf(`{"Effect":"Allow","Principal":{"AWS":%q},"Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/o*"}`, bobs)))
	s.must(getAs(s, bob, s.bucket, "other"))
	s.fails(getAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	s.fails(putAs(s, bob, s.bucket, "other"), 403, "AccessDenied")
	his := s.makes(bob, s.bucket+"-his")
	for source, allowed := range map[string]bool{"other": true, "k": false, "other/../k": false, "k?versionId=null": false} {
		_, err := bob.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &his, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/" + source)})
		if status, _ := errorOf(err); allowed != (err == nil) || (!allowed && status != 403 && status != 404) {
			t.Errorf("copying %s: %v", source, err)
		}
	}
	_, err = s.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: &s.bucket})
	s.must(err)
	s.fails(getAs(s, bob, s.bucket, "other"), 403, "AccessDenied")
}

// policy sets a policy with these statements.
func (s *site) policy(statements ...string) error {
	text := `{"Version":"2012-10-17","Statement":[` + strings.ReplaceAll(strings.Join(statements, ","), "BUCKET", s.bucket) + `]}`
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: &text})
	return err
}

// A policy that does not mention the owner does not lock it out. A Deny applies
// to the owner, too.
func TestPoliciesOfAccounts(t *testing.T) {
	s := newSite(t)
	alice, name := s.account("alice")
	bob, bobs := s.account("bob")
	s.bucket = s.makes(alice, s.bucket+"-hers")
	s.Client = alice
	s.must(putAs(s, alice, s.bucket, "locked"))
	policy := []string{
		fmt.Sprintf(`{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":["s3:GetObject","s3:PutBucketPolicy"],"Resource":["arn:aws:s3:::BUCKET","arn:aws:s3:::BUCKET/*"]}`, bobs),
		`{"Effect":"Deny","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/locked"}`,
	}
	s.must(s.policy(policy...))
	for _, c := range []*awss3.Client{alice, bob} {
		s.must(getAs(s, c, s.bucket, "k"))
		s.fails(getAs(s, c, s.bucket, "locked"), 403, "AccessDenied")
	}
	s.must(putAs(s, alice, s.bucket, "k"))
	s.fails(putAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	out, err := alice.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.must(err)
	if strings.Contains(*out.Policy, name) || !strings.Contains(*out.Policy, bobs) {
		t.Errorf("her policy came back changed: %s", *out.Policy)
	}
	_, err = bob.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &s.bucket})
	s.fails(err, 403, "AccessDenied")
	s.must(s.policy(fmt.Sprintf(`{"Effect":"Allow","Principal":{"AWS":[%q]},"Action":"s3:ListBucket","Resource":"arn:aws:s3:::BUCKET"}`, name)))
	s.fails(getAs(s, bob, s.bucket, "k"), 403, "AccessDenied")
	err = s.policy(`{"Effect":"Allow","Principal":{"AWS":["nobody"]},"Action":"s3:GetObject","Resource":"arn:aws:s3:::BUCKET/*"}`)
	s.fails(err, 400, "MalformedPolicy")
}

// Keys that are not accounts, and missing ones, cannot be granted anything.
func TestGrantsToUnknownAccountsAreRefused(t *testing.T) {
	s := withLists(t)
	s.put("k", "x", nil)
	confined, nobody := s.key("rw", false, "elsewhere").Access, "nobody"
	alice, _ := s.account("alice")
	for who, want := range map[string]int{confined: 501, nobody: 400} {
		code := map[int]string{501: "NotImplemented", 400: "InvalidArgument"}[want]
		_, err := s.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: aws.String("k"), GrantRead: aws.String(`id="` + who + `"`)})
		s.fails(err, want, code)
		_, err = s.PutBucketAcl(s.ctx, &awss3.PutBucketAclInput{Bucket: &s.bucket, GrantRead: aws.String(`id="` + who + `"`)})
		s.fails(err, want, code)
	}
	hers := s.bucket + "-hers"
	_, err := alice.CreateBucket(s.ctx, &awss3.CreateBucketInput{
		Bucket: &hers, GrantRead: &confined, ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred,
	})
	s.fails(err, 501, "NotImplemented")
	// A key that acts for an account is not an account, whatever its list has.
	odd := ledger.AccessKey{ID: s.bucket + "-odd", Secret: "secret-of-odd", Owner: root.Access, Buckets: []string{ledger.AccountBuckets}}
	_, err = w.db.AddAccessKey(s.ctx, odd)
	s.must(err)
	c := client(gateway.Credentials{Access: odd.ID, Secret: odd.Secret}, nil)
	reads, writes := s.everything(c, s.bucket)
	s.refused("a key in the root's name", reads)
	s.refused("a key in the root's name", writes)
	_, err = c.CreateBucket(s.ctx, &awss3.CreateBucketInput{Bucket: &hers})
	s.fails(err, 403, "AccessDenied")
}

// What a key creates for an account belongs to the account, as does its list.
func TestKeysMakeBucketsForTheirAccount(t *testing.T) {
	s := newSite(t)
	alice, name := s.account("alice")
	key := ledger.AccessKey{ID: s.bucket + "-hers", Secret: "secret-of-hers", Owner: name, Buckets: []string{s.bucket + "-made"}, Settings: true}
	_, err := w.db.AddAccessKey(s.ctx, key)
	s.must(err)
	c := client(gateway.Credentials{Access: key.ID, Secret: key.Secret}, nil)
	made := s.makes(c, key.Buckets[0])
	for _, who := range []*awss3.Client{alice, c} {
		s.must(getAs(s, who, made, "k"))
		acl, err := who.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &made})
		s.must(err)
		if *acl.Owner.ID != name || len(acl.Grants) != 1 || *acl.Grants[0].Grantee.ID != name {
			t.Errorf("its list: %+v %+v", *acl.Owner.ID, acl.Grants)
		}
	}
	// The key does not have the account's other buckets.
	s.fails(getAs(s, c, s.makes(alice, s.bucket+"-other"), "k"), 403, "AccessDenied")
}

// Forms and presigned URLs authenticate an account as its other requests do.
func TestFormsAndPresignedAddressesOfAccounts(t *testing.T) {
	s := newSite(t)
	alice, bob := s.key("alice", false, ledger.AccountBuckets), s.key("bob", false, ledger.AccountBuckets)
	s.bucket = s.makes(client(alice, nil), s.bucket+"-hers")
	for who, want := range map[gateway.Credentials]int{alice: 204, bob: 403} {
		if status, answer := s.post(form{fields: s.signPolicyBy(who, map[string]string{"key": "by-form"}), body: "x"}); status != want {
			t.Errorf("a form of %s: %d %s", who.Access, status, answer)
		}
		get, err := awss3.NewPresignClient(client(who, nil)).PresignGetObject(s.ctx, &awss3.GetObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
		s.must(err)
		r, err := http.NewRequestWithContext(s.ctx, http.MethodGet, get.URL, nil)
		s.must(err)
		if status, _, answer := s.send(r); (status == 200) != (who == alice) || (who == bob && status != 403) {
			t.Errorf("an address of %s: %d %s", who.Access, status, answer)
		}
	}
	if got := s.keys(); !slices.Equal(got, []string{"by-form", "k"}) {
		t.Errorf("keys are %q", got)
	}
}

// A host without a bucket before the domain has none: the bucket is in the
// path, and setting its list as root does not change the owner.
func TestRootSetsListsUnderAnEmptyHost(t *testing.T) {
	s := withLists(t)
	alice, name := s.account("alice")
	s.bucket = s.makes(alice, s.bucket+"-hers")
	r := s.raw(http.MethodPut, "?acl=", nil)
	r.URL.Host = "." + domain
	r.Header.Set("X-Amz-Acl", "public-read")
	c := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.addr)
	}}}
	defer c.CloseIdleConnections()
	r.Host = ""
	resp, err := c.Do(signed(r, root, sum(nil)))
	s.must(err)
	if answer := s.read(resp.Body); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, answer)
	}
	acl, err := alice.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &s.bucket})
	s.must(err)
	if *acl.Owner.ID != name || len(acl.Grants) != 2 {
		t.Errorf("the list is %q's, with %d grants", *acl.Owner.ID, len(acl.Grants))
	}
}

// locals are what versitygw keeps of a request.
type locals struct {
	context.Context
	account auth.Account
}

func (l locals) Value(key any) any {
	if key == "account" {
		return l.account
	}
	return l.Context.Value(key)
}

// A bucket for which authorisation did not run is refused, even to its owner:
// the name was parsed in another way than by the authorisation.
func TestAccountsAreDecidedOn(t *testing.T) {
	s := newSite(t)
	alice, name := s.account("alice")
	hers := s.makes(alice, s.bucket+"-hers")
	b := gateway.NewBackend(gateway.BackendOptions{Store: storeOf(w.store, w.db), Keys: w.db})
	_, err := b.HeadBucket(locals{s.ctx, auth.Account{Access: name}}, &awss3.HeadBucketInput{Bucket: &hers})
	if e, ok := err.(s3err.S3Error); !ok || e.StatusCode() != 403 {
		t.Errorf("%v", err)
	}
}

// A bucket is created with the list that the request specifies, in S3's own
// forms.
func TestBucketsAreMadeWithLists(t *testing.T) {
	s := newSite(t)
	alice, hers := s.account("alice")
	bob, bobs := s.account("bob")
	preferred, n := types.ObjectOwnershipBucketOwnerPreferred, 0
	create := func(in awss3.CreateBucketInput) (string, error) {
		n++
		in.Bucket = aws.String(fmt.Sprintf("%s-made-%d", s.bucket, n))
		_, err := alice.CreateBucket(s.ctx, &in)
		return *in.Bucket, err
	}
	everybody := `uri="http://acs.amazonaws.com/groups/global/AuthenticatedUsers"`
	for what, in := range map[string]awss3.CreateBucketInput{
		"an account": {GrantRead: aws.String(`id="` + bobs + `"`)}, "a group": {GrantRead: &everybody}, "a canned list": {ACL: types.BucketCannedACLAuthenticatedRead},
		"several": {GrantRead: aws.String(`id="` + hers + `", id="` + bobs + `"`), GrantWriteACP: aws.String(`id="` + bobs + `"`)},
	} {
		_, err := create(in)
		s.fails(err, 400, "InvalidBucketAclWithObjectOwnership")
		in.ObjectOwnership = preferred
		made, err := create(in)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		s.must(putAs(s, alice, made, "k"))
		s.must(getAs(s, bob, made, "k"))
		s.fails(putAs(s, bob, made, "k"), 403, "AccessDenied")
		acl, err := alice.GetBucketAcl(s.ctx, &awss3.GetBucketAclInput{Bucket: &made})
		s.must(err)
		if *acl.Owner.ID != hers || *acl.Grants[0].Grantee.ID != hers || acl.Grants[0].Permission != types.PermissionFullControl {
			t.Errorf("%s: %+v", what, acl.Grants)
		}
	}
	for _, own := range []types.ObjectOwnership{"", preferred} {
		for _, list := range []types.BucketCannedACL{"everything", types.BucketCannedACL(types.ObjectCannedACLBucketOwnerRead)} {
			_, err := create(awss3.CreateBucketInput{ACL: list, ObjectOwnership: own})
			s.fails(err, 400, "InvalidArgument")
		}
	}
	for grantee, want := range map[string]string{
		`id="nobody"`: "InvalidArgument", `emailAddress="a@b"`: "UnresolvableGrantByEmailAddress", `uri="http://elsewhere"`: "InvalidArgument", "=": "InvalidArgument",
	} {
		refused, err := create(awss3.CreateBucketInput{GrantRead: &grantee, ObjectOwnership: preferred})
		s.fails(err, 400, want)
		_, err = s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: &refused})
		s.fails(err, 404, "NotFound")
	}
	// A list does not allow creating buckets.
	in := awss3.CreateBucketInput{Bucket: aws.String(s.bucket + "-not"), GrantRead: aws.String(`id="` + bobs + `"`), ObjectOwnership: preferred}
	_, err := s.restricted("rw", false, "elsewhere").CreateBucket(s.ctx, &in)
	s.fails(err, 403, "AccessDenied")
	for _, c := range []gateway.Credentials{{Access: "nobody", Secret: "nobody"}, {Access: root.Access, Secret: "wrong"}} {
		_, err = client(c, nil).CreateBucket(s.ctx, &in)
		if status, _ := errorOf(err); status != 403 {
			t.Errorf("%s makes a bucket: %v", c.Access, err)
		}
	}
	_, err = s.HeadBucket(s.ctx, &awss3.HeadBucketInput{Bucket: in.Bucket})
	s.fails(err, 404, "NotFound")
}
