package sqladopt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/adopt/sqladopt"
	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

// shelf is a bucket with folders of topics, and the table of live topics.
type shelf struct {
	*adopt.Folders
	t       *testing.T
	app     *pgx.Conn
	db      *sqladopt.DB
	gateway *servers.S3Server
	s3      *s3.Client
	bucket  string
	boot    *clocktest.Clock
	told    []string // the events' texts
}

const (
	minAge    = time.Hour
	retention = 24 * time.Hour
)

// newShelf creates the topics a/topics/live and b/topics/live, with rows.
func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t: t, gateway: servers.NewVersityGW(t), boot: clocktest.New()}
	s.s3, s.bucket = s.gateway.Client(), s.gateway.Bucket(t)
	url := servers.Postgres(t)
	var err error
	if s.app, err = pgx.Connect(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.app.Close(context.WithoutCancel(t.Context())) })
	s.sql(`CREATE TABLE topics (sequence text, name text)`)
	if s.db, err = sqladopt.Open(t.Context(), url, sqladopt.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	if err := s.db.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	store, err := s3blob.New(t.Context(), s3blob.Options{
		Endpoint: s.gateway.Endpoint, Bucket: s.bucket, Prefix: "sequences/", Foreign: true,
		AccessKey: s.gateway.Access, SecretKey: s.gateway.Secret, PathStyle: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s.Folders = &adopt.Folders{
		Collection: "topics", Prefix: "sequences/", Store: store, Boot: s.boot,
		Events: &adopt.Events{
			FolderCancelled: func(_, folder, why string) { s.told = append(s.told, folder+": "+why) },
			FolderKept:      func(_, folder, why string) { s.told = append(s.told, folder+" stays: "+why) },
			Failed:          func(_ string, n int, why string) { s.told = append(s.told, fmt.Sprint(n, " failed: ", why)) },
		},
	}
	s.describe(adopt.FolderSpec{Live: adopt.LiveSpec{Table: "topics", Name: "{sequence}/topics/{name}"}})
	for _, name := range []string{"a", "b"} {
		s.row(name, "live")
		s.put(name+"/topics/live/data", 30*24*time.Hour)
	}
	return s
}

// describe replaces the description.
func (s *shelf) describe(spec adopt.FolderSpec) {
	s.t.Helper()
	age, keep := adopt.Duration(minAge), adopt.Duration(retention)
	spec.MinAge, spec.Retention = &age, &keep
	rows, err := s.db.Folders(s.t.Context(), "topics", adopt.Collection{Prefix: "sequences/", Folders: &spec})
	if err != nil {
		s.t.Fatal(err)
	}
	s.Rows, s.Rules = rows, spec.Rules()
}

func (s *shelf) sql(text string, args ...any) {
	s.t.Helper()
	if _, err := s.app.Exec(context.WithoutCancel(s.t.Context()), text, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shelf) row(sequence, name string) {
	s.t.Helper()
	s.sql(`INSERT INTO topics VALUES ($1, $2)`, sequence, name)
}

// put stores an object below the prefix, with an age.
func (s *shelf) put(key string, age time.Duration) {
	s.t.Helper()
	s.store("sequences/"+key, age)
}

func (s *shelf) store(key string, age time.Duration) {
	s.t.Helper()
	if _, err := s.s3.PutObject(s.t.Context(), &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
		s.t.Fatal(err)
	}
	s.shift(s.gateway.Path(s.bucket, key), age)
}

// lay is store without the server, which makes each object durable.
func (s *shelf) lay(key string, age time.Duration) {
	s.t.Helper()
	path := s.gateway.Path(s.bucket, key)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o644)); err != nil {
		s.t.Fatal(err)
	}
	s.shift(path, age)
}

func (s *shelf) delete(key string) {
	s.t.Helper()
	if _, err := s.s3.DeleteObject(s.t.Context(), &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String("sequences/" + key)}); err != nil {
		s.t.Fatal(err)
	}
}

// shift makes a file older.
func (s *shelf) shift(path string, by time.Duration) {
	s.t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		s.t.Fatal(err)
	}
	at := info.ModTime().Add(-by)
	if err := os.Chtimes(path, at, at); err != nil {
		s.t.Fatal(err)
	}
}

// wait makes everything older.
func (s *shelf) wait(d time.Duration) {
	s.t.Helper()
	s.waitBackend(d)
	s.sql(`UPDATE lethe.folders SET marked_at = marked_at - $1 WHERE marked_at > 0`, d.Microseconds())
}

// waitBackend makes objects older, but not the database's own times.
func (s *shelf) waitBackend(d time.Duration) {
	s.t.Helper()
	err := filepath.WalkDir(s.gateway.Path(s.bucket, ""), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			s.shift(path, d)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.sql(`UPDATE lethe.folders SET marker_at = marker_at - $1 WHERE marker_at > 0`, d.Microseconds())
}

// keys returns those below the prefix.
func (s *shelf) keys() (keys []string) {
	s.t.Helper()
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if key, ok := strings.CutPrefix(*o.Key, "sequences/"); ok && !strings.HasPrefix(key, ".lethe/") {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// record returns what is recorded, as "name state".
func (s *shelf) record() (out []string) {
	s.t.Helper()
	rows, err := s.app.Query(s.t.Context(), `SELECT name || ' ' || state FROM lethe.folders ORDER BY name`)
	if err != nil {
		s.t.Fatal(err)
	}
	out, err = pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// run runs once.
func (s *shelf) run() (map[string]int64, error) { return s.steps(s.Pass("w"), -1) }

type step = func(context.Context, func(string, int64)) (bool, error)

// steps runs that many steps of a pass, all if it is negative.
func (s *shelf) steps(next step, n int) (map[string]int64, error) {
	counts := map[string]int64{}
	for more := true; more && n != 0; n-- {
		var err error
		if more, err = next(s.t.Context(), func(name string, n int64) { counts[name] += n }); err != nil {
			return counts, err
		}
	}
	return counts, nil
}

// ran checks the counts of a run.
func (s *shelf) ran(want map[string]int64) {
	s.t.Helper()
	counts, err := s.run()
	if err != nil {
		s.t.Fatal(err)
	}
	delete(counts, "items")
	delete(counts, "live")
	if !maps.Equal(counts, want) {
		s.t.Fatalf("a run counted %v, want %v (%v)", counts, want, s.told)
	}
}

// marked creates a folder without a row, and marks it.
func (s *shelf) marked(name string, keys ...string) {
	s.t.Helper()
	s.put(name+"/data", 30*24*time.Hour)
	for _, key := range keys {
		s.lay("sequences/"+name+"/"+key, 30*24*time.Hour)
	}
	s.ran(map[string]int64{"noticed": 1})
	s.ran(map[string]int64{"marked": 1})
}

func (s *shelf) has(key string) bool { return slices.Contains(s.keys(), key) }

// is checks what is recorded.
func (s *shelf) is(want ...string) {
	s.t.Helper()
	if got := s.record(); !slices.Equal(got, want) {
		s.t.Errorf("on record is %v, want %v", got, want)
	}
}

// said checks an event's text.
func (s *shelf) said(what string) {
	s.t.Helper()
	if !slices.ContainsFunc(s.told, func(told string) bool { return strings.Contains(told, what) }) {
		s.t.Errorf("nothing said %q, only %q", what, s.told)
	}
}
