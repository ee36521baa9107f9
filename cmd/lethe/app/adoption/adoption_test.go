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
	"github.com/lethe-storage/lethe/internal/servers"
)

// site is the paste service, and an adoption of it.
type site struct {
	*Adoption
	store  *paste.Store
	s3     *s3.Client
	bucket string
	t      *testing.T
}

func newSite(t *testing.T) *site {
	t.Helper()
	gateway, redis, database := servers.VersityGW(t), servers.NewRedis(t), servers.Postgres(t)
	bucket := gateway.Bucket(t)
	store, err := paste.Open(t.Context(), paste.Config{
		Database: database, Redis: "redis://" + redis.Addr,
		S3:  paste.S3{Endpoint: gateway.Endpoint, Region: gateway.Region, Bucket: bucket, Access: gateway.Access, Secret: gateway.Secret},
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../../examples/pastebin/adopt.yaml")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{
		"PASTEBIN_DATABASE": database, "PASTEBIN_REDIS": "redis://" + redis.Addr, "PASTEBIN_S3_ENDPOINT": gateway.Endpoint,
		"PASTEBIN_S3_BUCKET": bucket, "PASTEBIN_S3_ACCESS_KEY": gateway.Access, "PASTEBIN_S3_SECRET_KEY": gateway.Secret,
	}
	d, err := adopt.Parse(text, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	c := d.Collections["pastes"]
	zero, second := adopt.Duration(0), adopt.Duration(time.Second)
	c.Grace.Unreferenced, c.Grace.LongestWrite, c.Grace.CacheAgain = &zero, &second, &zero
	d.Collections["pastes"] = c
	a, err := Open(t.Context(), d, Options{Log: slog.New(slog.DiscardHandler)})
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
	return &site{a, store, gateway.Client(), bucket, t}
}

// keys are those of the objects in the bucket.
func (s *site) keys() (keys []string) {
	s.t.Helper()
	pages := s3.NewListObjectsV2Paginator(s.s3, &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: aws.String("content/")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	return keys
}

// Pastes that have expired go with their objects and copies; one that lives keeps
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
	if rows, objects := counts["expire pastes"]["rows"], counts["clean pastes"]["objects"]; rows != 501 || objects != 365 {
		t.Errorf("%d rows and %d objects are gone, want 501 and 365", rows, objects)
	}
	if keys := s.keys(); len(keys) != 1 {
		t.Errorf("%d objects are left, want 1", len(keys))
	}
	if _, body, err := s.store.Read(t.Context(), lives.Code); err != nil || string(body) != "lives" {
		t.Errorf("the paste that lives reads %q, %v", body, err)
	}
}
