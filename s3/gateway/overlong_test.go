package gateway_test

import (
	"bytes"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/ledger"
)

// A policy that was stored before there was a bound allows nothing, is
// reported, and can be read, replaced and deleted only by the bucket's owner
// and root.
func TestSecurityAPolicyThatIsTooLongAllowsNothing(t *testing.T) {
	s := newSite(t)
	alice, name := s.account("owner")
	bob, _ := s.account("other")
	s.makes(alice, name)
	long := []byte(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::` + name + `","arn:aws:s3:::` + name + `/*"]}]` +
		string(bytes.Repeat([]byte(" "), 1<<20)) + `}`)
	s.must(w.db.PutDocument(s.ctx, ledger.Document{Bucket: name, Kind: "policy", Body: long}))
	short := `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject","Resource":"arn:aws:s3:::` + name + `/*"}]}`
	put := func(c *awss3.Client) error {
		_, err := c.PutBucketPolicy(s.ctx, &awss3.PutBucketPolicyInput{Bucket: &name, Policy: &short})
		return err
	}
	eventually(t, "the policy that another process stored", func() bool { return getAs(s, alice, name, "k") != nil })
	s.fails(getAs(s, alice, name, "k"), 403, "AccessDenied")
	s.fails(putAs(s, alice, name, "k"), 403, "AccessDenied")
	s.fails(getAs(s, bob, name, "k"), 403, "AccessDenied")
	s.fails(put(bob), 403, "AccessDenied")
	got, err := alice.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &name})
	s.must(err)
	if *got.Policy != string(long) {
		t.Errorf("the owner is shown %d bytes", len(*got.Policy))
	}
	_, err = bob.GetBucketPolicy(s.ctx, &awss3.GetBucketPolicyInput{Bucket: &name})
	s.fails(err, 403, "AccessDenied")
	s.must(getAs(s, s.Client, name, "k"))
	s.must(put(alice))
	s.must(getAs(s, alice, name, "k"))
	s.must(getAs(s, bob, name, "k"))
	s.must(w.db.PutDocument(s.ctx, ledger.Document{Bucket: name, Kind: "policy", Body: long}))
	_, err = alice.DeleteBucketPolicy(s.ctx, &awss3.DeleteBucketPolicyInput{Bucket: &name})
	s.must(err)
	s.must(getAs(s, alice, name, "k"))
}
