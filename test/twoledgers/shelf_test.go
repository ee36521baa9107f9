package twoledgers_test

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/test/servers"
)

// shelf is where bytes lie: a folder, or a bucket of an S3 server.
type shelf struct {
	*testing.T
	folder string
	bucket string
	at     servers.S3
}

func newFolder(t *testing.T) *shelf {
	return &shelf{T: t, folder: filepath.Join(t.TempDir(), "blobs")}
}

func newBucket(t *testing.T) *shelf {
	s := &shelf{T: t, at: servers.VersityGW(t)}
	s.bucket = s.at.Bucket(t)
	return s
}

// yaml describes it to lethe.
func (s *shelf) yaml() string {
	if s.folder != "" {
		return fmt.Sprintf("{name: main, kind: dir, path: %q}", s.folder)
	}
	return fmt.Sprintf("{name: main, kind: s3, s3: {endpoint: %q, bucket: %s, access_key: %s, secret_key: %s}}",
		s.at.Endpoint, s.bucket, s.at.Access, s.at.Secret)
}

// blobs are the names of what lies there, without what the pairing needs.
func (s *shelf) blobs() (list []string) {
	s.Helper()
	var err error
	if s.folder != "" {
		err = filepath.WalkDir(s.folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				list = append(list, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil // it has just been deleted
			}
			return err
		})
	} else {
		var out *s3.ListObjectsV2Output
		if out, err = s.at.Client().ListObjectsV2(s.Context(), &s3.ListObjectsV2Input{Bucket: &s.bucket}); err == nil {
			for _, o := range out.Contents {
				list = append(list, *o.Key)
			}
		}
	}
	if err != nil {
		s.Fatal(err)
	}
	return slices.DeleteFunc(list, func(name string) bool { return strings.Contains(name, "/epoch/") })
}

// missing counts what lay there before and does not any more.
func (s *shelf) missing(before []string) (n int) {
	s.Helper()
	after := s.blobs()
	for _, name := range before {
		if !slices.Contains(after, name) {
			n++
		}
	}
	return n
}
