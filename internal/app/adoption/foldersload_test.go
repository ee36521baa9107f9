package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/recordings/recording"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// undoable is how long a deleted topic can be restored with all recordings: the
// retention of its folder.
const undoable = 5 * time.Second

// recorder is an archive that is written to while folders are deleted.
type recorder struct {
	*rig
	store *recording.Store
	wrote atomic.Int64
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{rig: newRig(t, postgres, "RECORDINGS_")}
	text, err := os.ReadFile("../../../examples/recordings/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r.job.Text = string(text)
	c := recording.Config{
		Database: r.address, Endpoint: r.gateway.Endpoint, Region: r.gateway.Region, Bucket: r.bucket, Access: r.gateway.Access, Secret: r.gateway.Secret,
	}
	if r.store, err = recording.Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.store.Close)
	if err := r.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 40 { // so that the number of rows never drops sharply
		if err := r.store.Record(t.Context(), "stays", fmt.Sprint("t", i), []byte("data")); err != nil {
			t.Fatal(err)
		}
	}
	r.install()
	return r
}

// write does one thing that the application's users do.
func (r *recorder) write(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, longestOperation)
	defer cancel()
	// Names are in use for a while, and then left alone, so that their folders
	// can be deleted.
	age := r.wrote.Add(1) / 100
	sequence, topic := fmt.Sprint("s", age+rand.Int64N(3)), fmt.Sprint("t", rand.IntN(4))
	switch n := rand.IntN(20); {
	case n < 8:
		_ = r.store.Record(ctx, sequence, topic, []byte("data"))
	case n < 10:
		_ = r.store.Delete(ctx, sequence, topic)
	case n < 12:
		_ = r.store.Delete(ctx, fmt.Sprint("s", rand.Int64N(age+3)), "")
	case n < 15:
		// One that was not written to recently may be recorded, and marked, at
		// any time.
		r.undo(ctx, fmt.Sprint("s", max(0, age-rand.Int64N(20))), topic)
	default:
		r.look(ctx)
	}
}

// undo deletes a topic, and restores it with all its files while that is
// possible.
func (r *recorder) undo(ctx context.Context, sequence, topic string) {
	ctx, cancel := context.WithTimeout(ctx, undoable*2/3)
	defer cancel()
	files, err := r.files(ctx, sequence, topic)
	if err != nil || len(files) == 0 || r.store.Delete(ctx, sequence, topic) != nil || lethe.Sleep(ctx, rand.N(undoable*2/3)) != nil {
		return
	}
	if r.restore(ctx, sequence, topic, files) == nil {
		r.count("undone", 1)
	}
}

// restore inserts the rows of a topic and its files in one transaction, which
// begins with what is passed.
func (r *recorder) restore(ctx context.Context, sequence, topic string, files []string, first ...func(*sql.Tx) error) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, do := range first {
		if err == nil {
			err = do(tx)
		}
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO sequences (name) VALUES ($1) ON CONFLICT DO NOTHING`, sequence)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `INSERT INTO topics (sequence, name) VALUES ($1, $2) ON CONFLICT DO NOTHING`, sequence, topic)
	}
	for _, file := range files {
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO files (sequence, topic, file, size) VALUES ($1, $2, $3, 4)`, sequence, topic, file)
		}
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// files returns the names of a topic's files.
func (r *recorder) files(ctx context.Context, sequence, topic string) ([]string, error) {
	rows, err := r.db.QueryContext(ctx, `SELECT file FROM files WHERE sequence = $1 AND topic = $2`, sequence, topic)
	if err != nil {
		return nil, err
	}
	return sqldb.Collect(rows, scanText)
}

const fileKeys = `SELECT 'sequences/' || sequence || '/topics/' || topic || '/' || file FROM files`

// look reads some file that has a row.
func (r *recorder) look(ctx context.Context) {
	var key string
	if r.db.QueryRowContext(ctx, fileKeys+` ORDER BY random() LIMIT 1`).Scan(&key) != nil {
		return
	}
	if exists, known := r.exists(ctx, key); exists || !known {
		return
	}
	again := 0
	_ = r.db.QueryRowContext(ctx, `SELECT count(*) FROM (`+fileKeys+`) AS k (key) WHERE key = $1`, key).Scan(&again)
	if again > 0 {
		r.t.Errorf("%s has a row, and is not there", key)
	}
}

// drain runs until every folder without a row is gone.
func (r *recorder) drain(ctx context.Context) {
	r.t.Helper()
	for {
		_, err := r.Loop.Once(ctx, nil)
		left := r.number(`SELECT count(*) FROM lethe.folders`) + int64(len(r.dead()))
		if left == 0 {
			return
		}
		if ctx.Err() != nil || r.t.Failed() {
			r.t.Fatalf("%d folders on record, or objects without a row, are left, such as %v: %v", left, r.dead(), err)
		}
		_ = lethe.Sleep(ctx, 100*time.Millisecond)
	}
}

// dead returns objects whose folder has no row, and markers.
func (r *recorder) dead() (keys []string) {
	r.t.Helper()
	live := r.column(`SELECT 'sequences/' || sequence || '/topics/' || name FROM topics`)
	for _, key := range r.keys("sequences/") {
		if folder, name := path.Split(key); name == adopt.Marker || !slices.Contains(live, path.Clean(folder)) {
			keys = append(keys, key)
		}
	}
	return keys
}

// verify compares rows and objects, and checks that two runs never overlapped.
func (r *recorder) verify() {
	r.t.Helper()
	lies := map[string]bool{}
	for _, key := range r.keys("sequences/") {
		lies[key] = true
	}
	for _, key := range r.column(fileKeys) {
		if !lies[key] {
			r.t.Errorf("%s has a row, and is not there", key)
		}
	}
	if n := r.number(`SELECT count(*) FROM (SELECT started_at, lag(finished_at) OVER (ORDER BY started_at) AS before FROM lethe.runs
		WHERE routine = 'folders topics') AS r WHERE started_at < before`); n != 0 {
		r.t.Errorf("%d runs began before the one before them had ended", n)
	}
}

// Recordings are made, deleted and restored while instances and processes
// remove folders, one at a time. Topics are restored at the worst moments.
// Processes are killed, or pause until they are taken over; the database and the
// bucket fail. In the end whatever has a row is complete, and nothing else is
// left.
func TestFoldersUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRecorder(t)
	ctx, cancel := context.WithTimeout(t.Context(), loadLimit())
	defer cancel()
	worst := newRestorer(r)
	others := []func(context.Context){r.killed, r.killed, r.restarts, r.trouble, worst.run}
	for _, a := range []*Adoption{r.direct("direct"), r.instance("instance")} {
		worst.watch(ctx, a)
		others = append(others, func(ctx context.Context) { r.work(ctx, a, 0) })
	}
	want := r.kills()
	want["undone"], want["folders topics: marked"], want["folders topics: folders"] = 3, 3, 1
	for _, moment := range moments {
		want[moment] = 3
	}
	r.until(ctx, want, r.write, others...)
	r.drain(ctx)
	r.verify()
}
