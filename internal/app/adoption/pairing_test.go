package adoption

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"golang.org/x/sync/errgroup"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/test/servers"
)

const pairedDescription = `
database: ${DATABASE}
buckets:
  main: {endpoint: "${ENDPOINT}", bucket: "${BUCKET}", access_key: "${ACCESS}", secret_key: "${SECRET}", path_style: true}
collections:
  pastes:
    mode: reclaim
    rows: {table: pastes, key: code, end: expires_at, unit: s, content: hash}
    contents: {table: content, key: hash, count: ref_count, object: "content/{hash}"}
    bucket: main
    prefix: content/
    guard: trigger
    grace: {unreferenced: 0s}
  pictures:
    kind: keys
    mode: reclaim
    bucket: main
    prefix: pictures/
    keys: {query: "SELECT 'pictures/' || name FROM pictures", min_age: 10m}
  topics:
    kind: folders
    mode: reclaim
    bucket: main
    prefix: topics/
    folders: {live: {table: topics, name: "{name}"}}
`

// pairedSite is an application whose description has all kinds.
type pairedSite struct {
	t       *testing.T
	schema  string // of Lethe's tables
	url     string
	gateway *servers.S3Server
	bucket  string
	disk    bool
	// copied makes a copy of the database, and returns its address.
	copied func() string
}

// pairedSites runs a test on databases and buckets.
func pairedSites(t *testing.T, test func(*pairedSite)) {
	for name, open := range map[string]func(*pairedSite){"PostgreSQL": (*pairedSite).onPostgres, "SQLite": (*pairedSite).onSQLite} {
		for _, disk := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, disk %v", name, disk), func(t *testing.T) {
				gateway := servers.NewVersityGW(t)
				s := &pairedSite{t: t, gateway: gateway, bucket: gateway.Bucket(t), disk: disk}
				open(s)
				s.exec(s.url, `CREATE TABLE content (hash text PRIMARY KEY, ref_count integer NOT NULL)`,
					`CREATE TABLE pastes (code text PRIMARY KEY, hash text NOT NULL REFERENCES content, expires_at bigint NOT NULL)`,
					`CREATE INDEX due ON pastes (expires_at)`, `CREATE INDEX named ON pastes (hash)`,
					`CREATE TABLE pictures (name text PRIMARY KEY)`, `CREATE TABLE topics (name text PRIMARY KEY)`,
					`INSERT INTO content VALUES ('lives', 1), ('ends', 1)`, `INSERT INTO pictures VALUES ('kept')`, `INSERT INTO topics VALUES ('kept')`,
					`INSERT INTO pastes VALUES ('l', 'lives', 4102444800), ('e', 'ends', 4102444800)`)
				s.put("content/lives", "content/ends", "pictures/kept", "pictures/lost", "topics/kept/a", "topics/lost/a")
				test(s)
			})
		}
	}
}

func (s *pairedSite) onPostgres() {
	s.schema, s.url = "lethe.", servers.Postgres(s.t)
	s.copied = func() string {
		u, err := url.Parse(s.url)
		if err != nil {
			s.t.Fatal(err)
		}
		name := strings.TrimPrefix(u.Path, "/")
		u.Path = "/postgres"
		s.exec(u.String(), "CREATE DATABASE "+name+"_copy TEMPLATE "+name)
		u.Path = "/" + name + "_copy"
		return u.String()
	}
}

func (s *pairedSite) onSQLite() {
	path := filepath.Join(s.t.TempDir(), "app.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.schema, s.url = "lethe_", "sqlite:"+path
	s.copied = func() string {
		s.exec(s.url, "VACUUM INTO '"+path+".copy'")
		return s.url + ".copy"
	}
}

// exec runs statements, without a connection that stays.
func (s *pairedSite) exec(address string, statements ...string) {
	s.t.Helper()
	db := s.dial(address)
	defer db.Close()
	for _, text := range statements {
		if _, err := db.ExecContext(s.t.Context(), text); err != nil {
			s.t.Fatal(text, err)
		}
	}
}

func (s *pairedSite) dial(address string) *sql.DB {
	driver := "pgx"
	if path, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, address = "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)"
	}
	return dial(s.t, driver, address)
}

func (s *pairedSite) put(keys ...string) {
	s.t.Helper()
	for _, key := range keys {
		if _, err := s.gateway.Client().PutObject(s.t.Context(), &s3.PutObjectInput{Bucket: &s.bucket, Key: &key, Body: strings.NewReader("x")}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// keysIn returns the keys in a bucket, without Lethe's own.
func keysIn(t *testing.T, client *s3.Client, bucket string) (keys []string) {
	t.Helper()
	pages := s3.NewListObjectsV2Paginator(client, &s3.ListObjectsV2Input{Bucket: &bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			if !ownObject(*o.Key) {
				keys = append(keys, *o.Key)
			}
		}
	}
	return keys
}

// ownObject reports whether an object is Lethe's.
func ownObject(key string) bool {
	return strings.HasPrefix(key, ".lethe/") || strings.Contains(key, "/.lethe/")
}

// with calls fn with the adoption of a database.
func (s *pairedSite) with(address string, fn func(a *Adoption)) {
	s.t.Helper()
	env := map[string]string{"DATABASE": address, "ENDPOINT": s.gateway.Endpoint, "BUCKET": s.bucket, "ACCESS": s.gateway.Access, "SECRET": s.gateway.Secret}
	d, err := adopt.Parse([]byte(pairedDescription), func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		s.t.Fatal(err)
	}
	zero, tick, second := adopt.Duration(0), adopt.Duration(time.Millisecond), adopt.Duration(time.Second)
	k, f := d.Collections["pictures"].Keys, d.Collections["topics"].Folders
	k.MinAge, k.Retention, k.Interval, f.MinAge, f.Retention, f.Interval = &zero, &tick, &tick, &zero, &second, &tick
	if s.disk {
		d.Buckets["main"] = adopt.BucketSpec{Path: s.gateway.Path(s.bucket, "")}
	}
	a, err := Open(s.t.Context(), d, Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Close()
	fn(a)
}

// ran lets the database run once.
func (s *pairedSite) ran(address string) {
	s.t.Helper()
	s.with(address, func(a *Adoption) {
		if err := errors.Join(a.DB.Install(s.t.Context()), a.Collection("pastes").InstallGuard(s.t.Context()), a.Prepare(s.t.Context())); err != nil {
			s.t.Fatal(err)
		}
		if counts, err := a.Loop.Once(s.t.Context(), nil); err != nil || len(a.Idle()) > 0 {
			s.t.Fatal(counts, err, a.Idle())
		}
	})
}

// refused checks that a database deletes nothing, in any mode, neither after a check nor without.
func (s *pairedSite) refused(address, why string) {
	s.t.Helper()
	s.due(address)
	before := keysIn(s.t, s.gateway.Client(), s.bucket)
	s.with(address, func(a *Adoption) {
		if found, err := a.Check(s.t.Context()); err != nil || strings.Count(fmt.Sprint(found), why) != 3 {
			s.t.Errorf("%s: %v, %v", why, found, err)
		}
		_, err := a.Loop.Once(s.t.Context(), nil)
		for _, routine := range []string{"clean pastes", "keys pictures", "folders topics", "pairing"} {
			if !errors.Is(err, adopt.ErrUnpaired) || !strings.Contains(fmt.Sprint(err), routine+": ") {
				s.t.Errorf("%s is not refused: %v", routine, err)
			}
		}
		if err := a.Prepare(s.t.Context()); err != nil || !slices.Equal(a.Idle(), []string{"pastes", "pictures", "topics"}) {
			s.t.Errorf("idle %v, %v", a.Idle(), err)
		}
		if err := a.Remove(s.t.Context(), false); !errors.Is(err, adopt.ErrUnpaired) {
			s.t.Errorf("removed: %v", err)
		}
	})
	if after := keysIn(s.t, s.gateway.Client(), s.bucket); !slices.Equal(after, before) {
		s.t.Errorf("there are %q, were %q", after, before)
	}
}

func (s *pairedSite) accepted(address string) {
	s.t.Helper()
	s.with(address, func(a *Adoption) {
		if given, err := a.Accept(s.t.Context(), nil); err != nil || len(given) != 3 {
			s.t.Fatal(given, err)
		}
	})
}

// ended lets what is left go: an expired paste, a picture and a topic without rows.
func (s *pairedSite) ended(address string) {
	s.t.Helper()
	want := []string{"content/lives", "pictures/kept", "topics/kept/a"}
	for !slices.Equal(keysIn(s.t, s.gateway.Client(), s.bucket), want) {
		s.due(address)
		s.ran(address)
	}
}

// due lets failed deletes be tried again at once.
func (s *pairedSite) due(address string) {
	s.exec(address, "UPDATE "+s.schema+"condemned SET due_at = 0 WHERE state = 1")
}

const pasteEnds = "UPDATE pastes SET expires_at = 800000000 WHERE code = 'e'"

// old lets the epochs be of an age at which they are replaced.
func (s *pairedSite) old(address string) { s.exec(address, "UPDATE "+s.schema+"pairings SET at = 0") }

// A copy of the database deletes nothing in the bucket of the original, although it knows its last
// epoch. Once an operator has given it the bucket, the original is refused, and so on.
func TestCopyOfADatabaseIsRefused(t *testing.T) {
	pairedSites(t, func(s *pairedSite) {
		s.ran(s.url) // it records what has no row
		second := s.copied()
		s.exec(second, pasteEnds)
		s.refused(second, "this one is a copy of it or was restored")
		s.accepted(second)
		s.exec(s.url, pasteEnds)
		s.refused(s.url, "another database has gone on")
		s.accepted(s.url)
		s.refused(second, "another database has gone on")
		s.ended(s.url)
		s.with(s.url, func(a *Adoption) {
			if err := a.Remove(t.Context(), true); err != nil && !strings.Contains(err.Error(), "being deleted") {
				t.Error(err)
			}
		})
	})
}

// A database that went back to a backup is refused, although it is in its place.
func TestRestoredDatabaseIsRefused(t *testing.T) {
	pairedSites(t, func(s *pairedSite) {
		s.ran(s.url)
		s.exec(s.url, "CREATE TABLE backup AS SELECT * FROM "+s.schema+"pairings", pasteEnds)
		s.old(s.url)
		s.with(s.url, func(a *Adoption) { // its epochs move on, and nothing else happens
			if _, err := a.Loop.Once(t.Context(), []string{"pairing"}); err != nil {
				t.Fatal(err)
			}
		})
		s.exec(s.url, "DELETE FROM "+s.schema+"pairings", "INSERT INTO "+s.schema+"pairings SELECT * FROM backup")
		s.refused(s.url, "another database has gone on")
		s.exec(s.url, "DELETE FROM "+s.schema+"pairings") // a database of its own, beside the same bucket
		s.refused(s.url, "another database deletes below")
		s.accepted(s.url)
		s.ended(s.url)
	})
}

// Instances of one adoption move the epoch on together.
func TestInstancesArePairedTogether(t *testing.T) {
	pairedSites(t, func(s *pairedSite) {
		s.ran(s.url)
		for range 5 {
			s.old(s.url)
			var instances errgroup.Group
			for range 3 {
				instances.Go(func() (err error) {
					s.with(s.url, func(a *Adoption) { _, err = a.Loop.Once(context.WithoutCancel(t.Context()), []string{"pairing"}) })
					return err
				})
			}
			if err := instances.Wait(); err != nil {
				t.Fatal(err)
			}
		}
		s.with(s.url, func(a *Adoption) {
			for _, name := range []string{"pastes", "pictures", "topics"} {
				p, err := a.pairing(t.Context(), name)
				if err != nil {
					t.Fatal(err)
				}
				if seen, err := p.Look(t.Context()); err != nil || seen.Number != 6 {
					t.Errorf("%s: %+v, %v", name, seen, err)
				}
			}
		})
	})
}

// Nothing is put by what changes nothing, and what is removed leaves nothing.
func TestPairingLeavesNothing(t *testing.T) {
	s := &pairedSite{t: t, gateway: servers.NewVersityGW(t)}
	s.bucket = s.gateway.Bucket(t)
	s.onSQLite()
	s.exec(s.url, "CREATE TABLE pictures (name text PRIMARY KEY)", "INSERT INTO pictures VALUES ('kept')")
	s.put("pictures/kept", "pictures/lost")
	own := func() (n int) {
		list, err := s.gateway.Client().ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &s.bucket})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Contents {
			if ownObject(*o.Key) {
				n++
			}
		}
		return n
	}
	s.with(s.url, func(a *Adoption) {
		_, err := a.WritePlan(t.Context(), []string{"pictures"}, "me", &strings.Builder{})
		_, checked := a.Check(t.Context())
		if n := own(); err != nil || checked != nil || n != 0 {
			t.Errorf("%d objects, %v, %v", n, err, checked)
		}
		if _, err := a.Loop.Once(t.Context(), []string{"keys pictures"}); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Loop.Once(t.Context(), []string{"keys pictures"}); err != nil || own() != 1 {
			t.Errorf("%d objects, %v", own(), err)
		}
		if err := a.Remove(t.Context(), true); err != nil || own() != 0 {
			t.Errorf("%d objects, %v", own(), err)
		}
	})
}
