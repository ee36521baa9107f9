package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/s3/gateway"
)

// withLists creates a bucket with access control lists.
func withLists(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	_, err := s.PutBucketOwnershipControls(s.ctx, &awss3.PutBucketOwnershipControlsInput{
		Bucket: &s.bucket, OwnershipControls: &types.OwnershipControls{
			Rules: []types.OwnershipControlsRule{{ObjectOwnership: types.ObjectOwnershipBucketOwnerPreferred}},
		},
	})
	s.must(err)
	return s
}

// setACL sets a canned list of an object.
func (s *site) setACL(key string, list types.ObjectCannedACL) error {
	_, err := s.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: &key, ACL: list})
	return err
}

// grants returns an object's, as "who permission".
func (s *site) grants(key string) string {
	s.t.Helper()
	out, err := s.GetObjectAcl(s.ctx, &awss3.GetObjectAclInput{Bucket: &s.bucket, Key: &key})
	s.must(err)
	if aws.ToString(out.Owner.ID) != root.Access || aws.ToString(out.Owner.DisplayName) != root.Access {
		s.t.Errorf("owner is %+v", out.Owner)
	}
	var list []string
	for _, g := range out.Grants {
		who := aws.ToString(g.Grantee.ID)
		if g.Grantee.Type == types.TypeGroup {
			_, who, _ = strings.Cut(aws.ToString(g.Grantee.URI), "global/")
		}
		list = append(list, who+" "+string(g.Permission))
	}
	return strings.Join(list, ", ")
}

// anonymously sends a request without a signature.
func (s *site) anonymously(method, target string, headers map[string]string) int {
	s.t.Helper()
	r := s.raw(method, target, nil)
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	status, _, _ := s.send(r)
	return status
}

func TestObjectListsHold(t *testing.T) {
	s := withLists(t)
	owner := root.Access + " FULL_CONTROL"
	s.put("k", "body", map[string]string{"a": "b"})
	s.put("other", "body", nil)
	if got := s.grants("k"); got != owner {
		t.Errorf("without a list of its own: %s", got)
	}
	if got := s.anonymously("GET", "/k", nil); got != 403 {
		t.Errorf("private: %d", got)
	}
	before, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	s.must(s.setACL("k", types.ObjectCannedACLPublicRead))
	if got := s.grants("k"); got != "AllUsers READ, "+owner {
		t.Errorf("public: %s", got)
	}
	for target, want := range map[string]int{"/k": 200, "/other": 403, "/none": 403, "": 403, "/k?acl": 403, "/k?tagging": 403, "/k?uploadId=x": 403} {
		if got := s.anonymously("GET", target, nil); got != want {
			t.Errorf("GET %q: %d, want %d", target, got, want)
		}
	}
	for _, c := range [][2]string{{"PUT", "/k"}, {"DELETE", "/k"}, {"PUT", "/k?acl"}, {"PUT", "/k?tagging"}} {
		if got := s.anonymously(c[0], c[1], map[string]string{"X-Amz-Acl": "public-read-write"}); got != 403 {
			t.Errorf("%s %s: %d", c[0], c[1], got)
		}
	}
	after, err := s.HeadObject(s.ctx, &awss3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	if !after.LastModified.Equal(*before.LastModified) || after.Metadata["a"] != "b" {
		t.Errorf("setting a list changed the object: %+v", after)
	}
	s.must(s.setACL("k", types.ObjectCannedACLPrivate))
	if got := s.anonymously("GET", "/k", nil); got != 403 || s.grants("k") != owner {
		t.Errorf("private again: %d %s", got, s.grants("k"))
	}
}

// The list of one object must not decide on another: the authorised source of a
// copy is the copied one, in any spelling of its name.
func TestObjectListsOfCopies(t *testing.T) {
	s := withLists(t)
	_, err := s.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), ACL: types.ObjectCannedACLPublicRead})
	s.must(err)
	_, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/k")})
	s.must(err)
	if got := s.grants("copy"); got != root.Access+" FULL_CONTROL" {
		t.Errorf("a list was copied: %s", got)
	}
	_, err = s.CopyObject(s.ctx, &awss3.CopyObjectInput{
		Bucket: &s.bucket, Key: aws.String("copy"), CopySource: aws.String(s.bucket + "/k"), ACL: types.ObjectCannedACLPublicRead,
	})
	s.must(err)
	up, err := s.CreateMultipartUpload(s.ctx, &awss3.CreateMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("up"), ACL: types.ObjectCannedACLPublicRead})
	s.must(err)
	part, err := s.UploadPart(s.ctx, &awss3.UploadPartInput{Bucket: &s.bucket, Key: aws.String("up"), UploadId: up.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader("x")})
	s.must(err)
	_, err = s.CompleteMultipartUpload(s.ctx, &awss3.CompleteMultipartUploadInput{Bucket: &s.bucket, Key: aws.String("up"), UploadId: up.UploadId,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: []types.CompletedPart{{ETag: part.ETag, PartNumber: aws.Int32(1)}}}})
	s.must(err)
	for _, key := range []string{"k", "copy", "up"} {
		if got := s.anonymously("GET", "/"+key, nil); got != 200 {
			t.Errorf("%s: %d", key, got)
		}
	}
}

// A list with grants without effect is refused.
func TestObjectListsThatWouldNotHold(t *testing.T) {
	off, on := newSite(t), withLists(t)
	for _, list := range []types.ObjectCannedACL{types.ObjectCannedACLPublicRead, types.ObjectCannedACLAuthenticatedRead, types.ObjectCannedACLBucketOwnerRead} {
		_, err := off.PutObject(off.ctx, &awss3.PutObjectInput{Bucket: &off.bucket, Key: aws.String("k"), ACL: list})
		off.fails(err, 400, "AccessControlListNotSupported")
	}
	off.missing("k")
	for _, list := range []types.ObjectCannedACL{types.ObjectCannedACLPrivate, types.ObjectCannedACLBucketOwnerFullControl} {
		_, err := off.PutObject(off.ctx, &awss3.PutObjectInput{Bucket: &off.bucket, Key: aws.String("k"), ACL: list})
		off.must(err)
		off.must(off.setACL("k", list))
	}
	off.fails(off.setACL("k", types.ObjectCannedACLPublicRead), 400, "AccessControlListNotSupported")
	shown, err := off.GetObjectAcl(off.ctx, &awss3.GetObjectAclInput{Bucket: &off.bucket, Key: aws.String("k")})
	off.must(err)
	back := awss3.PutObjectAclInput{Bucket: &off.bucket, Key: aws.String("k"), AccessControlPolicy: &types.AccessControlPolicy{Owner: shown.Owner, Grants: shown.Grants}}
	_, err = off.PutObjectAcl(off.ctx, &back)
	off.must(err)
	back.AccessControlPolicy.Grants[0].Permission = types.PermissionRead
	_, err = off.PutObjectAcl(off.ctx, &back)
	off.fails(err, 400, "AccessControlListNotSupported")
	off.fails(off.setACL("none", types.ObjectCannedACLPrivate), 404, "NoSuchKey")
	on.put("k", "", nil)
	on.fails(on.setACL("k", types.ObjectCannedACLBucketOwnerRead), 501, "NotImplemented")
	on.fails(on.setACL("k", "everything"), 400, "InvalidArgument")
	on.fails(on.setACL("none", types.ObjectCannedACLPublicRead), 404, "NoSuchKey")
	reader := on.key("reader", true, on.bucket)
	grant := func(in awss3.PutObjectAclInput) error {
		in.Bucket, in.Key = &on.bucket, aws.String("k")
		_, err := on.PutObjectAcl(on.ctx, &in)
		return err
	}
	on.fails(grant(awss3.PutObjectAclInput{GrantRead: aws.String(`id="` + reader.Access + `"`)}), 501, "NotImplemented")
	on.fails(grant(awss3.PutObjectAclInput{GrantRead: aws.String(`emailAddress="a@example.com"`)}), 400, "UnresolvableGrantByEmailAddress")
	on.fails(grant(awss3.PutObjectAclInput{GrantRead: aws.String(reader.Access)}), 400, "InvalidArgument")
	on.fails(grant(awss3.PutObjectAclInput{GrantRead: aws.String(`id="x"`), ACL: types.ObjectCannedACLPrivate}), 400, "InvalidRequest")
	on.must(grant(awss3.PutObjectAclInput{GrantRead: aws.String(`uri="http://acs.amazonaws.com/groups/global/AllUsers"`)}))
	if got := on.anonymously("GET", "/k", nil); got != 200 || on.grants("k") != "AllUsers READ" {
		t.Errorf("granted by a header: %d %s", got, on.grants("k"))
	}
	_, err = client(reader, nil).PutObjectAcl(on.ctx, &awss3.PutObjectAclInput{Bucket: &on.bucket, Key: aws.String("k"), ACL: types.ObjectCannedACLPrivate})
	on.fails(err, 403, "AccessDenied")
}

// aclDocument sends a list as a document.
func (s *site) aclDocument(c gateway.Credentials, body string) (int, string) {
	r := s.raw(http.MethodPut, "/k?acl", []byte(body))
	status, _, answer := s.send(signed(r, c, sum([]byte(body))))
	return status, answer
}

func TestObjectListsByDocument(t *testing.T) {
	s := withLists(t)
	s.put("k", "", nil)
	document := func(owner, grantee string) string {
		return `<AccessControlPolicy xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Owner><ID>` + owner + `</ID></Owner><AccessControlList>` + grantee +
			`</AccessControlList></AccessControlPolicy>`
	}
	grantee := func(kind, who, may string) string {
		return `<Grant><Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="` + kind + `">` + who + `</Grantee><Permission>` + may + `</Permission></Grant>`
	}
	everybody := "<URI>http://acs.amazonaws.com/groups/global/AllUsers</URI>"
	for _, c := range []struct {
		body   string
		status int
		code   string
	}{
		{document("another", ""), 400, "InvalidArgument"},
		{document(root.Access, grantee("Group", everybody, "EVERYTHING")), 400, "MalformedACLError"},
		{document(root.Access, grantee("Group", "", "READ")), 400, "MalformedACLError"},
		{document(root.Access, grantee("Somebody", "<ID>x</ID>", "READ")), 400, "MalformedACLError"},
		{document(root.Access, grantee("Group", "<URI>x</URI>", "READ")), 400, "InvalidArgument"},
		{document(root.Access, grantee("AmazonCustomerByEmail", "<EmailAddress>a@b</EmailAddress>", "READ")), 400, "UnresolvableGrantByEmailAddress"},
		{document(root.Access, "") + "x", 400, "MalformedACLError"},
		{"<AccessControlPolicy/>", 400, "MalformedACLError"},
		{"", 404, "MissingSecurityHeader"},
		{document(root.Access, grantee("Group", everybody, "READ")+grantee("CanonicalUser", "<ID>"+root.Access+"</ID>", "FULL_CONTROL")), 200, ""},
	} {
		status, answer := s.aclDocument(root, c.body)
		if status != c.status || !strings.Contains(answer, c.code) {
			t.Errorf("%s: %d %s", c.body, status, answer)
		}
	}
	if got := s.anonymously("GET", "/k", nil); got != 200 {
		t.Errorf("granted by a document: %d", got)
	}
	for name, c := range map[string]gateway.Credentials{
		"foreign": {Access: "nobody", Secret: "nobody"}, "forged": {Access: root.Access, Secret: "wrong"}, "another bucket's": s.key("elsewhere", false, "elsewhere"),
	} {
		if status, answer := s.aclDocument(c, document(root.Access, "")); status != 403 {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
	if got := s.grants("k"); got != "AllUsers READ, "+root.Access+" FULL_CONTROL" {
		t.Errorf("grants are %s", got)
	}
}

// An object that is made private between the authorisation of a read and the read is not served:
// the list that decided was another version's.
func TestAReadIsDecidedByTheListOfWhatItReads(t *testing.T) {
	s := withLists(t)
	for _, public := range []bool{true, false} {
		s.put("k", "everybody's", nil)
		if public {
			s.must(s.setACL("k", types.ObjectCannedACLPublicRead))
		} else {
			_, err := w.store.Delete(s.ctx, object.DeleteRequest{Bucket: s.bucket, Items: []ledger.DeleteItem{{Key: "k"}}})
			s.must(err)
			s.must(s.bucketACL(types.BucketCannedACLPublicRead))
		}
		replace := func() {
			_, err := w.store.Put(s.ctx, object.PutRequest{Bucket: s.bucket, Key: "k", Body: strings.NewReader("private"), Size: -1, Attrs: ledger.Attrs{ACL: &ledger.ACL{}}})
			s.must(err)
		}
		w.beforeChange.Store(&replace)
		if got := s.anonymously("GET", "/k", nil); got != 403 {
			t.Errorf("replaced while it was read: %d, want 403", got)
		}
		if got := s.anonymously("GET", "/k", nil); got != 403 {
			t.Errorf("private: %d", got)
		}
	}
}

// The owner of a bucket, and a key for it, may read an object whatever its list says: that another
// version with another list takes its place does not disturb them.
func TestOwnersAreNotDisturbedByLists(t *testing.T) {
	s := newSite(t)
	hers := s.key("alice", false, ledger.AccountBuckets)
	alice := client(hers, nil)
	s.bucket = s.makes(alice, s.bucket+"-hers")
	replace := func() {
		_, err := w.store.Put(s.ctx, object.PutRequest{Bucket: s.bucket, Key: "k", Body: strings.NewReader("private"), Size: -1, Attrs: ledger.Attrs{ACL: &ledger.ACL{}}})
		s.must(err)
	}
	for name, c := range map[string]*awss3.Client{"owner": alice, "key": s.restricted("boxed", true, s.bucket)} {
		s.must(putAs(s, alice, s.bucket, "k"))
		w.beforeChange.Store(&replace)
		if err := getAs(s, c, s.bucket, "k"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s.must(putAs(s, alice, s.bucket, "k"))
	w.beforeChange.Store(&replace)
	s.must(copyAs(s, alice, s.bucket+"/k", s.bucket+"/copy", nil))
}

// A policy that denies setting a key's list, or denies its object under another
// name, is effective.
func TestPoliciesOverObjectLists(t *testing.T) {
	s := withLists(t)
	writer := s.key("writer", false, s.bucket)
	s.put("secret", "body", nil)
	arn := "arn:aws:s3:::" + s.bucket
	_, err := s.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &s.bucket, Policy: aws.String(`{"Version":"2012-10-17","Statement":[
		{"Effect":"Deny","Principal":{"AWS":"` + writer.Access + `"},"Action":["s3:PutObjectAcl"],"Resource":"` + arn + `/*"},
		{"Effect":"Deny","Principal":{"AWS":"` + writer.Access + `"},"Action":["s3:GetObject"],"Resource":"` + arn + `/secret"}]}`)})
	s.must(err)
	c := client(writer, nil)
	_, err = c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k")})
	s.must(err)
	_, err = c.PutObject(s.ctx, &awss3.PutObjectInput{Bucket: &s.bucket, Key: aws.String("k"), ACL: types.ObjectCannedACLPublicRead})
	s.fails(err, 403, "AccessDenied")
	_, err = c.PutObjectAcl(s.ctx, &awss3.PutObjectAclInput{Bucket: &s.bucket, Key: aws.String("k"), ACL: types.ObjectCannedACLPublicRead})
	s.fails(err, 403, "AccessDenied")
	for _, source := range []string{"/secret", "/secret?versionId=null", "%2Fsecret%3FversionId=null", "/%73ecret?versionId=null"} {
		_, err = c.CopyObject(s.ctx, &awss3.CopyObjectInput{Bucket: &s.bucket, Key: aws.String("copy"), CopySource: aws.String(s.bucket + source)})
		s.fails(err, 403, "AccessDenied")
	}
	s.missing("copy")
}
