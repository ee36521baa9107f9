package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// await waits for a line of the server's log.
func (w *world) await(line string) {
	w.t.Helper()
	if text, ok := w.log.await(line); !ok {
		w.t.Fatalf("no %q in %s", line, text)
	}
}

// orphaned leaves the intent of a dead writer.
func (w *world) orphaned() {
	w.t.Helper()
	w.bucket("first")
	id, digest := lethe.RandomID(w.clock.Now()), strings.Repeat("0", 64)
	_, err := w.app.Ledger.Begin(context.Background(), ledger.Intent{ID: id, Backend: "main", Size: 10, Promotion: &ledger.Promotion{Commit: ledger.Commit{
		Op: lethe.RandomID(w.clock.Now()), Object: ledger.Object{Bucket: "first", Key: "a", Size: 10},
		Content: ledger.ContentKey{Kind: lethe.Whole, Digest: digest, Size: 10}, Blobs: []ledger.Uploaded{{Blob: id, Size: 10, Digest: digest}},
	}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// until writes and reads uncached objects until the server's log has a line.
func (w *world) until(line string) {
	w.t.Helper()
	for n := 0; !strings.Contains(w.log.String(), line); n++ {
		body := fmt.Sprint(line, n)
		w.put("first", "b", body, "")
		if got, err := w.get("first", "b"); err != nil || got != body {
			w.t.Fatalf("read %q, %v", got, err)
		}
	}
}

// breaks makes each settle of a delete fail, as on a faulty database.
func (w *world) breaks(how string) {
	execute(w.t, app.LedgerPath(w.dir), how)
}

// manyDue creates 10,001 empty objects that have been due for a while, as in a
// ledger that was offline for long.
func (w *world) manyDue() {
	w.bucket("first")
	due := int64(w.clock.Now())
	execute(w.t, app.LedgerPath(w.dir), fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001)
		INSERT INTO objects (bucket_id, key, id, size, etag, modified_at, ttl_at, rule_at, due_at, attrs, tags)
		SELECT b.id, 'k' || i, 'object' || i, 0, 'd41d8cd98f00b204e9800998ecf8427e', %d, %d, 0, %d, '{}', '{}' FROM n, buckets b WHERE b.name = 'first';
		INSERT INTO bucket_counters (bucket_id, slot, n, bytes) SELECT id, 0, 10001, 0 FROM buckets WHERE name = 'first'
		ON CONFLICT DO UPDATE SET n = n + 10001`, due, due, due))
	w.clock.Advance(time.Hour)
}

// failureCases returns the cases of faulty services.
func failureCases() []runbookCase {
	var mount func()
	reap := func(w *world) { w.ok("reclaim", "--once", "--only", "reap") }
	return []runbookCase{
		{alert: "LetheDown", provoke: func(w *world) { w.stop() }, mend: func(w *world) { w.start() }},
		{alert: "LetheIntentsAmbiguous", samples: 10, provoke: func(w *world) {
			w.orphaned()
			w.clock.Advance(time.Hour)
			mount = w.unmount()
			w.await("THE BACKEND IS NOT IN ITS PLACE")
			reap(w)
		}, again: reap, mend: func(w *world) {
			mount()
			w.await("is in its place again")
			reap(w)
		}},
		{alert: "LetheEnqueueFailures", provoke: func(w *world) {
			w.one("")
			w.remove("first", "a")
			w.clock.Advance(time.Hour)
			w.breaks(`CREATE TRIGGER unwell BEFORE DELETE ON blobs BEGIN SELECT RAISE(ABORT, 'not well'); END`)
			w.fails("not well", "reclaim", "--once", "--only", "clean")
		}, mend: func(w *world) {
			w.breaks(`DROP TRIGGER unwell`)
			w.clock.Advance(2 * time.Hour)
			w.ok("reclaim", "--once", "--only", "watch,reap,clean")
			w.held(0)
		}},
		{alert: "LetheBacklogDoesNotShrink", samples: 70, provoke: func(w *world) {
			w.manyDue()
			w.scrape()
			w.stopwatch.Advance(time.Minute)
		}, mend: func(w *world) {
			w.ok("reclaim", "--once", "--only", "expire")
			w.ok("check")
		}},
		lost(),
	}
}

// findingCases returns the cases of findings without an alert of their own.
func findingCases() []runbookCase {
	var mount func()
	return []runbookCase{
		{alert: "LetheCritical", provoke: func(w *world) {
			mount = w.unmount()
			w.await("THE BACKEND IS NOT IN ITS PLACE")
			w.ok("status")
		}, mend: func(w *world) {
			mount()
			w.await("is in its place again")
		}},
		{alert: "LetheWarning", provoke: func(w *world) {
			w.one("")
			stuck(w.t, w.blobFile())
			w.remove("first", "a")
			for range 2 {
				w.clock.Advance(time.Hour)
				w.ok("reclaim", "--once", "--only", "clean")
			}
			w.ok("status")
			w.ok("cleanup-queue", "list", "--min-attempts", "1", "--backend", "main")
		}, mend: func(w *world) {
			w.unstick()
			w.clock.Advance(24 * time.Hour)
			w.ok("reclaim", "--once", "--only", "clean")
		}},
	}
}

// lost is a removed file without another copy.
func lost() runbookCase {
	var file string
	var bytes []byte
	return runbookCase{alert: "LetheObjectsLost", provoke: func(w *world) {
		w.one("")
		file = w.blobFile()
		var err error
		if bytes, err = os.ReadFile(file); err != nil {
			w.t.Fatal(err)
		}
		if err := os.Remove(file); err != nil {
			w.t.Fatal(err)
		}
		w.finds("lost", "reconcile")
		// The walk ends, and the next one is interrupted: the objects are still
		// lost.
		w.stop()
		w.start()
		w.walkCutOff()
	}, mend: func(w *world) {
		if err := os.WriteFile(file, bytes, 0o600); err != nil {
			w.t.Fatal(err)
		}
		w.ok("reconcile")
		w.ok("check", "--checksums")
		w.there("first", "a")
	}}
}

// absenceCases returns the cases of missing services.
func absenceCases() []runbookCase {
	var redis *servers.RedisServer
	return []runbookCase{
		{alert: "LetheRedisDown", services: func(w *world) []string {
			redis = servers.NewRedis(w.t)
			return []string{"redis.url=redis://" + redis.Addr}
		}, provoke: func(w *world) {
			redis.Kill()
			w.bucket("first")
			w.until("Redis does not answer")
		}, mend: func(w *world) {
			redis.Restart()
			w.until("Redis answers again")
		}},
		{alert: "LetheInstanceSilent", services: func(w *world) []string { return shared(w.t, servers.Postgres(w.t), "cloud") },
			provoke: func(w *world) {
				w.instance(ledger.InstanceInfo{Host: "killed"})
				w.clock.Advance(2 * time.Minute)
			}, mend: func(w *world) { w.clock.Advance(16 * time.Minute) }},
	}
}

// walkCutOff leaves a walk that has begun and does not continue.
func (w *world) walkCutOff() {
	w.t.Helper()
	if _, err := w.app.Ledger.BeginWalk(context.Background(), ledger.WalkStart{ID: lethe.RandomID(w.clock.Now()), Backend: "main", GiveUp: time.Hour}); err != nil {
		w.t.Fatal(err)
	}
}

// instance writes the heartbeat of another instance.
func (w *world) instance(info ledger.InstanceInfo) {
	w.t.Helper()
	if err := w.app.Ledger.BeatInstance(context.Background(), "another", info); err != nil {
		w.t.Fatal(err)
	}
}
