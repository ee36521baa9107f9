package adoption

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/redis/go-redis/v9"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/test/servers"
)

const mariadbDescription = `
database: ${DATABASE}
redis: redis://${REDIS}
buckets:
  app:
    endpoint: ${ENDPOINT}
    bucket: ${BUCKET}
    access_key: ${ACCESS}
    secret_key: ${SECRET}
    path_style: true
collections:
  pastes:
    mode: reclaim
    rows:
      table: pastes
      key: code
      end: expires_at
      zone: UTC
      status: {column: status, live: LIVE, claimed: GOING}
      initiated: initiated_at
      content: hash
    contents: {table: content, key: hash, count: refs, object: "content/{hash}"}
    bucket: app
    prefix: content/
    cache: ["paste:{code}"]
    guard: trigger
    grace: {unreferenced: 0s, longest_write: 1s, cache_again: 0s}
  topics:
    kind: folders
    bucket: app
    prefix: topics/
    folders: {live: {table: topics, name: "{name}"}, min_age: 1h, retention: 7d, interval: 1h}
  files:
    kind: keys
    bucket: app
    prefix: files/
    keys: {query: SELECT object_key FROM files}
`

// mariadbSite is an application on MariaDB, and an adoption of it.
type mariadbSite struct {
	*Adoption
	t      *testing.T
	pool   *sql.DB
	copies *redis.Client
	s3     *s3.Client
	bucket string
}

var mariadbTables = []string{
	"CREATE TABLE content (hash VARCHAR(64) PRIMARY KEY, refs INT NOT NULL, KEY (refs, hash))",
	`CREATE TABLE pastes (code VARCHAR(20) PRIMARY KEY, hash VARCHAR(64) NOT NULL, expires_at DATETIME NULL, status VARCHAR(10) NOT NULL DEFAULT 'LIVE',
		initiated_at DATETIME(6) NULL, KEY (status, expires_at), KEY (status, initiated_at), FOREIGN KEY (hash) REFERENCES content (hash))`,
	"CREATE TABLE topics (name VARCHAR(100) PRIMARY KEY)", "INSERT INTO topics VALUES ('kept')",
	"CREATE TABLE files (object_key VARCHAR(100) PRIMARY KEY)", "INSERT INTO files VALUES ('files/kept')",
	"INSERT INTO content SELECT concat('c', seq), CASE WHEN seq < 3 THEN 2 ELSE 1 END FROM seq_1_to_30",
	"INSERT INTO pastes (code, hash, expires_at) SELECT concat('p', seq), concat('c', seq), UTC_TIMESTAMP() - INTERVAL 1 MINUTE FROM seq_1_to_30",
	"INSERT INTO pastes (code, hash, expires_at) VALUES ('lives', 'C1', UTC_TIMESTAMP() + INTERVAL 1 HOUR), ('for ever', 'c2', NULL)",
}

func newMariaDBSite(t *testing.T) *mariadbSite {
	t.Helper()
	gateway, cache, database := servers.VersityGW(t), servers.NewRedis(t), servers.MariaDB(t)
	s := &mariadbSite{t: t, s3: gateway.Client(), bucket: gateway.Bucket(t), copies: redis.NewClient(&redis.Options{Addr: cache.Addr})}
	t.Cleanup(func() { _ = s.copies.Close() })
	var err error
	if s.pool, err = sqldb.OpenMySQL(database); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.pool.Close() })
	for _, text := range mariadbTables {
		if _, err := s.pool.ExecContext(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	env := map[string]string{
		"DATABASE": database, "REDIS": cache.Addr, "ENDPOINT": gateway.Endpoint, "BUCKET": s.bucket, "ACCESS": gateway.Access, "SECRET": gateway.Secret,
	}
	d, err := adopt.Parse([]byte(mariadbDescription), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	if s.Adoption, err = Open(t.Context(), d, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Collection("pastes").InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// fill puts objects, and copies of pastes.
func (s *mariadbSite) fill() {
	s.t.Helper()
	ctx := s.t.Context()
	objects := []string{"files/kept", "files/lost", "topics/kept/a", "topics/lost/a"}
	for i := range 30 {
		objects = append(objects, fmt.Sprintf("content/c%d", i+1))
		if err := s.copies.Set(ctx, fmt.Sprintf("paste:p%d", i+1), "copy", 0).Err(); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, key := range objects {
		if _, err := s.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader(key)}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestMariaDB: expired rows on MariaDB are removed with their objects and
// copies, and what is still referred to stays; folders and keys are compared
// with what rows name.
func TestMariaDB(t *testing.T) {
	ctx := t.Context()
	s := newMariaDBSite(t)
	s.fill()
	found, err := s.Check(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range found {
		if adopt.Problems(list) || name == "pastes" && len(list) != 1 { // its objects are in the bucket
			t.Errorf("%s: %+v", name, list)
		}
	}
	counts, err := s.Loop.Once(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, gone := counts["expire pastes"]["rows"], counts["clean pastes"]["objects"]; rows != 30 || gone != 28 {
		t.Errorf("%d rows and %d objects are gone, want 30 and 28", rows, gone)
	}
	left := keysIn(t, s.s3, s.bucket)
	if want := []string{"content/c1", "content/c2", "files/kept", "files/lost", "topics/kept/a", "topics/lost/a"}; !slices.Equal(left, want) {
		t.Errorf("objects %q are left, want %q", left, want)
	}
	if n, err := s.copies.DBSize(ctx).Result(); err != nil || n != 0 {
		t.Errorf("%d copies are left: %v", n, err)
	}
	var rows, contents, refs int
	if err := s.pool.QueryRowContext(ctx, "SELECT (SELECT count(*) FROM pastes), count(*), sum(refs) FROM content").Scan(&rows, &contents, &refs); err != nil || rows != 2 || contents != 2 || refs != 2 {
		t.Errorf("%d rows, %d contents, %d references are left: %v", rows, contents, refs, err)
	}
	facts, err := s.Collection("pastes").Explain(ctx, "p7")
	if text := fmt.Sprint(facts); err != nil || !strings.Contains(text, "row p7 was removed") {
		t.Errorf("explained %s: %v", text, err)
	}
}

// TestMariaDBProposal: a proposal for the tables fits them, and its statements
// are valid.
func TestMariaDBProposal(t *testing.T) {
	s := newMariaDBSite(t)
	tables, err := s.DB.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := adopt.Propose(tables, adopt.ProposeOptions{Objects: []string{"content/ab", "content/cd"}, ClaimColumns: s.DB.ClaimColumns})
	var statements strings.Builder
	for line := range strings.Lines(text) {
		if statement, ok := strings.CutPrefix(line, "      #   "); ok {
			statements.WriteString(statement)
		}
	}
	if _, err := s.pool.ExecContext(t.Context(), statements.String()); err != nil || statements.Len() == 0 {
		t.Errorf("%v\n%s", err, text)
	}
	text = strings.NewReplacer("# status:", "status:", "# initiated:", "initiated:").Replace(text)
	d, err := adopt.Parse([]byte(text), func(name string) (string, bool) { return s.Description.Database, !strings.Contains(name, "_CLEANUP_") })
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	c := d.Collections["pastes"]
	if c.Rows.End != "expires_at" || c.Rows.Zone != "UTC" || c.Rows.Content != "hash" || c.Contents == nil || c.Contents.Count != "refs" {
		t.Errorf("pastes is\n%s", text)
	}
	if _, err := s.DB.Collection(t.Context(), "pastes", c); err != nil {
		t.Error(err)
	}
}
