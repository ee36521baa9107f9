package adoption

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

const uploadsDescription = `
database: ${DATABASE}
buckets:
  main: {endpoint: "${S3_ENDPOINT}", bucket: "${S3_BUCKET}", access_key: "${S3_ACCESS_KEY}", secret_key: "${S3_SECRET_KEY}", path_style: true}
collections:
  files:
    kind: keys
    mode: reclaim
    bucket: main
    prefix: files/
    keys: {query: SELECT object_key FROM files}
    quarantine: {prefix: kept/}
`

// plainDescription is a second collection, whose objects are deleted at once. It
// is not worked on by processes that are killed: a delete that is sent may take
// an object whose row comes after the check.
const plainDescription = `  plain:
    kind: keys
    mode: reclaim
    bucket: main
    prefix: plain/
    keys: {query: SELECT object_key FROM files}
`

var prefixes = []string{"files/", "plain/"}

// uploads is an application that uploads first, and inserts the row later.
type uploads struct {
	*rig
	wrote atomic.Int64
}

func newUploads(t *testing.T) *uploads {
	t.Helper()
	u := &uploads{rig: newRig(t, postgres, "")}
	u.job.Text = uploadsDescription + plainDescription
	if _, err := u.db.ExecContext(t.Context(), `CREATE TABLE files (object_key text PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // so that the number of rows never drops sharply
		if err := u.upload(t.Context(), fmt.Sprint(prefixes[i%2], "stays ", i), 0); err != nil {
			t.Fatal(err)
		}
	}
	u.install()
	return u
}

// upload puts an object, and inserts its row after a while.
func (u *uploads) upload(ctx context.Context, key string, wait time.Duration) error {
	if _, err := u.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &u.bucket, Key: &key, Body: strings.NewReader(key)}); err != nil {
		return err
	}
	if err := lethe.Sleep(ctx, wait); err != nil {
		return err
	}
	_, err := u.db.ExecContext(ctx, `INSERT INTO files VALUES ($1)`, key)
	return err
}

// write does one thing that the application's users do.
func (u *uploads) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	key := fmt.Sprint(prefixes[rand.IntN(2)], u.wrote.Add(1))
	switch rand.IntN(4) {
	case 0, 1, 2: // never removed: moving it would be moving an upload in flight
		if u.upload(ctx, key, rand.N(inFlight)) == nil {
			u.there(ctx, key, whileUploaded)
		}
	case 3: // an upload without a row
		_, _ = u.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &u.bucket, Key: &key, Body: strings.NewReader(key)})
	}
}

// there checks that an object exists.
func (u *uploads) there(ctx context.Context, key, when string) {
	if exists, known := u.exists(ctx, key); known && !exists {
		u.t.Errorf("%s is gone %s", key, when)
	}
}

// drain runs until nothing unnamed is left, and everything named is restored.
func (u *uploads) drain(ctx context.Context) {
	u.t.Helper()
	for {
		_, err := u.Loop.Once(ctx, nil)
		named, lie := u.column(`SELECT object_key FROM files ORDER BY object_key COLLATE "C"`), u.keys("")
		if slices.Equal(named, lie) && u.number(`SELECT count(*) FROM lethe.quarantined`) == 0 {
			u.tell("everything is in its place")
			return
		}
		if ctx.Err() != nil || u.t.Failed() {
			u.t.Fatalf("%d rows name objects, and there are %d: %v", len(named), len(lie), err)
		}
		_ = lethe.Sleep(ctx, 100*time.Millisecond)
	}
}

// Objects without a row are moved, or deleted, while an application uploads, and
// inserts rows later; rows come at the worst moments. No upload in flight is
// touched, nor is what a row names before it is condemned, and what a row names
// again is restored. Processes are killed or pause; database and bucket fail. In
// the end rows and objects match.
func TestKeysUnderLoad(t *testing.T) {
	t.Parallel()
	u := newUploads(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
	defer cancel()
	direct := u.direct("direct")
	u.job.Text = uploadsDescription // of the processes that are killed
	worst := &namer{uploads: u, passed: make(chan struct{}, 1)}
	worst.watch(ctx, direct)
	worst.watch(ctx, u.Adoption)
	want := u.kills()
	want["keys files: objects"], want["keys plain: objects"], want[whileQuarantined] = 1, 1, 3
	want[whileUploaded+" files"], want[whileUploaded+" plain"], want[beforeCondemned] = 3, 3, 3
	u.until(ctx, want, u.write, u.killed, u.killed, u.restarts, u.trouble, worst.run,
		func(ctx context.Context) { u.work(ctx, direct, 0) })
	u.recorded()
	worst.restores(ctx)
	u.tellsMissing(ctx)
	u.drain(ctx)
	if len(u.missing(map[string]int64{beforePurge: 1})) > 0 {
		t.Error("nothing was named right before its purge")
	}
}

// tellsMissing checks that all rows without an object are reported.
func (u *uploads) tellsMissing(ctx context.Context) {
	u.t.Helper()
	if _, err := u.db.ExecContext(ctx, `INSERT INTO files VALUES ('files/lost'), ('files/never')`); err != nil {
		u.t.Fatal(err)
	}
	k, err := u.Keys(ctx, "files")
	if err != nil {
		u.t.Fatal(err)
	}
	var missing []string
	for err = errors.New("not yet"); err != nil && ctx.Err() == nil; {
		missing = nil
		err = k.Report(ctx, func([]adopt.OrphanObject) {}, func(keys []string) { missing = append(missing, keys...) })
	}
	for _, key := range []string{"files/lost", "files/never"} {
		if !slices.Contains(missing, key) {
			u.t.Errorf("%s is not told to be missing: %q, %v", key, missing, err)
		}
	}
	if _, err := u.db.ExecContext(ctx, `DELETE FROM files WHERE object_key IN ('files/lost', 'files/never')`); err != nil {
		u.t.Fatal(err)
	}
}
