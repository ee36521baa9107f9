package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/internal/config"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/reclaim"
)

// spared are the routines that may run before a ledger is accepted. Each has to
// explain by WhySafe why it destroys nothing then; every other one waits.
var spared = []string{"clean", "checksums", "reconcile", "recount", "usage", "verify", "watch"}

// work leaves something to do for each routine that destroys: expired objects,
// trash, a silent intent, an abandoned upload.
func (w *world) work() {
	w.t.Helper()
	ctx, bucket := context.Background(), aws.String("first")
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "1h")
	for _, key := range []string{"kept", "deleted", "ends"} {
		w.put("first", key, "bytes of "+key, map[string]string{"ends": "1h"}[key])
	}
	w.remove("first", "deleted")
	if _, err := w.app.Ledger.Begin(ctx, ledger.Intent{ID: lethe.RandomID(w.clock.Now()), Backend: "main", Size: 10}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.s3("", "").CreateMultipartUpload(ctx, &awss3.CreateMultipartUploadInput{Bucket: bucket, Key: aws.String("upload")}); err != nil {
		w.t.Fatal(err)
	}
}

// books returns the rows of the ledger that a routine may delete.
func (w *world) books() string {
	w.t.Helper()
	s := status(w)
	uploads, err := w.app.Ledger.UploadBacklog(context.Background(), ledger.Stale{})
	if err != nil {
		w.t.Fatal(err)
	}
	trash, err := w.app.Ledger.PurgeBacklog(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprintf("%d objects, %+v, %d in the trash, %d uploads", s.Objects, s.Backends[0].States, trash.Count+trash.Scheduled, uploads.Count)
}

// A restored ledger does nothing before it is accepted: no routine that
// destroys takes a step, and no plan is applied. Afterwards everything is done.
func TestRestoredLedgerHoldsEveryRoutine(t *testing.T) {
	w := newWorld(t)
	w.settings = append(w.settings, "backends=[{name: main, kind: dir, path: blobs}, {name: other, kind: dir, path: others}]")
	w.start()
	w.work()
	file := filepath.Join(t.TempDir(), "backup.db")
	w.ok("backup", file)
	w.stop()
	w.ok("restore", "--replace", file)
	w.start()
	w.clock.Advance(72 * time.Hour)
	for _, r := range w.app.Loop.Routines {
		_, is := r.Routine.(reclaim.SafeUnpaired)
		if name := r.Routine.Name(); is != slices.Contains(spared, name) {
			t.Errorf("%s is spared: %t", name, is)
		}
	}
	if n, want := len(w.app.Loop.Routines), len(config.Default().Reclaim.Routines()); n != want {
		t.Errorf("%d routines of %d are here", n, want)
	}
	plan := filepath.Join(t.TempDir(), "plan")
	w.ok("reclaim", "--once", "--only", "expire", "--plan", plan)
	before := w.books()
	for _, r := range w.app.Loop.Routines {
		name := r.Routine.Name()
		counts := asked[api.ReclaimResult](w, "reclaim", "--once", "--only", name).Done[0].Counts
		if now := w.books(); now != before {
			t.Fatalf("%s made of %s %s", name, before, now)
		}
		if !slices.Contains(spared, name) && counts["held"] == 0 {
			t.Errorf("%s does not say that it waits: %v", name, counts)
		}
	}
	w.fails("lethe backend accept", "apply", plan, "--yes")
	w.ok("backend", "accept", "main")
	w.fails("lethe backend accept other", "apply", plan, "--yes")
	w.ok("backend", "accept", "other")
	w.ok("reclaim", "--once")
	if now := asked[api.Status](w, "status"); now.Objects != 1 {
		t.Errorf("%d objects are left", now.Objects)
	}
	w.clock.Advance(2 * time.Hour)
	w.ok("reclaim", "--once")
	w.ok("check")
}
