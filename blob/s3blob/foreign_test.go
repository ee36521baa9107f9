package s3blob

import (
	"bytes"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/test/servers"
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

// gofakes3 ignores the condition of a copy.
func TestCopiesOnVersityGW(t *testing.T) { blobtest.Copies(t, plantedOn(servers.VersityGW(t))) }

func TestForeignOnVersityGW(t *testing.T) { foreignOn(t, servers.VersityGW(t), "versitygw") }

func TestForeignOnGoFakeS3(t *testing.T) { foreignOn(t, servers.GoFakeS3(t), "gofakes3") }

// The metadata that the service keeps is reported.
func TestForeignHeaders(t *testing.T) {
	at := servers.VersityGW(t)
	o := optionsOf(at, at.Bucket(t))
	_, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &o.Bucket, Key: aws.String("a b"), Body: strings.NewReader("hello"), ContentType: aws.String("text/x"),
		CacheControl: aws.String("no-store"), Metadata: map[string]string{"colour": "red"},
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
	})
	if err != nil {
		t.Fatal(err)
	}
	info, err := openBucket(t, o).StatForeign(t.Context(), "a b")
	if err != nil || info.Headers["Content-Type"] != "text/x" || info.Headers["Cache-Control"] != "no-store" || info.User["colour"] != "red" ||
		info.MD5 != "5d41402abc4b2a76b9719d911017c592" || info.Sums["SHA256"] != "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=" {
		t.Errorf("%+v, %v", info, err)
	}
}

// The marker of a folder has a slash at its end and no bytes. Bytes under such a
// name may be another name's.
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

// Larger objects than one request copies are copied in parts, with their metadata,
// and leave no upload behind if a part fails.
func TestCopiesInParts(t *testing.T) {
	at := servers.VersityGW(t)
	n := &network{}
	o := optionsOf(at, at.Bucket(t))
	o.Foreign, o.Transport, o.CopyWhole, o.CopyPart, o.PartSize = true, n, 6<<20, 5<<20, 6<<20
	s := openBucket(t, o)
	data := pattern(13 << 20)
	_, err := at.Client().PutObject(t.Context(), &s3.PutObjectInput{
		Bucket: &o.Bucket, Key: aws.String("whole"), Body: bytes.NewReader(data), ContentType: aws.String("text/x"), Metadata: map[string]string{"colour": "red"},
	})
	if err := errors.Join(err, s.Put(t.Context(), "parts", bytes.NewReader(data), int64(len(data)))); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"whole", "parts"} {
		seen, err := s.StatForeign(t.Context(), from)
		if err != nil {
			t.Fatal(err)
		}
		to := "kept/" + from
		copied := func(fresh bool) error { return s.CopyForeign(t.Context(), s, seen, to, fresh) }
		n.set(on("part", s3Error(http.StatusForbidden, "AccessDenied")))
		if err := copied(true); err == nil || blob.Unknown(err) {
			t.Errorf("%s: a part failed: %v, want an error that is certain", from, err)
		}
		n.set(nil)
		if err := errors.Join(copied(true), copied(false)); err != nil {
			t.Fatal(err)
		}
		if err := copied(true); !errors.Is(err, blob.ErrExist) {
			t.Errorf("%s: something lies there: %v", from, err)
		}
		got, err := readAll(s, to, 0, -1)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%s comes back as %d bytes: %v", from, len(got), err)
		}
		info, err := s.StatForeign(t.Context(), to)
		if err != nil || info.Headers["Content-Type"] != seen.Headers["Content-Type"] || info.User["colour"] != seen.User["colour"] {
			t.Errorf("%s was copied as %+v, %v", from, info, err)
		}
		if from == "parts" && info.Tag != seen.Tag {
			t.Errorf("the parts of %s were others: ETag %s, want %s", from, info.Tag, seen.Tag)
		}
		seen.Tag = `"another"`
		if err := copied(false); !errors.Is(err, blob.ErrChanged) || blob.Unknown(err) {
			t.Errorf("%s: others lie there: %v", from, err)
		}
	}
	noUploads(t, s)
}

// What Lethe puts for itself, also below a narrower prefix, is listed only if asked for, and a lifecycle rule does not refuse it.
func TestOwnFolder(t *testing.T) {
	at := servers.VersityGW(t)
	o := optionsOf(at, at.Bucket(t))
	o.Prefix, o.Foreign = "team/", true
	s := openBucket(t, o)
	for _, key := range []string{"a", "narrower/.lethe/epoch/1", "sub.lethe/b", ".lethe/epoch/1", ".lethe/probe/1"} {
		if err := s.Put(t.Context(), key, strings.NewReader("x"), 1); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(prefix string, want ...string) {
		t.Helper()
		var keys []string
		err := s.List(t.Context(), prefix, "", func(i blob.Info) error {
			keys = append(keys, i.Key)
			return nil
		})
		if err != nil || !slices.Equal(keys, want) {
			t.Errorf("%q lists %q, %v, want %q", prefix, keys, err, want)
		}
	}
	lists("", "a", "sub.lethe/b")
	lists(".lethe/", ".lethe/epoch/1", ".lethe/probe/1")
	s.state.mu.Lock()
	s.state.caps.NoPut = "a rule deletes objects"
	s.state.mu.Unlock()
	if err := s.Put(t.Context(), ".lethe/epoch/2", strings.NewReader("x"), 1); err != nil {
		t.Error(err)
	}
	if err := s.Put(t.Context(), "b", strings.NewReader("x"), 1); !errors.Is(err, blob.ErrUnfit) {
		t.Error(err)
	}
}
