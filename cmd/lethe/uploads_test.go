package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
)

// upload leaves a multipart upload with one part.
func (w *world) upload(bucket, key, body string) {
	w.t.Helper()
	client := w.s3("", "")
	u, err := client.CreateMultipartUpload(w.t.Context(), &awss3.CreateMultipartUploadInput{Bucket: aws.String(bucket), Key: aws.String(key)})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = client.UploadPart(w.t.Context(), &awss3.UploadPartInput{
		Bucket: aws.String(bucket), Key: aws.String(key), UploadId: u.UploadId, PartNumber: aws.Int32(1), Body: strings.NewReader(body),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// TestUploadsThatAreLeftLying checks that a dry run has the bytes of abandoned
// uploads, and those that holds keep, and that exactly the others are aborted.
func TestUploadsThatAreLeftLying(t *testing.T) {
	w := newWorld(t, "reclaim.grace.multipart_stale=1h").start()
	w.bucket("bucket")
	w.upload("bucket", "kept", "seven b")
	w.upload("bucket", "left", "four")
	w.ok("hold", "add", "bucket", "--key", "kept")
	w.clock.Advance(2 * time.Hour)
	out := w.ok("reclaim", "--dry-run", "--only", "multipart")
	for _, want := range []string{"STAYS, as a hold keeps it (untouched for 1h)", "4 B"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in the dry run:\n%s", want, out)
		}
	}
	path, end := w.planned("reclaim", "--only", "multipart")
	if end.Totals.Items != 1 || end.Totals.Frees != 4 || end.Totals.Blobs != 1 || end.Totals.Stays.Bytes != 7 {
		t.Errorf("the plan ends with %+v", end)
	}
	if res := w.applied(path); res.Done.Items != 1 || res.Done.Frees != 4 {
		t.Errorf("applied %+v", res)
	}
	w.ok("hold", "rm", "bucket", "--key", "kept")
	if out := w.ok("reclaim", "--once", "--only", "multipart"); !strings.Contains(out, "aborted 1") {
		t.Errorf("when it is let go: %s", out)
	}
}

// TestSimulationOfHeldUploadsAndLimits checks that a simulation has held
// objects separately, uploads with bytes and names, and the decision of the
// limits.
func TestSimulationOfHeldUploadsAndLimits(t *testing.T) {
	w := newWorld(t, "reclaim.limits.rules.share=0", "reclaim.limits.rules.ask=2", "reclaim.grace.multipart_stale=30d").start()
	w.bucket("bucket")
	for _, key := range []string{"drafts/a", "drafts/b", "drafts/c", "drafts/held", "later/a"} {
		w.put("bucket", key, "bytes", "")
	}
	w.upload("bucket", "drafts/held", "seven b")
	w.upload("bucket", "up", "four")
	w.ok("hold", "add", "bucket", "--key", "drafts/held")
	file := filepath.Join(t.TempDir(), "rules.json")
	const rules = `{"Rules":[
		{"ID":"drafts","Filter":{"Prefix":"drafts/"},"Status":"Disabled","Expiration":{"Date":"2020-01-01T00:00:00Z"}},
		{"ID":"later","Filter":{"Prefix":"later/"},"Status":"Enabled","Expiration":{"Days":7}},
		{"ID":"uploads","Filter":{"Prefix":""},"Status":"Enabled","AbortIncompleteMultipartUpload":{"DaysAfterInitiation":1}}]}`
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	sim := asked[api.Simulation](w, "lifecycle", "simulate", "bucket", file)
	if d := sim.Rules[0]; d.Today != (api.Amount{Objects: 3, Bytes: 15}) || d.Held != (api.Amount{Objects: 1, Bytes: 5}) {
		t.Errorf("drafts: %+v", d)
	}
	u := sim.Rules[2].Uploads
	if u.Days != (api.UploadAmount{Uploads: 1, Bytes: 4}) || u.Today.Uploads != 0 || u.Held != (api.UploadAmount{Uploads: 1, Bytes: 7}) ||
		len(u.Examples) != 1 || u.Examples[0].Key != "up" || u.Examples[0].Bytes != 4 {
		t.Errorf("uploads: %+v", u)
	}
	if l := sim.Limits; len(l) != 2 || l[0].Due != 3 || l[0].Goes != 0 || !strings.Contains(l[0].Why, "more than 2 (ask)") || l[1].Due != 1 || l[1].Goes != 1 || l[1].Why != "" {
		t.Errorf("limits: %+v", l)
	}
	out := w.ok("lifecycle", "simulate", "bucket", file)
	for _, want := range []string{
		"besides, holds keep 1 object, 5 B", "within 30 days: 0 objects, 0 B; 1 incomplete upload, 4 B",
		"to s3://bucket/up, 4 B, begun", "3 objects due of 5: the limits would stop all of it", "within the limits",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	contains(t, "all", w.ok("lifecycle", "simulate", "bucket", file, "--all"), "upload, rule uploads  s3://bucket/up\n", "held", "s3://bucket/drafts/held\n", "s3://bucket/later/a\n")
	w.ok("lifecycle", "set", "bucket", file)
	w.clock.Advance(48 * time.Hour)
	if out := w.ok("reclaim", "--once", "--only", "lifecycle"); !strings.Contains(out, "aborted 1") {
		t.Errorf("what was simulated is not what goes: %s", out)
	}
}

// A simulation and a forecast name the same moment for an upload that is abandoned before a rule
// aborts it.
func TestSimulationOfAbandonedUploads(t *testing.T) {
	w := newWorld(t, "reclaim.grace.multipart_stale=1d").start()
	w.bucket("bucket")
	w.upload("bucket", "up", "four")
	file := filepath.Join(t.TempDir(), "rules.json")
	const rules = `{"Rules":[{"ID":"uploads","Filter":{"Prefix":""},"Status":"Enabled","AbortIncompleteMultipartUpload":{"DaysAfterInitiation":2}}]}`
	if err := os.WriteFile(file, []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ok("lifecycle", "set", "bucket", file)
	sim := asked[api.Simulation](w, "lifecycle", "simulate", "bucket")
	if a := sim.Abandoned; sim.Rules[0].Uploads.Days.Uploads != 0 || a.Days != (api.UploadAmount{Uploads: 1, Bytes: 4}) || len(a.Examples) != 1 {
		t.Fatalf("simulated %+v", sim)
	}
	at := sim.Abandoned.Examples[0].EndsAt
	contains(t, "a simulation", w.ok("lifecycle", "simulate", "bucket"), "abandoned, before a rule aborts them:", stamp(at))
	for _, args := range [][]string{{"lifecycle", "simulate", "bucket", "--all"}, {"forecast", "s3://bucket", "--day", at.Format(time.DateOnly)}} {
		if out := w.ok(args...); !strings.Contains(out, stamp(at)) || !strings.Contains(out, "s3://bucket/up") {
			t.Errorf("%v lacks the upload at %s:\n%s", args, stamp(at), out)
		}
	}
}
