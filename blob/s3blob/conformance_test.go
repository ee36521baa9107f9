package s3blob

import (
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/test/servers"
)

// optionsOf are the options for a bucket of a server.
func optionsOf(at servers.S3, bucket string) Options {
	return Options{
		Endpoint: at.Endpoint, Region: at.Region, Bucket: bucket, PathStyle: true,
		AccessKey: at.Access, SecretKey: at.Secret,
	}
}

func openBucket(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// conform runs the suite on fresh buckets of a server, with and without a prefix.
func conform(t *testing.T, at servers.S3) {
	for name, set := range map[string]func(*Options){
		"whole bucket": func(*Options) {},
		"prefix":       func(o *Options) { o.Prefix = "Some team's/lethe_1/" },
	} {
		if testing.Short() && name == "whole bucket" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, func(t *testing.T) blob.Store {
				o := optionsOf(at, at.Bucket(t))
				set(&o)
				return openBucket(t, o)
			}, blobtest.SaysDeleted)
		})
	}
}

func TestConformanceOnVersityGW(t *testing.T) { conform(t, servers.VersityGW(t)) }

func TestConformanceOnGoFakeS3(t *testing.T) {
	if testing.Short() {
		t.Skip("the race detector has two other services to look at")
	}
	conform(t, servers.GoFakeS3(t))
}
