package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/app"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/servers"
)

// halfway begins to upload an object and returns its intent once the first half
// is sent. rest sends the other half, and returns the status.
func (w *world) halfway(bucket, key, body string) (intent ledger.Blob, rest func() int) {
	w.t.Helper()
	ctx := context.Background()
	url, err := awss3.NewPresignClient(w.s3("", "")).PresignPutObject(ctx, &awss3.PutObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		w.t.Fatal(err)
	}
	in, out := io.Pipe()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, url.URL, in)
	if err != nil {
		w.t.Fatal(err)
	}
	r.ContentLength = int64(len(body))
	status := make(chan int, 1)
	go func() {
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			status <- 0
			return
		}
		defer resp.Body.Close()
		status <- resp.StatusCode
	}()
	half := len(body) / 2
	if _, err := io.WriteString(out, body[:half]); err != nil {
		w.t.Fatal(err)
	}
	for {
		list, err := w.app.Ledger.Blobs(ctx, ledger.BlobQuery{States: []lethe.State{lethe.Pending}})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(list) > 0 {
			return list[0], func() int {
				_, _ = io.WriteString(out, body[half:])
				_ = out.Close()
				return <-status
			}
		}
	}
}

// audited returns the lines of the audit log about an event.
func (w *world) audited(event string) (out []string) {
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, fmt.Sprintf("%q:%q", "event", event)) {
			out = append(out, line)
		}
	}
	return out
}

// enqueueFailures returns the counter of results that may be missing in the
// ledger.
func (w *world) enqueueFailures(backend, reason, stage string) string {
	return w.scrape().series[fmt.Sprintf("lethe_enqueue_failures_total{backend=%q,reason=%q,stage=%q,%s}", backend, reason, stage, target)]
}

// The database goes down during an upload: the bytes are on the backend, and
// neither commit nor abort can be recorded. That is counted once and leaves an
// audit line with key and size. Once the database is back the reaper condemns
// the bytes.
func TestDatabaseFailsBeforeTheCommit(t *testing.T) {
	pg := servers.NewPostgres(t)
	w := newWorld(t, append(shared(t, pg.Database(), "cloud"), "store.memory_body=64KB")...).start()
	w.bucket("first")
	body := strings.Repeat("bytes ", 1<<17)
	intent, rest := w.halfway("first", "a", body)
	key := lethe.BlobKey(w.app.Identity.ID, intent.ID)
	before := w.enqueueFailures("cloud", "unavailable", "abandon")
	pg.Kill()
	w.await("THE DATABASE DOES NOT ANSWER")
	if status := rest(); status != http.StatusServiceUnavailable {
		t.Errorf("the upload is answered %d", status)
	}
	if now := w.enqueueFailures("cloud", "unavailable", "abandon"); before != "0" || now != "1" {
		t.Errorf("counted: %s before, then %s", before, now)
	}
	lines := w.audited("enqueue_failed")
	if len(lines) != 1 || !strings.Contains(lines[0], fmt.Sprintf("%q:%q", "key", key)) || !strings.Contains(lines[0], fmt.Sprintf("%q:%d", "bytes", len(body))) {
		t.Errorf("the audit log has %q", lines)
	}
	pg.Restart()
	w.await("the database answers again")
	w.clock.Advance(time.Hour)
	w.ok("reclaim", "--once", "--only", "reap")
	rows, err := w.app.Ledger.BlobsByID(t.Context(), []lethe.ID{intent.ID})
	if err != nil || len(rows) != 1 || rows[0].State != lethe.Condemned {
		t.Errorf("afterwards: %+v, %v", rows, err)
	}
	w.ok("check")
}

// A failed batch of expiry that had blobs is counted once for each backend, and
// its audit lines, of bounded length, name all of them.
func TestFailedBatchIsReported(t *testing.T) {
	w := newWorld(t, "reclaim.yield=0").start() // one batch, although there was a client just now
	w.bucket("first")
	const n = auditLine + 5
	for i := range n {
		w.put("first", fmt.Sprint("k", i), fmt.Sprint("bytes ", i), "1h")
	}
	w.clock.Advance(2 * time.Hour)
	execute(t, app.LedgerPath(w.dir), `CREATE TRIGGER unwell BEFORE UPDATE ON bucket_counters BEGIN SELECT RAISE(ABORT, 'not well'); END`)
	w.fails("not well", "reclaim", "--once", "--only", "expire")
	w.toldAll("condemn", n)
	execute(t, app.LedgerPath(w.dir), `DROP TRIGGER unwell`)
	w.ok("reclaim", "--once", "--only", "expire")
	w.clock.Advance(2 * time.Hour)
	w.breaks(`CREATE TRIGGER unwell BEFORE DELETE ON blobs BEGIN SELECT RAISE(ABORT, 'not well'); END`)
	w.fails("not well", "reclaim", "--once", "--only", "clean")
	if tries := w.toldAll("settle", n); tries != 1 {
		t.Errorf("one batch is counted %d times", tries)
	}
}

// keyInAudit matches a blob in an audit line.
var keyInAudit = regexp.MustCompile(`{"key":"([^"]+)","bytes":[1-9][0-9]*}`)

// auditLine is the largest number of blobs in an audit line.
const auditLine = 100

// toldAll checks that a stage failed on the only backend with the same blobs
// each time, and returns how often.
func (w *world) toldAll(stage string, n int) (tries int64) {
	w.t.Helper()
	tries, err := strconv.ParseInt(w.enqueueFailures("main", "error", stage), 10, 64)
	if err != nil || tries == 0 {
		w.t.Errorf("%s is counted %d times, %v", stage, tries, err)
	}
	seen := map[string]bool{}
	for _, line := range w.audited("enqueue_failed") {
		if !strings.Contains(line, fmt.Sprintf("%q:%q", "stage", stage)) {
			continue
		}
		if len(line) > 16<<10 {
			w.t.Errorf("a line has %d bytes", len(line))
		}
		for _, k := range keyInAudit.FindAllStringSubmatch(line, -1) {
			seen[k[1]] = true
		}
	}
	if len(seen) != n {
		w.t.Errorf("%s: %d keys of %d are audited", stage, len(seen), n)
	}
	return tries
}
