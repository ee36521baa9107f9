package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/admin/api"
)

// auditLine waits for an audit line that contains what, and returns its
// attributes.
func (w *world) auditLine(what string) map[string]string {
	w.t.Helper()
	w.await(what)
	for line := range strings.Lines(w.log.String()) {
		var l struct {
			Audit bool
			Event string
			What  map[string]string
		}
		if strings.Contains(line, what) && json.Unmarshal([]byte(line), &l) == nil && l.Audit {
			l.What["event"] = l.Event
			return l.What
		}
	}
	w.t.Fatalf("%s is in no audit line of\n%s", what, w.log)
	return nil
}

// A client's change through S3 leaves an audit line with who, what, before and
// after. An unknown key and a read leave none, and no line has a secret.
func TestClientsChangesAreAudited(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("mine")
	w.put("mine", "a", "bytes", "")
	owner := asked[api.NewKey](w, "keys", "add", "--bucket", "mine", "--settings")
	foreign := asked[api.NewKey](w, "keys", "add", "--bucket", "other")
	bucket, key := aws.String("mine"), aws.String("a")
	rules := &awss3.PutBucketLifecycleConfigurationInput{Bucket: bucket, LifecycleConfiguration: &types.BucketLifecycleConfiguration{
		Rules: []types.LifecycleRule{{ID: aws.String("old"), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String("tmp/")},
			Expiration: &types.LifecycleExpiration{Days: aws.Int32(3)}}},
	}}
	ctx := context.Background()
	if _, err := w.s3(foreign.ID, foreign.Secret).PutBucketLifecycleConfiguration(ctx, rules); err == nil {
		t.Fatal("a foreign key set rules")
	}
	client := w.s3(owner.ID, owner.Secret)
	if _, err := client.PutBucketLifecycleConfiguration(ctx, rules); err != nil {
		t.Fatal(err)
	}
	hold := &awss3.PutObjectLegalHoldInput{Bucket: bucket, Key: key, LegalHold: &types.ObjectLockLegalHold{Status: types.ObjectLockLegalHoldStatusOn}}
	if _, err := client.PutObjectLegalHold(ctx, hold); err != nil {
		t.Fatal(err)
	}
	if _, err := w.s3("", "").DeleteBucket(ctx, &awss3.DeleteBucketInput{Bucket: bucket}); err == nil {
		t.Fatal("a bucket with an object was deleted")
	}
	for _, want := range []map[string]string{
		{"route": "CreateBucket", "who": w.app.Root.Access, "request": `{"bucket":"mine"}`, "before": "{}", "after": `"owner":`, "outcome": "done"},
		{"route": "PutBucketLifecycleConfiguration", "who": owner.ID, "request": `{"bucket":"mine"}`, "before": "{}", "after": `"Days":3`, "outcome": "done"},
		{"route": "PutObjectLegalHold", "who": owner.ID, "request": `{"bucket":"mine","key":"a"}`, "before": `{"legal_hold":false}`, "after": `{"legal_hold":true}`, "outcome": "done"},
		{"route": "DeleteBucket", "who": w.app.Root.Access, "before": `"owner":`, "after": `"owner":`, "outcome": "BucketNotEmpty"},
	} {
		have := w.auditLine(`"route":"` + want["route"] + `"`)
		if have["event"] != "s3_change" || have["from"] != "127.0.0.1" || have["id"] == "" {
			t.Errorf("%v", have)
		}
		for name, text := range want {
			if !strings.Contains(have[name], text) {
				t.Errorf("%s of %s is %q, want %q", name, want["route"], have[name], text)
			}
		}
	}
	text := w.log.String()
	for _, secret := range []string{owner.Secret, foreign.Secret, w.app.Root.Secret.Reveal()} {
		if strings.Contains(text, secret) {
			t.Error("a secret is in the log")
		}
	}
	if strings.Contains(text, `"who":"`+foreign.ID) {
		t.Error("who was not let in has changed something")
	}
}
