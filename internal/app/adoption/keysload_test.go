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
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

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

// uploads is an application that uploads first, and inserts the row later.
type uploads struct {
	*rig
	wrote atomic.Int64
}

func newUploads(t *testing.T) *uploads {
	t.Helper()
	u := &uploads{rig: newRig(t, postgres, "")}
	u.job.Text = uploadsDescription
	if _, err := u.db.ExecContext(t.Context(), `CREATE TABLE files (object_key text PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	for i := range 200 { // so that the number of rows never drops sharply
		if err := u.upload(t.Context(), fmt.Sprint("files/stays ", i), 0); err != nil {
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
	key := fmt.Sprint("files/", u.wrote.Add(1))
	switch rand.IntN(4) {
	case 0, 1, 2: // never removed: moving it would be moving an upload in flight
		if u.upload(ctx, key, rand.N(inFlight)) == nil {
			u.there(ctx, key)
		}
	case 3: // an upload without a row
		_, _ = u.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &u.bucket, Key: &key, Body: strings.NewReader(key)})
	}
}

// nameAgain repeatedly names what was moved: its bytes are restored.
func (u *uploads) nameAgain(ctx context.Context) {
	for lethe.Sleep(ctx, 100*time.Millisecond) == nil {
		_, _ = u.db.ExecContext(ctx, `INSERT INTO files SELECT key FROM lethe.quarantined WHERE state = 2 ORDER BY random() LIMIT 1 ON CONFLICT DO NOTHING`)
	}
}

// there checks that an object exists.
func (u *uploads) there(ctx context.Context, key string) {
	_, err := u.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &u.bucket, Key: &key})
	if missing := new(types.NotFound); errors.As(err, &missing) {
		u.t.Errorf("%s was moved while it was uploaded", key)
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
		if ctx.Err() != nil {
			u.t.Fatalf("%d rows name objects, and there are %d: %v", len(named), len(lie), err)
		}
		_ = lethe.Sleep(ctx, 100*time.Millisecond)
	}
}

// Objects without a row are moved while an application uploads, and inserts
// rows later: no upload in flight is moved, and what a row names again is
// restored. Processes are killed or pause; database and bucket fail. In the end
// rows and objects match.
func TestKeysUnderLoad(t *testing.T) {
	t.Parallel()
	u := newUploads(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
	defer cancel()
	others := []func(context.Context){u.killed, u.killed, u.restarts, u.trouble, u.nameAgain}
	instance := u.instance("instance")
	others = append(others, func(ctx context.Context) { u.work(ctx, instance, 0) })
	want := u.kills()
	want["keys files: objects"], want["quarantine files: restored"] = 1, 1
	u.until(ctx, want, u.write, others...)
	u.recorded()
	u.tellsMissing(ctx)
	u.drain(ctx)
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
