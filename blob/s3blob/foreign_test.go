package s3blob

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/internal/servers"
)

// plantedOn opens stores in fresh buckets of a server.
func plantedOn(at servers.S3) func(t *testing.T) (blob.Store, blobtest.Planter) {
	return func(t *testing.T) (blob.Store, blobtest.Planter) {
		o := optionsOf(at, at.Bucket(t))
		o.Prefix, o.Foreign = "Some team's/", true
		return openBucket(t, o), func(t *testing.T, key, body string) {
			t.Helper()
			name := o.Prefix + key
			if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: &name, Body: strings.NewReader(body)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func foreignOn(t *testing.T, at servers.S3, server string) {
	t.Run(server, func(t *testing.T) { blobtest.Foreign(t, plantedOn(at)) })
}

// gofakes3 does not look at the condition of a copy.
func TestCopiesOnVersityGW(t *testing.T) { blobtest.Copies(t, plantedOn(servers.VersityGW(t))) }

func TestForeignOnVersityGW(t *testing.T) { foreignOn(t, servers.VersityGW(t), "versitygw") }

func TestForeignOnGoFakeS3(t *testing.T) { foreignOn(t, servers.GoFakeS3(t), "gofakes3") }

// What the service keeps beside the bytes is told.
func TestForeignHeaders(t *testing.T) {
	at := servers.VersityGW(t)
	o := optionsOf(at, at.Bucket(t))
	_, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &o.Bucket, Key: aws.String("a b"), Body: strings.NewReader("hello"), ContentType: aws.String("text/x"),
		CacheControl: aws.String("no-store"), Metadata: map[string]string{"colour": "red"},
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := openBucket(t, o).StatForeign(t.Context(), "a b")
	if err != nil || info.Headers["Content-Type"] != "text/x" || info.Headers["Cache-Control"] != "no-store" || info.User["colour"] != "red" ||
		info.MD5 != "5d41402abc4b2a76b9719d911017c592" {
		t.Errorf("%+v, %v", info, err)
	}
}

// The mark of a folder has a slash at its end and no bytes; anything else under such
// a name may be another name's.
func TestForeignMarkers(t *testing.T) {
	at := servers.GoFakeS3(t)
	o := optionsOf(at, at.Bucket(t))
	for key, body := range map[string]string{"folder/": "", "full/": "bytes"} {
		if _, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{Bucket: &o.Bucket, Key: &key, Body: strings.NewReader(body)}); err != nil {
			t.Fatal(err)
		}
	}
	s := openBucket(t, o)
	if info, err := s.StatForeign(t.Context(), "folder/"); err != nil || info.Size != 0 || info.Key != "folder/" {
		t.Errorf("the mark: %+v, %v", info, err)
	}
	if info, err := s.StatForeign(t.Context(), "full/"); !errors.Is(err, blob.ErrInvalidKey) {
		t.Errorf("a mark with bytes: %+v, %v", info, err)
	}
}
