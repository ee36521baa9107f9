package main

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
)

// A key that is confined to buckets uploads its bytes whether they are stored
// already or not: the time of its puts does not reveal other buckets. The
// content is stored once all the same.
func TestConfinedKeysLearnNothingOfOtherBuckets(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.bucket("second")
	w.put("first", "a", "the same bytes", "")
	k := asked[api.NewKey](w, "keys", "add", "--bucket", "second")
	in := &awss3.PutObjectInput{Bucket: aws.String("second"), Key: aws.String("b"), Body: strings.NewReader("the same bytes")}
	if _, err := w.s3(k.ID, k.Secret).PutObject(context.Background(), in); err != nil {
		t.Fatal(err)
	}
	w.state("condemned", 1) // uploaded in vain
	w.state("live", 1)
	w.put("first", "c", "the same bytes", "")
	w.state("condemned", 1)
}

// Ids of keys have one form, which excludes special meanings.
func TestKeysHaveNames(t *testing.T) {
	w := newWorld(t).start()
	for id, want := range map[string]string{
		"x\ny": "letters", "a b": "letters", "ab": "letters", "lethe:pastes": "letters", "all-users": "reserved", "AllUsers": "reserved", w.app.Root.Access: "root key",
	} {
		w.fails(want, "keys", "add", "--id", id, "--bucket", "first")
		w.fails(want, "keys", "add", "--id", id, "--bucket", "@account")
	}
	w.fails("letters", "keys", "add", "--owner", "lethe:pastes", "--bucket", "first")
	w.fails("reserved", "keys", "add", "--owner", "all-users", "--bucket", "first")
}

// An account cannot create a bucket whose name is in the list of another
// account's key.
func TestNamesOfKeysAreNotTaken(t *testing.T) {
	w := newWorld(t).start()
	ctx := context.Background()
	squatter := asked[api.NewKey](w, "keys", "add", "--id", "squatter", "--bucket", "@account")
	owner := asked[api.NewKey](w, "keys", "add", "--id", "owner", "--bucket", "photos", "--settings")
	w.ok("keys", "add", "--id", "reader", "--bucket", "photos", "--read-only")
	make := &awss3.CreateBucketInput{Bucket: aws.String("photos")}
	if _, err := w.s3(squatter.ID, squatter.Secret).CreateBucket(ctx, make); err == nil || !strings.Contains(err.Error(), "BucketAlreadyExists") {
		t.Errorf("the name was taken: %v", err)
	}
	if _, err := w.s3(squatter.ID, squatter.Secret).CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("others")}); err != nil {
		t.Error(err)
	}
	if _, err := w.s3(owner.ID, owner.Secret).CreateBucket(ctx, make); err != nil {
		t.Error(err)
	}
	w.ok("keys", "add", "--id", "later", "--bucket", "roots")
	w.bucket("roots")
}

// A key cannot be created for a bucket that an account owns, unless it acts for
// that account. The root's buckets, and those of keys made for them, are
// allowed.
func TestKeyForAnothersBucketIsRefused(t *testing.T) {
	w := newWorld(t).start()
	ctx := context.Background()
	squatter := asked[api.NewKey](w, "keys", "add", "--id", "squatter", "--bucket", "@account")
	if _, err := w.s3(squatter.ID, squatter.Secret).CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("photos")}); err != nil {
		t.Fatal(err)
	}
	w.fails("belongs to the account squatter", "keys", "add", "--bucket", "free", "--bucket", "photos")
	w.fails("--owner squatter", "keys", "add", "--bucket", "photos", "--owner", "other")
	if out := w.ok("keys", "list"); strings.Count(out, "\n") != 2 {
		t.Errorf("a key was made all the same:\n%s", out)
	}
	k := asked[api.NewKey](w, "keys", "add", "--bucket", "photos", "--owner", "squatter")
	in := &awss3.PutObjectInput{Bucket: aws.String("photos"), Key: aws.String("k"), Body: strings.NewReader("x")}
	if _, err := w.s3(k.ID, k.Secret).PutObject(ctx, in); err != nil {
		t.Error(err)
	}
	_, err := w.s3(k.ID, k.Secret).DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: aws.String("photos")})
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		t.Errorf("a key without settings deletes the bucket of its owner: %v", err)
	}
	w.bucket("roots")
	w.ok("keys", "add", "--bucket", "roots")
	maker := asked[api.NewKey](w, "keys", "add", "--id", "maker", "--bucket", "made", "--settings")
	if _, err := w.s3(maker.ID, maker.Secret).CreateBucket(ctx, &awss3.CreateBucketInput{Bucket: aws.String("made")}); err != nil {
		t.Fatal(err)
	}
	w.ok("keys", "add", "--bucket", "made", "--read-only")
}
