package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/admin/api"
)

// An object comes in through S3 with a time to live, is shared, expires, and
// its bytes are deleted from the disk. Status, explain and check agree
// throughout.
func TestObjectLifeCycle(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "the same bytes", "1h")
	w.put("first", "b", "the same bytes", "2h")
	w.put("first", "c", "other bytes", "")
	w.held(2)
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if len(e.Contents) != 1 || e.Contents[0].Refs != 2 || e.Object.EndedBy != "ttl" || !e.Visible {
		t.Errorf("explained as %+v", e)
	}
	w.state("live", 2)
	w.ok("check", "--checksums")

	w.clock.Advance(90 * time.Minute)
	w.gone("first", "a")
	w.reclaimed("objects", 1, "expire")
	w.state("live", 2) // b still refers to the bytes
	w.clock.Advance(time.Hour)
	if e := asked[api.Explanation](w, "explain", "s3://first/b"); e.Visible || !strings.Contains(e.Verdict, "ended") {
		t.Errorf("explained as %+v", e)
	}
	w.reclaimed("objects", 1, "expire")
	w.state("condemned", 1)
	w.reclaimed("gone", 0, "clean") // readers may still be active
	w.held(2)
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 1, "clean")
	w.held(1)
	w.state("condemned", 0)
	w.ok("check", "--checksums")
	if e := asked[api.Explanation](w, "explain", "s3://first/b"); e.Object != nil || !strings.Contains(e.Verdict, "not here") {
		t.Errorf("explained as %+v", e)
	}
	for _, want := range []string{`"event":"objects_removed","reason":"expiry"`, `"event":"blobs_deleted","reason":"expiry"`} {
		if !strings.Contains(w.log.String(), want) {
			t.Errorf("no audit line with %s in\n%s", want, w.log)
		}
	}
}

// state fails unless this many blobs are in the state.
func (w *world) state(state string, n int64) {
	w.t.Helper()
	s := asked[api.Status](w, "status")
	for _, st := range s.Backends[0].States {
		if st.State == state && st.Blobs != n {
			w.t.Fatalf("%d blobs are %s, want %d", st.Blobs, state, n)
		}
	}
}

// reclaimed runs a routine and fails unless it counts n.
func (w *world) reclaimed(count string, n int64, routine string) {
	w.t.Helper()
	res := asked[api.ReclaimResult](w, "reclaim", "--once", "--only", routine)
	if got := res.Done[0].Counts[count]; got != n {
		w.t.Fatalf("%s counts %d %s, want %d: %v", routine, got, count, n, res.Done)
	}
}

// gone fails unless clients get NoSuchKey.
func (w *world) gone(bucket, key string) {
	w.t.Helper()
	_, err := w.s3("", "").GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &bucket, Key: &key})
	var missing *types.NoSuchKey
	if !errors.As(err, &missing) {
		w.t.Fatalf("get %s: %v, want NoSuchKey", key, err)
	}
}

// there fails unless clients get the object.
func (w *world) there(bucket, key string) {
	w.t.Helper()
	if _, err := w.s3("", "").HeadObject(context.Background(), &awss3.HeadObjectInput{Bucket: &bucket, Key: &key}); err != nil {
		w.t.Fatalf("head %s: %v", key, err)
	}
}

// The routines run by their schedules.
func TestTheEngineRunsByItself(t *testing.T) {
	w := newWorld(t, "reclaim.expire.enabled=true", "reclaim.expire.schedule=every 20ms",
		"reclaim.clean.enabled=true", "reclaim.clean.schedule=every 20ms", "reclaim.grace.read_grace=1s").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "1h")
	w.clock.Advance(time.Hour)
	if log, ok := w.log.await(`"event":"objects_removed"`); !ok {
		t.Fatal(log)
	}
	w.clock.Advance(time.Second)
	if log, ok := w.log.await(`"event":"blobs_deleted"`); !ok {
		t.Fatal(log)
	}
	w.held(0)
}

// Bytes that nobody refers to any more wake the routine that deletes them, without Redis too:
// they do not wait for its next tick.
func TestCondemnedBytesWakeClean(t *testing.T) {
	w := newWorld(t, "reclaim.clean.enabled=true", "reclaim.clean.schedule=every 24h", "reclaim.grace.read_grace=1s").start()
	w.clock.Advance(quietTime)
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.remove("first", "a")
	w.clock.Advance(time.Second)
	if log, ok := w.log.await(`"event":"blobs_deleted"`); !ok {
		t.Fatal(log)
	}
	w.held(0)
}

// A dry run shows what would go, and changes nothing.
func TestDryRun(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "12345", "1h")
	w.clock.Advance(2 * time.Hour)
	w.put("first", "b", "12345", "")
	res := asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "expire")
	if r := res.Routines[0]; r.Takes.Items != 1 || r.Takes.Bytes != 5 || r.Takes.Frees != 0 || res.Totals.Shared != 1 {
		t.Errorf("shared bytes: %+v", res)
	}
	w.remove("first", "b")
	res = asked[api.DryRun](w, "reclaim", "--dry-run", "--only", "expire")
	if r := res.Routines[0]; r.Takes.Items != 1 || r.Takes.Frees != 5 || res.Totals.Shared != 0 {
		t.Errorf("planned %+v", res)
	}
	w.state("live", 1)
	w.fails("there is no routine", "reclaim", "--once", "--only", "nonsense")
	w.fails("--dry-run", "reclaim")
}

func TestTimesToLiveAreChanged(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.ok("ttl", "set", "s3://first/a", "1h")
	w.ok("buckets", "set", "first", "--max-ttl", "2h")
	w.fails("time to live", "ttl", "set", "s3://first/a", "3h")
	w.fails("no number before", "ttl", "set", "s3://first/a", "nonsense")
	w.fails("s3://bucket/key", "ttl", "show", "first/a")
	w.fails("no such key", "ttl", "show", "s3://first/none")
	if out := w.ok("ttl", "show", "s3://first/a"); !strings.Contains(out, "ends ") {
		t.Error(out)
	}
	w.ok("buckets", "set", "first", "--max-ttl", "none")
	w.ok("ttl", "clear", "s3://first/a")
	w.clock.Advance(48 * time.Hour)
	w.there("first", "a")
}

// An idle time is set and removed beside a time to live; explain says which end counts.
func TestIdleTimesAreChanged(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "5d")
	ended := func(by, verdict string) {
		t.Helper()
		e := asked[api.Explanation](w, "explain", "s3://first/a")
		if e.Object.EndedBy != by || !strings.Contains(e.Verdict, verdict) {
			t.Errorf("ended by %s: %s", e.Object.EndedBy, e.Verdict)
		}
	}
	ended("ttl", "when its time to live ends")
	if out := w.ok("ttl", "set", "s3://first/a", "--idle", "3d"); !strings.Contains(out, "; without a read it ends ") || !strings.Contains(out, "idle for 3d") {
		t.Error(out)
	}
	ended("idle", "when it will not have been read for 3d, unless it is read before")
	w.ok("ttl", "set", "s3://first/a", "1d")
	ended("ttl", "when its time to live ends")
	w.ok("buckets", "set", "first", "--max-idle", "7d")
	w.fails("bucket first keeps objects no longer than 7d after their last read", "ttl", "set", "s3://first/a", "--idle", "8d")
	w.fails("shorter than a minute", "ttl", "set", "s3://first/a", "--idle", "59s")
	w.fails("no such key", "ttl", "set", "s3://first/none", "--idle", "2d")
	w.ok("ttl", "set", "s3://first/a", "6d", "--idle", "7d")
	ended("ttl", "when its time to live ends")
	w.ok("ttl", "clear", "s3://first/a")
	ended("idle", "when it will not have been read for 7d")
	if out := w.ok("ttl", "set", "s3://first/a", "--idle", "none"); !strings.Contains(out, "idle for 7d") {
		t.Errorf("the longest of the bucket applies: %s", out)
	}
	w.ok("buckets", "set", "first", "--max-idle", "none")
	w.ok("hold", "add", "first", "--key", "a")
	w.fails("held", "ttl", "set", "s3://first/a", "--idle", "1h")
	w.ok("ttl", "set", "s3://first/a", "--idle", "none")
	ended("nothing", "")
}
