package s3blob

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestCompatibility runs the suite and some more on every S3 server that is
// installed, and on the one that LETHE_S3_ENDPOINT, LETHE_S3_REGION and the usual
// AWS variables name; make compat runs it and prints the table.
func TestCompatibility(t *testing.T) {
	if os.Getenv("LETHE_COMPAT") == "" {
		t.Skip("make compat runs this")
	}
	for name, start := range map[string]func(testing.TB) servers.S3{
		"versitygw": servers.VersityGW,
		"gofakes3":  servers.GoFakeS3,
		"minio":     func(t testing.TB) servers.S3 { return servers.MinIO(t).S3 },
		"seaweedfs": func(t testing.TB) servers.S3 { return servers.SeaweedFS(t).S3 },
		"other":     ofEnvironment,
	} {
		t.Run(name, func(t *testing.T) {
			at := start(t)
			o := optionsOf(at, at.Bucket(t))
			s := openBucket(t, o)
			c := s.Capabilities()
			t.Logf("RESULT %s | If-None-Match on PUT %v, on completion %v | DeleteObjects %v, without Content-MD5 %s | start-after %v | versions %s, object lock %s, lifecycle %s",
				name, c.ConditionalPut, c.ConditionalComplete, c.BatchDelete, withoutMD5(t, at, o.Bucket), c.StartAfter, c.Versions, c.ObjectLock, c.Lifecycle)
			t.Run("pages", func(t *testing.T) { smallPages(t, at) })
			t.Run("parts", func(t *testing.T) { largeBlobs(t, at) })
			t.Run("refused", func(t *testing.T) { unfitBuckets(t, at) })
			t.Run("suite", func(t *testing.T) { conform(t, at) })
		})
	}
}

// ofEnvironment is a server that the environment names.
func ofEnvironment(t testing.TB) servers.S3 {
	at := servers.S3{
		Endpoint: os.Getenv("LETHE_S3_ENDPOINT"), Region: or(os.Getenv("LETHE_S3_REGION"), "us-east-1"),
		Access: os.Getenv("AWS_ACCESS_KEY_ID"), Secret: os.Getenv("AWS_SECRET_ACCESS_KEY"),
	}
	if at.Endpoint == "" {
		t.Skip("LETHE_S3_ENDPOINT names no server")
	}
	return at
}

// withoutMD5 describes the response to a DeleteObjects with no sum at all.
func withoutMD5(t *testing.T, at servers.S3, bucket string) string {
	key := "absent"
	_, err := at.Client().DeleteObjects(t.Context(), &s3.DeleteObjectsInput{
		Bucket: &bucket, Delete: &types.Delete{Objects: []types.ObjectIdentifier{{Key: &key}}},
	}, s3.WithAPIOptions(func(stack *middleware.Stack) error {
		_, err := stack.Initialize.Remove("AWSChecksum:SetupInputContext")
		return err
	}))
	if err == nil {
		return "as well"
	}
	v := judge(t.Context(), err)
	return fmt.Sprintf("%s (%d)", v.code, v.status)
}

// smallPages lists folders within folders by pages of any size.
func smallPages(t *testing.T, at servers.S3) {
	o := optionsOf(at, at.Bucket(t))
	s := openBucket(t, o)
	var keys []string
	for _, folder := range []string{"a/", "a/a/", "a0/", "ab/", "a/b/", "b"} {
		for i := range 5 {
			keys = append(keys, fmt.Sprintf("%s%d", folder, i))
			if err := put(s, keys[len(keys)-1], i); err != nil {
				t.Fatal(err)
			}
		}
	}
	slices.Sort(keys)
	for page := range int32(9) {
		o.pageSize = page + 1
		paged := openBucket(t, o)
		if got := left(t, paged); !slices.Equal(got, keys) {
			t.Errorf("by pages of %d: %q", page+1, got)
		}
		for i, after := range keys {
			var got []string
			err := paged.List(t.Context(), "", after, func(i blob.Info) error {
				got = append(got, i.Key)
				return nil
			})
			if err != nil || !slices.Equal(got, keys[i+1:]) {
				t.Errorf("by pages of %d after %s: %q, %v", page+1, after, got, err)
			}
		}
	}
}

// largeBlobs puts blobs in parts of S3's smallest size.
func largeBlobs(t *testing.T, at servers.S3) {
	o := optionsOf(at, at.Bucket(t))
	o.PartSize, o.Prefix = minPart, "large/"
	s := openBucket(t, o)
	for i, n := range []int{minPart, minPart + 1, 3*minPart + 12345} {
		for j, declared := range []int64{int64(n), blob.UnknownSize} {
			key, data := fmt.Sprintf("k%d%d", i, j), pattern(n)
			if err := s.Put(t.Context(), key, bytes.NewReader(data), declared); err != nil {
				t.Fatal(err)
			}
			if got, err := readAll(s, key, 0, -1); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%d bytes come back as %d, %v", n, len(got), err)
			}
			if got, err := readAll(s, key, minPart-10, 20); err != nil || !bytes.Equal(got, data[minPart-10:min(minPart+10, n)]) {
				t.Errorf("a range over the edge of a part: %d bytes, %v", len(got), err)
			}
			want(t, "once more", s.Put(t.Context(), key, bytes.NewReader(data), declared), blob.ErrExist)
		}
	}
	err := s.Put(t.Context(), "short", bytes.NewReader(pattern(2*minPart)), 2*minPart+1)
	want(t, "short", err, blob.ErrNotDone)
	if size(t, s, "short") != -1 {
		t.Error("a blob that failed is there")
	}
	noUploads(t, s)
	race(t, s)
}

// race puts one name concurrently, in parts: the result is whole.
func race(t *testing.T, s *Store) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 4 {
		wg.Go(func() {
			other, err := New(context.Background(), s.o)
			if err != nil {
				t.Error(err)
				return
			}
			err = other.Put(context.Background(), "raced", bytes.NewReader(pattern(minPart+1)), minPart+1)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	wg.Wait()
	if won == 0 {
		t.Error("none won")
	}
	t.Logf("of 4 that put one name at the same instant %d won", won)
	if got, err := readAll(s, "raced", 0, -1); err != nil || !bytes.Equal(got, pattern(minPart+1)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// unfitBuckets opens what must be refused, as far as the service has it.
func unfitBuckets(t *testing.T, at servers.S3) {
	_, err := Open(t.Context(), optionsOf(at, "lethe-test-missing"))
	want(t, "missing", err, blob.ErrDown)
	bucket := at.Bucket(t)
	_, err = at.Client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: types.BucketVersioningStatusEnabled},
	})
	if err == nil {
		_, err = Open(t.Context(), optionsOf(at, bucket))
		want(t, "versioned", err, blob.ErrDown, blob.ErrUnfit)
	} else {
		t.Logf("no versions: %v", err)
	}
	locked, lock := bucket+"-locked", true
	_, err = at.Client().CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &locked, ObjectLockEnabledForBucket: &lock})
	if err == nil {
		_, err = Open(t.Context(), optionsOf(at, locked))
		if at.Endpoint != "" && err != nil {
			want(t, "object lock", err, blob.ErrDown, blob.ErrUnfit)
		} else {
			t.Log("the service takes a bucket with object lock and shows none")
		}
	}
	ruled, id, prefix, days := at.Bucket(t), "tidy", "", int32(3)
	_, err = at.Client().PutBucketLifecycleConfiguration(t.Context(), &s3.PutBucketLifecycleConfigurationInput{
		Bucket: &ruled, LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: []types.LifecycleRule{{
			ID: &id, Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: &prefix},
			Expiration: &types.LifecycleExpiration{Days: &days},
		}}},
	})
	if err != nil {
		t.Logf("no lifecycle rules: %s", strings.SplitN(err.Error(), "\n", 2)[0])
		return
	}
	_, err = Open(t.Context(), optionsOf(at, ruled))
	want(t, "lifecycle rule", err, blob.ErrDown, blob.ErrUnfit)
}
