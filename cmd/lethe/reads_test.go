package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
)

// An object that can be read twice is explained from its first read to the receipt of its
// last one.
func TestReadsLeftAreExplained(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	_, err := w.s3("", "").PutObject(context.Background(), &awss3.PutObjectInput{
		Bucket: aws.String("first"), Key: aws.String("k"), Body: strings.NewReader("secret"), Metadata: map[string]string{"reads": "2"},
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		t.Helper()
		out, err := w.s3("", "").GetObject(context.Background(), &awss3.GetObjectInput{Bucket: aws.String("first"), Key: aws.String("k")})
		if err != nil {
			t.Fatal(err)
		}
		defer out.Body.Close()
		if got, err := io.ReadAll(out.Body); err != nil || string(got) != "secret" {
			t.Fatalf("read %q, %v", got, err)
		}
	}
	w.says("before the first read", "k", "can be read twice more")
	read()
	w.says("after the first read", "k", "can be read once more")
	if out := w.ok("explain", "s3://first/k"); !strings.Contains(out, "1 read left") {
		t.Error(out)
	}
	if out := w.ok("ls", "s3://first"); !strings.Contains(out, "1 read ") {
		t.Error(out)
	}
	w.ok("hold", "add", "s3://first/k", "--reason", "audit")
	w.says("under a hold", "k", "nobody can delete", "can be read once more")
	last := w.clock.Now().Time().Format(time.RFC3339)
	read()
	w.gone("first", "k")
	w.says("after the last read", "k", "read for the last time at "+last, "clients see nothing", "as it is held")
	w.reclaimed("objects", 0, "expire")
	if got := w.forecastCauses(); got != "read 0, held 1" {
		t.Errorf("under a hold, a forecast says %s", got)
	}
	w.fails("no such key", "ttl", "set", "s3://first/k", "12h")
	w.ok("hold", "rm", "s3://first/k")
	w.clock.Advance(time.Minute)
	w.saysRead()
	w.reclaimed("objects", 1, "expire")
	w.says("after it went", "k", "not here", "it was read for the last time at "+last)
	if e := asked[api.Explanation](w, "explain", "s3://first/k"); len(e.Trash) > 0 || len(e.Gone) != 1 || e.Gone[0].Receipt.Reason != "read" {
		t.Errorf("explained as %+v", e)
	}
	w.clock.Advance(time.Hour)
	w.reclaimed("gone", 1, "clean")
	w.held(0)
	w.ok("check", "--checksums")
	if !strings.Contains(w.log.String(), `"event":"blobs_deleted","reason":"read"`) {
		t.Error("no audit line has the reason")
	}
}

// saysRead checks that all commands say of the one object that is due that it was read.
func (w *world) saysRead() {
	w.t.Helper()
	if got := w.forecastCauses(); got != "read 1, held 0" {
		w.t.Errorf("a forecast says %s", got)
	}
	if _, text := w.dry("expire"); !strings.Contains(text, "it was read for the last time") {
		w.t.Errorf("a dry run says\n%s", text)
	}
	contains(w.t, "a day", w.ok("forecast", "s3://first", "--day", "due", "--by", "read"), "last reads", "s3://first/k")
	contains(w.t, "a simulation", w.ok("lifecycle", "simulate", "first"), "as they were read for the last time:\n  today: 1 object, 6 B")
	if sim := asked[api.Simulation](w, "lifecycle", "simulate", "first"); sim.TTL.Days.Objects != 0 {
		w.t.Errorf("simulated %+v", sim)
	}
}

// forecastCauses returns by what a forecast says that what is due goes.
func (w *world) forecastCauses() string {
	w.t.Helper()
	f := asked[api.ForecastResult](w, "forecast")
	if len(f.Days) != 1 {
		return fmt.Sprintf("%d days", len(f.Days))
	}
	var list []string
	for _, by := range f.Days[0].By {
		list = append(list, fmt.Sprintf("%s %d, held %d", by.By, by.Objects, by.Held.Objects))
	}
	return strings.Join(list, "; ")
}
