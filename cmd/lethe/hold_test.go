package main

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
)

// TestHoldsFromTheCommandLine checks that a held object is neither deleted nor
// replaced nor expired, is listed and counted, and goes once the hold is
// removed.
func TestHoldsFromTheCommandLine(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("bucket")
	w.put("bucket", "logs/a", "bytes", "1h")
	w.put("bucket", "logs/b", "others", "1h")
	w.put("bucket", "one", "single", "")
	w.put("bucket", "free", "more", "1h")
	if out := w.ok("hold", "list"); strings.Contains(out, "bucket") {
		t.Errorf("before any: %s", out)
	}
	if out := w.ok("hold", "add", "bucket", "--prefix", "logs/", "--reason", "audit 7"); !strings.Contains(out, "held: s3://bucket/logs/*") {
		t.Errorf("add says %s", out)
	}
	w.ok("hold", "add", "bucket", "--key", "one")
	w.ok("hold", "add", "bucket", "--key", "one") // repeatable
	w.fails("no such bucket", "hold", "add", "nowhere")
	w.fails("on one key", "hold", "add", "bucket", "--key", "one", "--prefix", "o")
	list := asked[[]api.HoldInfo](w, "hold", "list", "--bucket", "bucket")
	if len(list) != 2 || list[0].Scope != "object" || list[1].Key != "logs/" || list[1].Reason != "audit 7" || list[1].At == 0 {
		t.Fatalf("listed are %+v", list)
	}
	if out := w.ok("status"); !strings.Contains(out, "2 holds are set") {
		t.Errorf("status says %s", out)
	}
	w.refusesToTouch("bucket", "one")

	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "expire")
	w.ok("explain", "s3://bucket/logs/a")
	if s := asked[api.Status](w, "status"); s.Objects != 3 || s.Holds != 2 {
		t.Fatalf("%d objects under %d holds", s.Objects, s.Holds)
	}

	w.fails("no such hold", "hold", "rm", "bucket")
	for _, args := range [][]string{{"--prefix", "logs/"}, {"--key", "one"}} {
		if out := w.ok(append([]string{"hold", "rm", "bucket"}, args...)...); !strings.Contains(out, "released") {
			t.Errorf("rm says %s", out)
		}
	}
	w.ok("reclaim", "--once", "--only", "expire")
	if s := asked[api.Status](w, "status"); s.Objects != 1 || s.Holds != 0 {
		t.Fatalf("%d objects under %d holds after they were released", s.Objects, s.Holds)
	}
	w.remove("bucket", "one")
}

// refusesToTouch checks that a client can neither delete nor replace the
// object.
func (w *world) refusesToTouch(bucket, key string) {
	w.t.Helper()
	ctx, client := context.Background(), w.s3("", "")
	_, err := client.DeleteObject(ctx, &awss3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		w.t.Errorf("deleting what is held: %v", err)
	}
	_, err = client.PutObject(ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: aws.String(key), Body: strings.NewReader("new")})
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") {
		w.t.Errorf("replacing what is held: %v", err)
	}
}

// TestLimitsFromTheCommandLine checks that a deletion limit trips before the
// first object, is shown, and is released by a person; all else continues.
func TestLimitsFromTheCommandLine(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=3").start()
	w.bucket("big")
	w.bucket("small")
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		w.put("big", key, "bytes "+key, "1h")
	}
	w.put("small", "a", "bytes", "1h")
	w.put("small", "stays", "bytes", "")
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "expire")
	s := asked[api.Status](w, "status")
	if s.Objects != 6 || len(s.Trips) != 1 || s.Trips[0].Name != "big" || s.Trips[0].Kind != "ttl" {
		t.Fatalf("%d objects, tripped are %+v", s.Objects, s.Trips)
	}
	if out := w.ok("status"); !strings.Contains(out, "deletions by time to live in bucket big wait for your permission") || !strings.Contains(out, "lethe limits allow ttl big") {
		t.Errorf("status says %s", out)
	}
	if out := w.ok("limits", "show"); !strings.Contains(out, "tripped") || !strings.Contains(out, "more than 3") {
		t.Errorf("show says %s", out)
	}
	w.fails("limits show", "limits", "allow", "rules", "big")
	if out := w.ok("limits", "allow", "ttl", "big"); !strings.Contains(out, "all allowed until") {
		t.Errorf("allow says %s", out)
	}
	w.ok("reclaim", "--once", "--only", "expire")
	if s := asked[api.Status](w, "status"); s.Objects != 1 || len(s.Trips) != 0 {
		t.Fatalf("%d objects after it was allowed, tripped are %+v", s.Objects, s.Trips)
	}
}

// TestStopsEndWhenTheLimitIsRemoved checks that stopped deletions continue once the
// configuration no longer has the limit, and that the log has it.
func TestStopsEndWhenTheLimitIsRemoved(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.ask=1").start()
	w.bucket("bucket")
	w.put("bucket", "a", "bytes a", "1h")
	w.put("bucket", "b", "bytes b", "1h")
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once", "--only", "expire")
	left := func(objects int64, tripped bool) {
		t.Helper()
		s := asked[api.Status](w, "status")
		found := slices.ContainsFunc(s.Trips, func(g api.LimitInfo) bool { return g.Kind == "ttl" })
		if s.Objects != objects || found != tripped {
			t.Fatalf("%d objects, tripped are %+v", s.Objects, s.Trips)
		}
	}
	left(2, true)
	w.stop()
	w.start()
	left(2, true)
	w.stop()
	w.settings = append(w.settings, "reclaim.limits.ttl.ask=0")
	w.start()
	if !strings.Contains(w.log.String(), "limit_ended") || !strings.Contains(w.log.String(), "more than 1 (ask)") {
		t.Errorf("the log does not say what was let go, and why: %s", w.log)
	}
	w.ok("reclaim", "--once", "--only", "expire")
	left(0, false)
}

// TestPerHourLimitResets checks that the hourly limit is used in each hour, however
// many are due at once.
func TestPerHourLimitResets(t *testing.T) {
	w := newWorld(t, "reclaim.limits.ttl.per_hour=3").start()
	w.bucket("bucket")
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		w.put("bucket", key, "bytes "+key, "1h")
	}
	for _, left := range []int64{2, 0} {
		w.clock.Advance(2 * time.Hour)
		w.ok("reclaim", "--once", "--only", "expire")
		if s := asked[api.Status](w, "status"); s.Objects != left {
			t.Fatalf("%d objects are left, want %d: %+v", s.Objects, left, s.Trips)
		}
		if out := w.ok("status"); left > 0 && !strings.Contains(out, "pause until") {
			t.Errorf("status says %s", out)
		}
	}
}
