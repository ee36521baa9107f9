package s3blob

import (
	"crypto/x509"
	"encoding/pem"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/lethe-storage/lethe/blob"
)

func TestOptionsAreChecked(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"bucket":      func(o *Options) { o.Bucket = "" },
		"directory":   func(o *Options) { o.Bucket = "name--use1-az4--x-s3" },
		"half a key":  func(o *Options) { o.SecretKey = "" },
		"small parts": func(o *Options) { o.PartSize = minPart - 1 },
		"large parts": func(o *Options) { o.PartSize = maxPart + 1 },
		"batch":       func(o *Options) { o.MaxBatch = 1001 },
		"concurrency": func(o *Options) { o.Concurrency = -1 },
		"no URL":      func(o *Options) { o.Endpoint = "s3.example.org" },
		"user in URL": func(o *Options) { o.Endpoint = "https://user:password@s3.example.org" },
		"CA":          func(o *Options) { o.CA = []byte("nothing") },
		"no slash":    func(o *Options) { o.Prefix = "a" },
		"slash first": func(o *Options) { o.Prefix = "/a/" },
		"two slashes": func(o *Options) { o.Prefix = "a//b/" },
		"dots":        func(o *Options) { o.Prefix = "a/../" },
		"control":     func(o *Options) { o.Prefix = "a\x01/" },
		"not UTF-8":   func(o *Options) { o.Prefix = "a\xff/" },
		"too long":    func(o *Options) { o.Prefix = strings.Repeat("a", 600) + "/" },
	} {
		o := Options{Endpoint: "https://s3.example.org", Bucket: "b", AccessKey: "access", SecretKey: "hidden-secret"}
		change(&o)
		_, err := New(t.Context(), o)
		if err == nil {
			t.Errorf("%s: no error", name)
		} else if strings.Contains(err.Error(), "hidden-secret") || strings.Contains(err.Error(), "password") {
			t.Errorf("%s: the error holds a secret: %v", name, err)
		}
	}
	if _, err := New(t.Context(), Options{Bucket: "b", Prefix: "Team A/x_y.z-1/", AccessKey: "a", SecretKey: "s"}); err != nil {
		t.Error(err)
	}
}

func TestAuthorityOfTheOperator(t *testing.T) {
	server := httptest.NewTLSServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	defer server.Close()
	o := Options{Endpoint: server.URL, Bucket: "lethe", PathStyle: true, AccessKey: "a", SecretKey: "s"}
	_, err := Open(t.Context(), o)
	want(t, "unknown authority", err, blob.ErrDown)

	o.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if _, err := x509.ParseCertificate(server.Certificate().Raw); err != nil {
		t.Fatal(err)
	}
	s := openBucket(t, o)
	if err := put(s, "a", 10); err != nil {
		t.Error(err)
	}
	if _, err := s.Delete(t.Context(), []string{"a"}); err != nil || size(t, s, "a") != -1 {
		t.Error(err)
	}
}

// Without a key of its own the store takes the one of the environment.
func TestCredentialsOfTheEnvironment(t *testing.T) {
	server := httptest.NewServer(gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(true)).Server())
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "from-the-environment")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_ENDPOINT_URL", "http://192.0.2.1")
	s, err := New(t.Context(), Options{Endpoint: server.URL, Bucket: "lethe", PathStyle: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.client.Options().Credentials.Retrieve(t.Context())
	if err != nil || found.AccessKeyID != "from-the-environment" {
		t.Errorf("%q, %v", found.AccessKeyID, err)
	}
	if err := put(s, "a", 1); err != nil {
		t.Error(err)
	}
}
