package adoption

import (
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// site is the paste service, and an adoption of it.
type site struct {
	*Adoption
	store  *paste.Store
	s3     *s3.Client
	bucket string
	t      *testing.T
}

// place is where the parts of a paste service are.
type place struct {
	gateway                 servers.S3
	database, redis, bucket string
}

// open opens the paste service at the place.
func (p place) open(t *testing.T) *paste.Store {
	t.Helper()
	store, err := paste.Open(t.Context(), paste.Config{
		Database: p.database, Redis: "redis://" + p.redis,
		S3:  paste.S3{Endpoint: p.gateway.Endpoint, Region: p.gateway.Region, Bucket: p.bucket, Access: p.gateway.Access, Secret: p.gateway.Secret},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store
}

// env returns the environment of the example's description.
func (p place) env() map[string]string {
	return map[string]string{
		"PASTEBIN_DATABASE": p.database, "PASTEBIN_REDIS": "redis://" + p.redis, "PASTEBIN_S3_ENDPOINT": p.gateway.Endpoint,
		"PASTEBIN_S3_BUCKET": p.bucket, "PASTEBIN_S3_ACCESS_KEY": p.gateway.Access, "PASTEBIN_S3_SECRET_KEY": p.gateway.Secret,
	}
}

// describe reads the example's description, with changes.
func describe(env map[string]string, change func(*adopt.Collection)) (*adopt.Description, error) {
	text, err := os.ReadFile("../../../examples/pastebin/adopt.yaml")
	if err != nil {
		return nil, err
	}
	d, err := adopt.Parse(text, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		return nil, err
	}
	c := d.Collections["pastes"]
	change(&c)
	d.Collections["pastes"] = c
	return d, nil
}

// adopt opens an adoption at the place, by the example's description with
// changes.
func (p place) adopt(t *testing.T, o Options, change func(*adopt.Collection)) *Adoption {
	t.Helper()
	d, err := describe(p.env(), change)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Open(t.Context(), d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if err := a.DB.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Collection("pastes").InstallGuard(t.Context()); err != nil {
		t.Fatal(err)
	}
	return a
}

func newSite(t *testing.T) *site {
	t.Helper()
	gateway := servers.VersityGW(t)
	p := place{gateway, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	a := p.adopt(t, Options{}, func(c *adopt.Collection) {
		zero, second := adopt.Duration(0), adopt.Duration(time.Second)
		c.Grace.Unreferenced, c.Grace.LongestWrite, c.Grace.CacheAgain = &zero, &second, &zero
	})
	return &site{a, store, gateway.Client(), p.bucket, t}
}

// keys returns those of the objects in the bucket.
func (s *site) keys() (keys []string) {
	s.t.Helper()
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String("content/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range page.Contents {
			if !ownObject(*o.Key) {
				keys = append(keys, *o.Key)
			}
		}
	}
	return keys
}

// Expired pastes are removed with their objects and copies; a live one keeps
// the bytes that it shares with them.
func TestPastesExpire(t *testing.T) {
	s := newSite(t)
	if err := paste.Fill(t.Context(), s.store, paste.Filling{Pastes: 500, Shared: 0.3, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	lives, err := s.store.Create(t.Context(), []byte("lives"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.store.Create(t.Context(), []byte("lives"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	counts, err := s.Loop.Once(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if rows, objects := counts["expire pastes"]["rows"], counts["expire pastes"]["objects"]+counts["clean pastes"]["objects"]; rows != 501 || objects != 365 {
		t.Errorf("%d rows and %d objects are gone, want 501 and 365", rows, objects)
	}
	if keys := s.keys(); len(keys) != 1 {
		t.Errorf("%d objects are left, want 1", len(keys))
	}
	if _, body, err := s.store.Read(t.Context(), lives.Code); err != nil || string(body) != "lives" {
		t.Errorf("the paste that lives reads %q, %v", body, err)
	}
}
