package adoption

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/recordings/recording"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/test/servers"
)

// archive is the recordings, and their description.
type archive struct {
	*recording.Store
	t      *testing.T
	s3     *s3.Client
	bucket string
	conn   *pgx.Conn
	// path is where the server stores the bucket; disk: it is adopted there.
	path string
	disk bool
	env  map[string]string
}

func newArchive(t *testing.T) *archive {
	t.Helper()
	gateway, database := servers.NewVersityGW(t), servers.Postgres(t)
	a := &archive{t: t, s3: gateway.Client(), bucket: gateway.Bucket(t)}
	a.path = gateway.Path(a.bucket, "")
	a.env = map[string]string{
		"RECORDINGS_DATABASE": database, "RECORDINGS_S3_ENDPOINT": gateway.Endpoint, "RECORDINGS_S3_BUCKET": a.bucket,
		"RECORDINGS_S3_ACCESS_KEY": gateway.Access, "RECORDINGS_S3_SECRET_KEY": gateway.Secret,
		"MOSAICOD_CLEANUP_TIME_INTERVAL": "1s", "LETHE_CLEANUP_RETENTION_DURATION": "1s",
	}
	var err error
	a.Store, err = recording.Open(t.Context(), recording.Config{
		Database: database, Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: a.bucket, Access: gateway.Access, Secret: gateway.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	if err := a.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if a.conn, err = pgx.Connect(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.conn.Close(context.WithoutCancel(t.Context())) })
	return a
}

// adopt opens one instance.
func (a *archive) adopt(worker string) *Adoption {
	a.t.Helper()
	text, err := os.ReadFile("../../../examples/recordings/adopt.yaml")
	if err != nil {
		a.t.Fatal(err)
	}
	d, err := adopt.Parse(text, func(name string) (string, bool) { v, ok := a.env[name]; return v, ok })
	if err != nil {
		a.t.Fatal(err)
	}
	if a.disk {
		d.Buckets["recordings"] = adopt.BucketSpec{Path: a.path}
	}
	second := adopt.Duration(time.Second)
	d.Collections["topics"].Folders.MinAge = &second
	out, err := Open(a.t.Context(), d, Options{Worker: worker})
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = out.Close() })
	return out
}

func (a *archive) record(sequence, topic string) {
	a.t.Helper()
	if err := a.Record(a.t.Context(), sequence, topic, []byte("data")); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) drop(sequence, topic string) {
	a.t.Helper()
	if err := a.Delete(a.t.Context(), sequence, topic); err != nil {
		a.t.Fatal(err)
	}
}

// keys counts the objects of the topics.
func (a *archive) keys() (n int) {
	a.t.Helper()
	pages := s3.NewListObjectsV2Paginator(a.s3, &s3.ListObjectsV2Input{Bucket: &a.bucket, Prefix: aws.String("sequences/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(a.t.Context())
		if err != nil {
			a.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if !strings.HasPrefix(*o.Key, "sequences/.lethe/") {
				n++
			}
		}
	}
	return n
}

// A topic, and a whole sequence, are deleted: run by run their folders are
// recorded, marked and purged. Live ones can still be played.
func TestRecordingsAreForgotten(t *testing.T) {
	t.Run("bucket", func(t *testing.T) { forgets(t, newArchive(t)) })
	t.Run("disk", func(t *testing.T) {
		a := newArchive(t)
		a.disk = true
		forgets(t, a)
	})
}

func forgets(t *testing.T, a *archive) {
	t.Helper()
	for _, name := range []string{"drive/camera", "drive/lidar", "walk/imu", "walk/camera"} {
		sequence, topic, _ := strings.Cut(name, "/")
		a.record(sequence, topic)
		a.record(sequence, topic)
	}
	a.drop("drive", "camera")
	a.drop("walk", "")
	one := a.adopt("one")
	if err := one.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	var noticed, marked, purged int64
	for a.keys() > 2 {
		counts, err := one.Loop.Once(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		// A run does one of the three steps to a folder; the age of its objects
		// decides which run begins.
		run := counts["folders topics"]
		if run["marked"] > noticed-marked || run["folders"] > marked-purged {
			t.Errorf("a run did %v where %d were noticed, %d marked and %d purged", run, noticed, marked, purged)
		}
		noticed, marked, purged = noticed+run["noticed"], marked+run["marked"], purged+run["folders"]
	}
	if noticed != 3 || marked != 3 || purged != 3 {
		t.Errorf("runs noticed %d, marked %d and purged %d folders, not 3", noticed, marked, purged)
	}
	var played bytes.Buffer
	if err := a.Play(t.Context(), "drive", "lidar", &played); err != nil || played.String() != "datadata" {
		t.Errorf("what lives plays %q, %v", played.String(), err)
	}
	found, err := one.Check(t.Context())
	if err != nil || adopt.Problems(found["topics"]) || !strings.Contains(fmt.Sprint(found), "1 have a row") || !strings.Contains(fmt.Sprint(found), "changes nothing") {
		t.Errorf("a check finds %v, %v", found, err)
	}
}

// A dozen instances run by their timetables: one at a time, only after the
// interval since the last one ended, and no object is deleted twice.
func TestManyInstancesOneCleanup(t *testing.T) {
	a := newArchive(t)
	const folders, live = 30, 40 // a first run where few folders have rows touches nothing
	for i := range live {
		a.record("stays", fmt.Sprint("t", i))
	}
	for i := range folders {
		a.record("gone", fmt.Sprint("t", i))
	}
	a.drop("gone", "")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var running sync.WaitGroup
	for i := range 12 {
		instance := a.adopt(fmt.Sprint("instance ", i))
		running.Go(func() {
			if err := instance.Run(ctx, ""); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	for a.keys() > live && !t.Failed() {
		if err := lethe.Sleep(t.Context(), 100*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	running.Wait()
	var runs, workers, overlaps, early, deleted, distinct int
	err := a.conn.QueryRow(t.Context(), `WITH ended AS (
			SELECT worker, started_at, lag(finished_at) OVER (ORDER BY started_at) AS before,
			       lag(outcome) OVER (ORDER BY started_at) AS how FROM lethe.runs WHERE routine = 'folders topics'),
		keys AS (SELECT jsonb_array_elements_text(keys::jsonb) AS key FROM lethe.receipts WHERE kind = 'objects')
		SELECT count(*), count(DISTINCT worker), count(*) FILTER (WHERE started_at < before),
		       count(*) FILTER (WHERE how = 'ok' AND started_at < before + 1000000),
		       (SELECT count(*) FROM keys), (SELECT count(DISTINCT key) FROM keys) FROM ended`).
		Scan(&runs, &workers, &overlaps, &early, &deleted, &distinct)
	if err != nil {
		t.Fatal(err)
	}
	if runs < 3 || overlaps != 0 || early != 0 || deleted != folders || distinct != folders {
		t.Errorf("%d runs of %d workers, %d overlap, %d came too early; %d objects deleted, %d different; want %d", runs, workers, overlaps, early, deleted, distinct, folders)
	}
}

// A run with heartbeats excludes others; one without is taken over.
func TestRunInProgressElsewhere(t *testing.T) {
	a := newArchive(t)
	a.record("stays", "t")
	one := a.adopt("one")
	if err := one.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		silent time.Duration
		want   error
	}{{0, reclaim.ErrRunning}, {2 * time.Minute, nil}} {
		_, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.runs (id, routine, worker, started_at, beat_at, solo)
			SELECT 'other', 'folders topics', 'another', at, at, 1
			FROM (SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) - $1::bigint AS at) AS t
			ON CONFLICT (id) DO UPDATE SET beat_at = excluded.beat_at`, c.silent.Microseconds())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := one.Loop.Once(t.Context(), nil); !errors.Is(err, c.want) {
			t.Errorf("another one is silent for %s: %v, want %v", c.silent, err, c.want)
		}
	}
}

// After adoption is removed no marker and no table is left.
func TestRemoveTakesMarkersBack(t *testing.T) {
	a := newArchive(t)
	a.record("stays", "t")
	a.record("gone", "t")
	a.drop("gone", "")
	one := a.adopt("one")
	if err := one.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for a.keys() == 2 {
		if _, err := one.Loop.Once(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := one.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	installed, err := one.DB.Installed(t.Context())
	if n := a.keys(); n != 2 || installed || err != nil {
		t.Errorf("%d objects are left, want 2; Lethe's tables are there: %v, %v", n, installed, err)
	}
}

// Metrics show what is due.
func TestDueFoldersShow(t *testing.T) {
	a := newArchive(t)
	one := a.adopt("one")
	if err := one.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := a.conn.Exec(t.Context(), `INSERT INTO lethe.folders (collection, name, state, seen_at, marked_at, marker_at) VALUES ('topics', 'a/topics/b', 3, 1, 1, 1)`)
	if err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{one})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "lethe_adopt_due_folders" && f.GetMetric()[0].GetGauge().GetValue() == 1 {
			return
		}
	}
	t.Errorf("no metric says that a folder is due: %v", families)
}
