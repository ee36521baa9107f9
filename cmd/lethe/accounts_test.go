package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/test/servers"
)

// atInstances is a key's client at each of two instances.
type atInstances [2]*awss3.Client

// twoFronts starts two serving instances over one database: one in this
// process, and one beside it.
func twoFronts(t *testing.T) (w *world, keys func(id string, buckets ...string) atInstances) {
	w = newWorld(t, shared(t, servers.Postgres(t), "cloud")...).start()
	other := w.beside()
	// A heartbeat of its own: with that of other tests it would ask for epochs within 50 ms, and connect anew
	// after each, until the database is busy with nothing else where connecting takes longer.
	_, out, errs, _ := other.process(append(other.args("serve"), "--set", "reclaim.grace.heartbeat=1s")...)
	text, ok := out.await("lethe status")
	found := regexp.MustCompile(`(?m)^ *S3 +(http://\S+)`).FindStringSubmatch(text)
	if !ok || found == nil {
		t.Fatalf("the other instance does not serve: %s%s", text, errs)
	}
	return w, func(id string, buckets ...string) (c atInstances) {
		t.Helper()
		key := asked[api.NewKey](w, "keys", "add", "--id", id, "--bucket", strings.Join(buckets, ","), "--settings")
		c[0] = w.s3(key.ID, key.Secret)
		o := c[0].Options()
		o.BaseEndpoint = &found[1]
		c[1] = awss3.New(o)
		return c
	}
}

// read reads an object at an instance and returns S3's code of its error, or
// "".
func (c atInstances) read(t *testing.T, instance int, bucket, key string) string {
	t.Helper()
	out, err := c[instance].GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err == nil {
		out.Body.Close() // else its connection counts for the address
	}
	var known smithy.APIError
	if err != nil && !errors.As(err, &known) {
		t.Fatal(err)
	}
	if err != nil {
		return known.ErrorCode()
	}
	return ""
}

// becomes reads until the code is as wanted: an instance caches a bucket for a
// second.
func (c atInstances) becomes(t *testing.T, instance int, bucket, key, code string) {
	t.Helper()
	for range 20_000 {
		if c.read(t, instance, bucket, key) == code {
			return
		}
	}
	t.Fatalf("reading %s/%s at instance %d does not become %q", bucket, key, instance, code)
}

// What an account owns and is granted through one instance takes effect at the
// other, and so does its withdrawal.
func TestAccountsOfTwoInstances(t *testing.T) {
	w, key := twoFronts(t)
	alice, bob := key("alice", "@account"), key("bob", "@account")
	confined := key("confined", "other")
	ctx, bucket := context.Background(), "hers"
	makes := func(c *awss3.Client) {
		t.Helper()
		_, err := c.CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: &bucket})
		name := "k"
		if err == nil {
			_, err = c.PutObject(ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: &name, Body: strings.NewReader("x")})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	makes(alice[0])
	for instance := range 2 {
		hers, others := alice.read(t, instance, bucket, "k"), bob.read(t, instance, bucket, "k")+confined.read(t, instance, bucket, "k")
		if hers != "" || others != "AccessDeniedAccessDenied" {
			t.Errorf("at instance %d: she is told %q, the others %q", instance, hers, others)
		}
	}
	policy := fmt.Sprintf(`{"Statement":[{"Effect":"Allow","Principal":{"AWS":["bob","confined"]},"Action":"s3:GetObject","Resource":"arn:aws:s3:::%s/*"}]}`, bucket)
	if _, err := alice[1].PutBucketPolicy(ctx, &awss3.PutBucketPolicyInput{Bucket: &bucket, Policy: &policy}); err != nil {
		t.Fatal(err)
	}
	bob.becomes(t, 0, bucket, "k", "")
	if got := confined.read(t, 0, bucket, "k"); got != "AccessDenied" {
		t.Errorf("a key without the bucket in its list: %q", got)
	}
	if _, err := alice[1].DeleteBucketPolicy(ctx, &awss3.DeleteBucketPolicyInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	if got := bob.read(t, 1, bucket, "k"); got != "AccessDenied" {
		t.Errorf("where it was taken back: %q", got)
	}
	bob.becomes(t, 0, bucket, "k", "AccessDenied")
	name := "k"
	if _, err := alice[1].DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &bucket, Key: &name}); err != nil {
		t.Fatal(err)
	}
	if _, err := alice[1].DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	makes(bob[1])
	alice.becomes(t, 0, bucket, "k", "AccessDenied")
	bob.becomes(t, 0, bucket, "k", "")
	w.ok("keys", "remove", "bob")
	for instance := range 2 {
		if got := bob.read(t, instance, bucket, "k"); got != "InvalidAccessKeyId" {
			t.Errorf("a key that was removed, at instance %d: %q", instance, got)
		}
	}
}

// A key for its account's buckets is not an account of its own.
func TestKeysForAccounts(t *testing.T) {
	w := newWorld(t).start()
	w.fails("leave the owner out", "keys", "add", "--id", "alice", "--owner", "bob", "--bucket", "@account")
	for _, id := range []string{"*", "a,b", "al", "alice bob", `al"ice`} {
		w.fails("is named by 3 to 128", "keys", "add", "--id", id, "--bucket", "@account")
	}
	w.fails("no name of a bucket", "keys", "add", "--bucket", "@others")
	if k := asked[api.NewKey](w, "keys", "add", "--bucket", "@account,photos"); k.Owner != k.ID || len(k.Buckets) != 2 {
		t.Errorf("made %+v", k.Key)
	}
}
