package adoption

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

const liteDescription = `
database: sqlite:${FILE}
buckets:
  main: {endpoint: "${ENDPOINT}", region: "${REGION}", bucket: "${BUCKET}", access_key: "${ACCESS}", secret_key: "${SECRET}", path_style: true}
collections:
  pastes:
    mode: reclaim
    rows:
      table: pastes
      key: code
      end: expires_at
      zone: UTC
      status: {column: status, live: NOT_EXPIRED, claimed: DELETION_IN_PROGRESS}
      initiated: initiated_at
      content: hash
    contents: {table: content, key: hash, count: ref_count, object: "content/{hash}"}
    bucket: main
    prefix: content/
    guard: trigger
    grace: {unreferenced: 0s, longest_write: 1s}
  pictures:
    kind: keys
    mode: report
    bucket: main
    prefix: pictures/
    keys:
      query: SELECT 'pictures/' || name FROM pictures
`

const liteTables = `PRAGMA journal_mode = WAL;
	CREATE TABLE content (hash text PRIMARY KEY, ref_count integer NOT NULL);
	CREATE TABLE pastes (code text PRIMARY KEY, hash text REFERENCES content, expires_at text,
		status text NOT NULL DEFAULT 'NOT_EXPIRED', initiated_at text);
	CREATE TABLE pictures (name text PRIMARY KEY);
	CREATE INDEX due ON pastes (expires_at);
	INSERT INTO content VALUES ('once', 1), ('shared', 2);
	INSERT INTO pastes (code, hash, expires_at) VALUES ('a', 'once', '2020-01-01 00:00:00'),
		('b', 'shared', '2020-01-01T00:00:00'), ('c', 'shared', '2999-01-01 00:00:00');
	INSERT INTO pictures VALUES ('kept')`

// liteSite is an application on SQLite, and an adoption of it.
type liteSite struct {
	*Adoption
	t       *testing.T
	app     *sql.DB
	gateway servers.S3
	bucket  string
}

func newLiteSite(t *testing.T) *liteSite {
	t.Helper()
	gateway := servers.VersityGW(t)
	s := &liteSite{t: t, gateway: gateway, bucket: gateway.Bucket(t)}
	env := map[string]string{
		"FILE": filepath.Join(t.TempDir(), "app.db"), "ENDPOINT": gateway.Endpoint, "REGION": gateway.Region,
		"BUCKET": s.bucket, "ACCESS": gateway.Access, "SECRET": gateway.Secret,
	}
	var err error
	if s.app, err = sql.Open("sqlite", "file:"+env["FILE"]+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.app.Close() })
	if _, err := s.app.ExecContext(t.Context(), liteTables); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"content/once", "content/shared", "pictures/kept", "pictures/orphan"} {
		if _, err := gateway.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
			t.Fatal(err)
		}
	}
	d, err := adopt.Parse([]byte(liteDescription), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if s.Adoption, err = Open(t.Context(), d, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := errors.Join(s.DB.Install(t.Context()), s.Collection("pastes").InstallGuard(t.Context())); err != nil {
		t.Fatal(err)
	}
	return s
}

// An application on SQLite: expired rows are removed from its file and objects
// from its bucket while it has the file open, and what it still refers to
// stays.
func TestSQLite(t *testing.T) {
	s := newLiteSite(t)
	found, err := s.Check(t.Context())
	if text := fmt.Sprint(found); err != nil || adopt.Problems(found["pastes"]) || adopt.Problems(found["pictures"]) ||
		!strings.Contains(text, "SQLite has no clock of its own") || !strings.Contains(text, "julianday") {
		t.Errorf("check: %s, %v", text, err)
	}
	counts, err := s.Loop.Once(t.Context(), nil)
	if err != nil || counts["expire pastes"]["rows"] != 2 || counts["expire pastes"]["objects"] != 1 {
		t.Errorf("counts %v, %v", counts, err)
	}
	if keys := keysIn(t, s.gateway.Client(), s.bucket); !slices.Equal(keys, []string{"content/shared", "pictures/kept", "pictures/orphan"}) {
		t.Errorf("the bucket has %q", keys)
	}
	var left string
	row := s.app.QueryRowContext(t.Context(), "SELECT (SELECT group_concat(code) FROM pastes) || ' ' || (SELECT group_concat(hash || ref_count) FROM content)")
	if err := row.Scan(&left); err != nil || left != "c shared1" {
		t.Errorf("left are %q, %v", left, err)
	}
	// A content that was just deleted cannot be stored again; a second later it
	// can.
	store := func() error {
		_, err := s.app.ExecContext(t.Context(), "INSERT INTO content VALUES ('once', 1)")
		return err
	}
	if err := store(); err == nil || !strings.Contains(err.Error(), "being deleted") {
		t.Errorf("stored again at once: %v", err)
	}
	deadline := time.After(time.Minute)
	for store() != nil {
		if _, err := s.Loop.Once(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		select {
		case <-deadline:
			t.Fatal("the mark does not end")
		default:
		}
	}
}

// Rows that two collections take away are counted down by one of them, and what the other one
// counts would stay for ever. One that only reports is no obstacle to the other.
func TestOneCollectionTakesTheRowsOfATable(t *testing.T) {
	s := newLiteSite(t)
	if _, err := s.app.ExecContext(t.Context(), `CREATE TABLE thumbs (hash text PRIMARY KEY, ref_count integer NOT NULL);
		ALTER TABLE pastes ADD thumb text REFERENCES thumbs`); err != nil {
		t.Fatal(err)
	}
	for mode, wrong := range map[adopt.Mode][]string{adopt.Reclaim: {"pastes", "thumbs"}, adopt.Report: {"thumbs"}} {
		c := s.whole.Collections["pastes"]
		c.Mode, c.Prefix, c.Rows.Table, c.Rows.Content = mode, "thumbs/", "PASTES", "thumb"
		c.Contents = &adopt.Table{Table: "thumbs", Key: "hash", Count: "ref_count", Object: "thumbs/{hash}"}
		found := s.beside("thumbs", c)
		for _, name := range []string{"pastes", "thumbs"} {
			shared := slices.ContainsFunc(found[name], func(f adopt.Finding) bool { return f.Problem && strings.Contains(f.What, "are not kept by holds") })
			if shared != slices.Contains(wrong, name) {
				t.Errorf("thumbs in mode %s: of %s is found %+v", mode, name, found[name])
			}
		}
	}
}

// Rows that go with those of another collection are not counted down, and their objects would stay.
func TestNoCollectionTakesCountedRowsAlong(t *testing.T) {
	s := newLiteSite(t)
	if _, err := s.app.ExecContext(t.Context(), `CREATE TABLE albums (id integer PRIMARY KEY, ends text);
		ALTER TABLE pastes ADD album integer REFERENCES albums ON DELETE CASCADE`); err != nil {
		t.Fatal(err)
	}
	albums := adopt.Collection{Mode: adopt.Reclaim, Rows: adopt.Rows{Table: "albums", Key: "id", End: "ends", Zone: "UTC"}}
	for _, count := range []string{"ref_count", ""} {
		s.whole.Collections["pastes"].Contents.Count = count
		found := s.beside("albums", albums)
		along := slices.ContainsFunc(found["albums"], func(f adopt.Finding) bool {
			return f.Problem && strings.Contains(f.What, "not counted down in content")
		})
		if along != (count != "") {
			t.Errorf("with the count %q is found %+v", count, found["albums"])
		}
	}
}

// beside checks the description with another collection.
func (s *liteSite) beside(name string, c adopt.Collection) map[string][]adopt.Finding {
	s.t.Helper()
	d := *s.whole
	d.Collections = maps.Clone(d.Collections)
	d.Collections[name] = c
	a, err := Open(s.t.Context(), &d, Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	found, err := a.Check(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return found
}
