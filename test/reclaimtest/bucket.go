package reclaimtest

import (
	"testing"

	"github.com/lethe-storage/lethe/blob/s3blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// Bucket opens a new bucket of a service as a backend, until the test ends.
func Bucket(t testing.TB, at servers.S3) *s3blob.Store {
	t.Helper()
	s, err := s3blob.Open(t.Context(), s3blob.Options{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: at.Bucket(t), PathStyle: true, Prefix: "p/",
		AccessKey: at.Access, SecretKey: at.Secret,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
