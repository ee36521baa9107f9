package s3blob

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

func setVersions(t *testing.T, at servers.S3, bucket string, status types.BucketVersioningStatus) {
	t.Helper()
	_, err := at.Client().PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{
		Bucket: &bucket, VersioningConfiguration: &types.VersioningConfiguration{Status: status},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVersionedBucketIsRefused(t *testing.T) {
	for name, start := range map[string]func(testing.TB) servers.S3{"versitygw": servers.VersityGW, "gofakes3": servers.GoFakeS3} {
		for _, status := range []types.BucketVersioningStatus{types.BucketVersioningStatusEnabled, types.BucketVersioningStatusSuspended} {
			t.Run(name+" "+string(status), func(t *testing.T) {
				at := start(t)
				bucket := at.Bucket(t)
				setVersions(t, at, bucket, types.BucketVersioningStatusEnabled)
				setVersions(t, at, bucket, status)
				_, err := Open(t.Context(), optionsOf(at, bucket))
				want(t, "open", err, blob.ErrDown, blob.ErrUnfit)
				if err == nil || !strings.Contains(err.Error(), "use a bucket that never had versions") {
					t.Errorf("it does not say what to do: %v", err)
				}
				s, err := New(t.Context(), optionsOf(at, bucket))
				if err != nil {
					t.Fatal(err)
				}
				want(t, "put", put(s, "a", 1), blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
				_, err = s.Delete(t.Context(), []string{"a"})
				want(t, "delete", err, blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
				_, err = s.Stat(t.Context(), "a")
				want(t, "stat", err, blob.ErrNotExist)
			})
		}
	}
}

// Versions that are enabled while the bucket is used show by the delete marker, and
// the bytes are not taken for gone.
func TestVersionsSwitchedOnLater(t *testing.T) {
	for _, batch := range []bool{true, false} {
		at := servers.VersityGW(t)
		bucket := at.Bucket(t)
		n := &network{}
		o := optionsOf(at, bucket)
		o.Transport = n
		s := openBucket(t, o)
		keys := fill(t, s, 3)
		if !batch {
			s.singly()
		}
		setVersions(t, at, bucket, types.BucketVersioningStatusEnabled)
		results, err := s.Delete(t.Context(), keys[:2])
		if len(results) != 2 {
			t.Fatalf("%d results, %v", len(results), err)
		}
		want(t, "first delete", results[0].Err, blob.ErrDown, blob.ErrUnfit)
		if !blob.Unknown(results[0].Err) {
			t.Errorf("it is certain: %v", results[0].Err)
		}
		_, err = s.Delete(t.Context(), keys[2:])
		want(t, "next delete", err, blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
		want(t, "put", put(s, "b", 1), blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
		if c := s.Capabilities(); c.Versions != On || c.NoDelete == "" {
			t.Errorf("capabilities %+v", c)
		}
		if size(t, s, "k2") != 10 {
			t.Error("what was refused is gone")
		}
	}
}

// They show by the version of a new object, too.
func TestVersionsShowByAPut(t *testing.T) {
	for _, length := range []int{10, 2500} {
		s, _ := faulty(t)
		at := servers.S3{Endpoint: s.o.Endpoint, Region: s.o.Region, Access: s.o.AccessKey, Secret: s.o.SecretKey}
		setVersions(t, at, s.o.Bucket, types.BucketVersioningStatusEnabled)
		if err := put(s, "a", length); err != nil {
			t.Error(err)
		}
		_, err := s.Delete(t.Context(), []string{"a"})
		want(t, "delete", err, blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
	}
}

// Effects decide where the bucket's settings cannot be read.
func TestVersionsShowWhereTheyAreNotTold(t *testing.T) {
	at := servers.GoFakeS3(t)
	bucket := at.Bucket(t)
	setVersions(t, at, bucket, types.BucketVersioningStatusEnabled)
	n := &network{}
	n.set(on("versioning", s3Error(403, "AccessDenied")))
	o := optionsOf(at, bucket)
	o.Transport = n
	_, err := Open(t.Context(), o)
	want(t, "open", err, blob.ErrDown, blob.ErrUnfit)

	bucket = at.Bucket(t)
	o.Bucket = bucket
	if c := openBucket(t, o).Capabilities(); c.Versions != Unreadable || c.NoDelete != "" {
		t.Errorf("capabilities %+v", c)
	}
}

func TestObjectLockIsRefused(t *testing.T) {
	s, n := faulty(t)
	n.set(on("lock", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
		return says(r, 200, "<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled></ObjectLockConfiguration>")
	}))
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := put(s, "a", 1)
	if want(t, "put", err, blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone); !strings.Contains(err.Error(), "object lock") {
		t.Error(err)
	}
	_, err = s.Delete(t.Context(), []string{"a"})
	want(t, "delete", err, blob.ErrDown, blob.ErrUnfit, blob.ErrNotDone)
}

func TestLifecycleRulesThatTouchOurs(t *testing.T) {
	for _, test := range []struct {
		rule string
		harm bool
	}{
		{"<Filter/><Expiration><Days>3</Days></Expiration>", true},
		{"<Prefix></Prefix><Expiration><Days>3</Days></Expiration>", true},
		{"<Prefix>team/</Prefix><Expiration><Days>3</Days></Expiration>", true},
		{"<Prefix>other/</Prefix><Expiration><Days>3</Days></Expiration>", false},
		{"<Filter><Prefix>team/</Prefix></Filter><Expiration><Days>3</Days></Expiration>", true},
		{"<Filter><Prefix>team/a/b/</Prefix></Filter><Expiration><Date>2030-01-01T00:00:00Z</Date></Expiration>", true},
		{"<Filter><And><Prefix>te</Prefix><ObjectSizeGreaterThan>1</ObjectSizeGreaterThan></And></Filter><Expiration><Days>3</Days></Expiration>", true},
		{"<Filter><Prefix>other/</Prefix></Filter><Expiration><Days>3</Days></Expiration>", false},
		{"<Filter><Tag><Key>a</Key><Value>b</Value></Tag></Filter><Expiration><Days>3</Days></Expiration>", false},
		{"<Filter/><Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>", false},
		{"<Filter/><AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation></AbortIncompleteMultipartUpload>", false},
		{"<Filter/><Transition><Days>1</Days><StorageClass>GLACIER</StorageClass></Transition>", true},
		{"<Filter/><Transition><Days>1</Days><StorageClass>STANDARD_IA</StorageClass></Transition>", false},
	} {
		for _, status := range []string{"Enabled", "Disabled"} {
			s, n := faulty(t, func(o *Options) { o.Prefix = "team/a/" })
			n.set(on("lifecycle", func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return says(r, 200, "<LifecycleConfiguration><Rule><ID>tidy</ID>"+test.rule+"<Status>"+status+"</Status></Rule></LifecycleConfiguration>")
			}))
			if err := s.Probe(t.Context()); err != nil {
				t.Fatal(err)
			}
			c, err := s.Capabilities(), put(s, "a", 1)
			if harm := test.harm && status == "Enabled"; harm != (c.NoPut != "") || harm != errors.Is(err, blob.ErrUnfit) || harm != (c.Lifecycle == On) || c.NoDelete != "" {
				t.Errorf("%s %s: %+v, %v", status, test.rule, c, err)
			}
		}
	}
}

func TestMissingBucketIsRecognised(t *testing.T) {
	for name, start := range map[string]func(testing.TB) servers.S3{"versitygw": servers.VersityGW, "gofakes3": servers.GoFakeS3} {
		t.Run(name, func(t *testing.T) {
			at := start(t)
			_, err := Open(t.Context(), optionsOf(at, "lethe-test-missing"))
			if want(t, "open", err, blob.ErrDown); err == nil || !strings.Contains(err.Error(), "create it") {
				t.Errorf("it does not say what to do: %v", err)
			}
			s, err := New(t.Context(), optionsOf(at, "lethe-test-missing"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.Stat(t.Context(), "a")
			want(t, "stat", err, blob.ErrDown)
			_, err = s.Get(t.Context(), "a", 0, -1)
			want(t, "get", err, blob.ErrDown)
			want(t, "list", s.List(t.Context(), "", "", func(blob.Info) error { return nil }), blob.ErrDown)
			want(t, "put", put(s, "a", 1), blob.ErrDown, blob.ErrNotDone)
			_, err = s.Delete(t.Context(), []string{"a"})
			want(t, "delete", err, blob.ErrDown, blob.ErrNotDone)
		})
	}
}

func TestWrongKeyIsRecognised(t *testing.T) {
	at := servers.VersityGW(t)
	o := optionsOf(at, at.Bucket(t))
	o.SecretKey = "wrong-secret-key"
	_, err := Open(t.Context(), o)
	if want(t, "open", err, blob.ErrDown); err == nil || !strings.Contains(err.Error(), "access key") || strings.Contains(err.Error(), o.SecretKey) {
		t.Errorf("it does not say what to do: %v", err)
	}
}

// plain is a service that knows no conditions; the SDK's headers never reach it.
func plain(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
	r.Header.Del("If-None-Match")
	return pass()
}

// The suite on a service with neither conditions nor DeleteObjects.
func TestConformanceOnAPlainService(t *testing.T) {
	at := servers.GoFakeS3(t)
	blobtest.Run(t, func(t *testing.T) blob.Store {
		n := &network{}
		n.set(func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			if operation(r) == "delete-objects" {
				return s3Error(501, "NotImplemented")(r, pass)
			}
			return plain(r, pass)
		})
		o := optionsOf(at, at.Bucket(t))
		o.Transport = n
		s := openBucket(t, o)
		if c := s.Capabilities(); c.ConditionalPut || c.ConditionalComplete || c.BatchDelete || !c.Multipart {
			t.Errorf("capabilities %+v", c)
		}
		return s
	}, blobtest.SaysDeleted)
}

func TestProbeLeavesNothing(t *testing.T) {
	s, n := faulty(t)
	n.set(nil)
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n.count("put") == 0 {
		t.Error("it tried nothing")
	}
	out, err := s.client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &s.o.Bucket})
	if err != nil || len(out.Contents) != 0 {
		t.Errorf("%d objects are left, %v", len(out.Contents), err)
	}
	noUploads(t, s)

	// An interrupted probe leaves an object, which is not listed.
	n.set(func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == "DELETE" || r.Method == "POST" {
			return nil, errReset
		}
		return pass()
	})
	want(t, "probe", s.Probe(t.Context()), blob.ErrDown)
	n.set(nil)
	if keys := left(t, s); len(keys) != 0 {
		t.Errorf("listed: %q", keys)
	}
}

func TestProbesAreMadeAgain(t *testing.T) {
	clock := clocktest.At(1)
	probes := 0
	s, n := faulty(t, func(o *Options) {
		o.Clock = clock
		o.Events.Probed = func(Capabilities, error) { probes++ }
	})
	_ = put(s, "a", 1)
	clock.Advance(59 * time.Minute)
	_ = put(s, "b", 1)
	if probes != 1 {
		t.Errorf("%d probes", probes)
	}
	clock.Advance(2 * time.Minute)
	_ = put(s, "c", 1)
	if probes != 2 {
		t.Errorf("%d probes after an hour", probes)
	}
	clock.Advance(61 * time.Minute)
	n.set(on("list", s3Error(503, "SlowDown")))
	if err := put(s, "d", 1); err != nil || probes != 3 {
		t.Errorf("a probe that fails does not take back what is known: %v, %d", err, probes)
	}
	if c := s.Capabilities(); c.LastError == "" || !c.BatchDelete {
		t.Errorf("%+v", c)
	}
	_ = put(s, "e", 1)
	clock.Advance(retryProbe)
	n.set(nil)
	_ = put(s, "f", 1)
	if c := s.Capabilities(); probes != 4 || c.LastError != "" {
		t.Errorf("%d probes, %+v", probes, c)
	}
}

// A response that ends early now and then, as Ceph's do, does not disable an
// ability, nor count as an outage.
func TestProbeAsksAgain(t *testing.T) {
	s, n := faulty(t)
	n.set(on("delete-objects", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
		switch n.count("delete-objects") {
		case 1:
			return edit(func(b string) string { return b[:len(b)/2] })(r, pass)
		case 2:
			return edit(func(string) string { return "" })(r, pass)
		case 3:
			return lost(errReset)(r, pass)
		}
		return pass()
	}))
	if err := s.Probe(t.Context()); err != nil || !s.Capabilities().BatchDelete {
		t.Errorf("%+v, %v", s.Capabilities(), err)
	}
}

// A conflict over a new name is of the service's own making, as of versitygw's while other
// instances probe the bucket.
func TestProbeIsInNobodysWay(t *testing.T) {
	for _, conflicts := range []int{maxConflicts, maxConflicts + 1} {
		s, n := faulty(t)
		n.set(on("put", func(r *http.Request, pass func() (*http.Response, error)) (*http.Response, error) {
			if n.count("put") <= conflicts {
				return s3Error(http.StatusConflict, "ExistingObjectIsDirectory")(r, pass)
			}
			return pass()
		}))
		if err := s.Probe(t.Context()); (err == nil) != (conflicts == maxConflicts) {
			t.Errorf("after %d conflicts: %v", conflicts, err)
		}
	}
}

// A store whose service is down at first works once it is up.
func TestFirstProbeIsMadeUntilItSucceeds(t *testing.T) {
	at := servers.GoFakeS3(t)
	n := &network{}
	n.set(func(*http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errDial })
	o := optionsOf(at, at.Bucket(t))
	o.Transport = n
	s, err := New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "put", put(s, "a", 1), blob.ErrDown, blob.ErrNotDone)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.ready(ctx); !errors.Is(err, blob.ErrDown) && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	n.set(nil)
	var wg sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		wg.Go(func() {
			if err := put(s, key, 1); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// A killed process leaves the object of its probe: the next probe removes it, but none that may
// be of a probe in progress, and nothing else that Lethe keeps there.
func TestProbeRemovesTheRemainsOfKilledOnes(t *testing.T) {
	s, n := faulty(t, func(o *Options) { o.Prefix, o.Foreign = "p/", true })
	stays := map[string]bool{"probe/old": false, "probe/older": false, "probe/new": true, "epoch/old": true}
	for name := range stays {
		key := s.o.Prefix + ownFolder + name
		if _, err := s.client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &s.o.Bucket, Key: &key, Body: bytes.NewReader(probeBody)}); err != nil {
			t.Fatal(err)
		}
	}
	n.set(on("list", edit(func(body string) string {
		entry := regexp.MustCompile(`(?s)(/old\w*</Key>\s*<LastModified>)[^<]*`)
		return entry.ReplaceAllString(body, "${1}2001-02-03T04:05:06Z")
	})))
	if err := s.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, stays := range stays {
		if absent, err := s.absentName(t.Context(), s.o.Prefix+ownFolder+name); err != nil || absent == stays {
			t.Errorf("%s: absent %v, %v", name, absent, err)
		}
	}
}
