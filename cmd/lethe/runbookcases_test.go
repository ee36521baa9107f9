package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/ledger"
)

func runbookCases() []runbookCase {
	var blocked string
	return []runbookCase{
		{alert: "LetheDeadLetters", settings: []string{"reclaim.grace.attempts=1"}, provoke: func(w *world) {
			w.one("")
			blocked = w.blobFile()
			stuck(w.t, blocked)
			w.remove("first", "a")
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
			w.ok("dead", "list")
		}, mend: func(w *world) {
			if err := os.Remove(filepath.Dir(blocked)); err != nil {
				w.t.Fatal(err)
			}
			w.ok("dead", "requeue", "--all")
			w.ok("reclaim", "--once", "--only", "clean")
		}},
		{alert: "LetheUnresolvedIntents", settings: []string{"reclaim.reap.enabled=true", "reclaim.reap.schedule=every 24h", "reclaim.reap.batch=1"}, provoke: func(w *world) {
			for range 3 {
				id := lethe.RandomID(w.clock.Now())
				if _, err := w.app.Ledger.Begin(context.Background(), ledger.Intent{ID: id, Backend: "main", Size: 10}); err != nil {
					w.t.Fatal(err)
				}
			}
			w.clock.Advance(time.Hour)
		}, mend: func(w *world) { w.ok("reclaim", "--once", "--only", "reap") }},
		{alert: "LetheOldestDueTooOld", provoke: func(w *world) {
			w.one("1m")
			w.clock.Advance(time.Hour)
		}, mend: func(w *world) { w.ok("reclaim", "--once", "--only", "expire") }},
		{alert: "LetheDeletionsStopped", settings: []string{"reclaim.limits.ttl.ask=3"}, provoke: func(w *world) {
			w.bucket("first")
			for _, key := range []string{"a", "b", "c", "d", "e"} {
				w.put("first", key, "bytes "+key, "1h")
			}
			w.clock.Advance(2 * time.Hour)
			w.ok("reclaim", "--once", "--only", "expire")
		}, mend: func(w *world) { w.ok("limits", "allow", "ttl", "first") }},
		tooMuchForARun(),
		{alert: "LetheOrphanBytesNearQuota", settings: []string{"backends=[{name: main, kind: dir, path: blobs, quota: 50B}]"}, provoke: func(w *world) {
			w.one("")
			w.remove("first", "a")
		}, mend: func(w *world) {
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
		}},
	}
}

// tooMuchForARun is a run that reaches its limit, and leaves the rest.
func tooMuchForARun() runbookCase {
	return runbookCase{alert: "LetheRunLimited", settings: []string{"reclaim.limits.per_run.expire=1", "reclaim.expire.workers=1"}, provoke: func(w *world) {
		w.bucket("first")
		for _, key := range []string{"a", "b", "c"} {
			w.put("first", key, "bytes "+key, "1h")
		}
		w.clock.Advance(2 * time.Hour)
		w.ok("reclaim", "--once", "--only", "expire")
		w.await("run_limited")
		if s := asked[api.Status](w, "status"); s.Objects != 2 {
			w.t.Errorf("%d objects after a run that may take one of three", s.Objects)
		}
	}, mend: func(w *world) {
		path, _ := w.planned("reclaim", "--only", "expire")
		w.ok("apply", path)
		if s := asked[api.Status](w, "status"); s.Objects != 0 {
			w.t.Errorf("%d objects after a plan that names all", s.Objects)
		}
	}, samples: 70}
}

// apart is a ledger whose clock differs from that of the machine that stamps
// the folder's files.
func apart() runbookCase {
	return runbookCase{alert: "LetheBackendClockInDoubt", provoke: func(w *world) {
		w.stop()
		w.clock.Advance(time.Hour)
		w.start()
		w.await("clock_doubted")
		w.ok("limits", "show")
	}, mend: func(w *world) {
		w.stop()
		w.clock.Advance(-time.Hour)
		w.ok("clock", "reset", "--to-now")
		w.start()
		w.await("clock_doubted")
	}}
}

// doubtCases returns the cases of untrustworthy states.
func doubtCases() []runbookCase {
	return []runbookCase{
		{alert: "LetheBackendHeld", provoke: func(w *world) { w.ok("backend", "hold", "main", "--reason", "a trial") },
			mend: func(w *world) { w.ok("backend", "accept", "main") }},
		apart(),
		{alert: "LetheRoutineWithoutSuccess", settings: []string{"reclaim.clean.enabled=true", "reclaim.clean.schedule=every 24h"},
			provoke: func(w *world) { w.clock.Advance(72 * time.Hour) },
			mend:    func(w *world) { w.ok("reclaim", "--once", "--only", "clean") }},
		{alert: "LetheProblemsFound", provoke: func(w *world) {
			w.one("")
			if err := os.Remove(w.blobFile()); err != nil {
				w.t.Fatal(err)
			}
			w.lethe("check")
		}, mend: func(w *world) {
			w.remove("first", "a")
			w.clock.Advance(2 * time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
			w.stop()
			w.start()
			w.ok("check")
		}},
		{alert: "LetheStaleClaims", provoke: func(w *world) {
			w.one("")
			w.remove("first", "a")
			w.clock.Advance(time.Hour)
			if _, err := w.app.Ledger.ClaimCondemned(context.Background(), ledger.ClaimRequest{Worker: "dead", Backend: "main", Limit: 1}); err != nil {
				w.t.Fatal(err)
			}
			w.clock.Advance(time.Hour)
			w.ok("reclaim", "--once", "--only", "watch")
		}},
		{alert: "LetheClockInDoubt", provoke: func(w *world) {
			w.clock.Advance(24 * time.Hour)
			w.bucket("first")
			w.stop()
			w.clock.Advance(-24 * time.Hour)
			w.start()
		}, mend: func(w *world) { w.ok("clock", "reset", "--to-now") }},
		{alert: "LetheHoldsForLong", samples: 15 * 4, every: 6 * time.Hour, provoke: func(w *world) {
			w.one("")
			w.ok("hold", "add", "first", "--reason", "a trial")
			w.stopwatch.Advance(2 * time.Minute)
		}, mend: func(w *world) {
			w.ok("hold", "list")
			w.ok("hold", "rm", "first")
			w.stopwatch.Advance(2 * time.Minute)
		}},
	}
}
