package bench_test

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

// onServers fills the rows of a data set into PostgreSQL, and reclaims them with an
// S3 service and Redis: none of the bytes is there, which costs the same calls.
func onServers(t *testing.T, d bench.Dataset, e bench.Engine) bench.Work {
	t.Helper()
	s3 := servers.GoFakeS3(t)
	c := bench.Cluster{
		Postgres: servers.NewPostgres(t).Database(), Endpoint: s3.Endpoint, Access: s3.Access, Secret: s3.Secret, Bucket: s3.Bucket(t),
		Redis: "redis://" + servers.NewRedis(t).Addr,
	}
	d.RowsOnly = true
	if err := d.FillCluster(t.Context(), c, "", lethe.SystemClock{}.Now()); err != nil {
		t.Fatal(err)
	}
	w, err := e.ReclaimCluster(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	books := c
	books.Bucket = "" // the living have no bytes either
	if err := books.Audit(t.Context(), int64(d.Living)); err != nil {
		t.Error(err)
	}
	t.Log(w)
	if w.Objects != int64(d.Objects) {
		t.Errorf("%d objects were reclaimed of %d", w.Objects, d.Objects)
	}
	return w
}

// TestSameWorkForMoreOnServers: on PostgreSQL, S3 and Redis, too, calls and
// rows per object do not grow with their number, nor with what lives beside them: two
// requests, one of which asks whose the backend is, and one UNLINK for a thousand objects.
func TestSameWorkForMoreOnServers(t *testing.T) {
	e := bench.Engine{Workers: 1, Apart: true}
	few := onServers(t, bench.Dataset{Objects: 3_000, Size: 64}, e)
	many := onServers(t, bench.Dataset{Objects: 9_000, Living: 30_000, Size: 64}, e)
	for _, m := range []struct {
		what      string
		few, many int64
		most      float64 // per 1,000 objects
	}{
		{"requests to the S3 service", few.Requests, many.Requests, 2},
		{"calls to Redis", few.Drops, many.Drops, 1.1},
		// Some 21 of many; a table of a few thousand rows is read whole for a batch. If one
		// statement of a batch did so among the living, it would be 30 more.
		{"rows read", few.Rows, many.Rows, 45_000},
	} {
		a, b := float64(m.few)*1000/float64(few.Objects), float64(m.many)*1000/float64(many.Objects)
		t.Logf("%s per 1,000 objects: %.2f of few, %.2f of many", m.what, a, b)
		if a > m.most || b > m.most {
			t.Errorf("%s per 1,000 objects: %.2f of few, %.2f of many; at most %.2f", m.what, a, b, m.most)
		}
	}
	t.Logf("%d and %d transactions, those that look for work included", few.Commits, many.Commits)
}

// TestSharedOnServers: a content that dies once is deleted once, and all that died in
// as few requests as that takes.
func TestSharedOnServers(t *testing.T) {
	w := onServers(t, bench.Dataset{Objects: 3_000, Size: 64, Shared: 80}, bench.Engine{Workers: 1, Apart: true})
	if want := int64(3_000*20/100 + 3_000*80/100/10); w.Blobs != want || w.Requests > 2*2+1 {
		t.Errorf("%d blobs were deleted by %d requests, want %d", w.Blobs, w.Requests, want)
	}
}

// TestRowsOnlyIsWatchedToItsEnd: those who watch the database wait for the engine's
// sessions, and not for each other.
func TestRowsOnlyIsWatchedToItsEnd(t *testing.T) {
	pg := servers.NewPostgres(t)
	c := bench.ClusterComparison{
		Dataset: bench.Dataset{Objects: 2_000, Size: 64}, Engine: bench.Engine{Workers: 1}, Runs: 1, RowsOnly: true,
		Servers: bench.Servers{Postgres: pg.URL, Dir: t.TempDir()},
	}
	got, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if w := got.Rows[0]; w.Objects != 2_000 || w.Rows < 2_000 || len(got.Samples) != 1 {
		t.Errorf("%d objects, %d rows read, watched %d times", w.Objects, w.Rows, len(got.Samples))
	}
}
