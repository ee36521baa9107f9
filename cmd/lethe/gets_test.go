package main

import (
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
)

// What counts as a get, and whether it found its object, as the metric and lethe usage tell it.
func TestGetsOfABucket(t *testing.T) {
	for _, heads := range []string{"false", "true"} {
		w := newWorld(t, "store.head_counts="+heads).start()
		w.bucket("builds")
		w.bucket("idle")
		w.put("builds", "there", "bytes", "")
		w.asksOfBuilds()
		want := api.Gets{Found: 3, Missed: 1}
		if heads == "true" {
			want = api.Gets{Found: 4, Missed: 2}
		}
		got := asked[api.Usage](w, "usage", "s3://builds").Gets
		if got == nil || got.Found != want.Found || got.Missed != want.Missed || got.Since.IsZero() {
			t.Errorf("head_counts=%s: %+v, want %+v", heads, got, want)
		}
		_, text := get(t, w.app.Addresses().Metrics+"/metrics")
		contains(t, "the metrics", text, `lethe_bucket_gets_total{bucket="builds",outcome="found"} `+string('0'+rune(want.Found)), `outcome="missed"} `+string('0'+rune(want.Missed)))
		if n := strings.Count(text, "\nlethe_bucket_gets_total{"); n != 2 {
			t.Errorf("%d series:\n%s", n, text)
		}
		share := map[string]string{"false": "75 % of 4", "true": "67 % of 6"}[heads]
		contains(t, "usage", w.ok("usage", "s3://builds"), "  gets         "+share+" found their object (this instance, since ")
		if text := w.ok("usage", "s3://idle"); strings.Contains(text, "gets  ") {
			t.Errorf("a bucket that nobody read:\n%s", text)
		}
		w.stop()
		if text := w.ok("usage", "s3://builds"); strings.Contains(text, "gets  ") {
			t.Errorf("without a server:\n%s", text)
		}
	}
}

// asksOfBuilds gets what is there three times and what is not once, asks of each whether it is
// there, and does what counts as neither.
func (w *world) asksOfBuilds() {
	c, ctx := w.s3("", ""), w.t.Context()
	get := func(bucket, key string, also ...func(*awss3.GetObjectInput)) {
		in := &awss3.GetObjectInput{Bucket: &bucket, Key: &key}
		for _, f := range also {
			f(in)
		}
		if out, err := c.GetObject(ctx, in); err == nil {
			_, _ = io.Copy(io.Discard, out.Body) // the connection's next request comes after this one was counted
			out.Body.Close()
		}
	}
	head, err := c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: aws.String("builds"), Key: aws.String("there")})
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = c.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: aws.String("builds"), Key: aws.String("missing")})
	if err == nil {
		w.t.Fatal("what was never put is there")
	}
	get("builds", "there")
	get("builds", "there", func(in *awss3.GetObjectInput) { in.Range = aws.String("bytes=1-2") })
	get("builds", "there", func(in *awss3.GetObjectInput) { in.IfNoneMatch = head.ETag })
	get("builds", "missing")
	// Neither found nor missed.
	get("builds", "there", func(in *awss3.GetObjectInput) { in.IfMatch = aws.String(`"other"`) })
	get("builds", "there", func(in *awss3.GetObjectInput) { in.Range = aws.String("bytes=9-") })
	get("nowhere", "missing")
	if _, err := c.ListObjectsV2(ctx, &awss3.ListObjectsV2Input{Bucket: aws.String("builds")}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := c.CopyObject(ctx, &awss3.CopyObjectInput{Bucket: aws.String("builds"), Key: aws.String("copy"), CopySource: aws.String("builds/there")}); err != nil {
		w.t.Fatal(err)
	}
}
