package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/admin/api"
)

// unmount replaces the backend's folder by an empty one, as the mount point of
// a disk that is not mounted; mount restores it.
func (w *world) unmount() (mount func()) {
	w.t.Helper()
	path := filepath.Join(w.dir, "blobs")
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	must(os.Rename(path, path+".disk"))
	must(os.Mkdir(path, 0o700))
	return func() {
		w.t.Helper()
		must(os.Remove(path)) // fails if anything was written there
		must(os.Rename(path+".disk", path))
	}
}

// outage fails unless err is S3's 503 with the text for a missing disk.
func (w *world) outage(what string, err error) {
	w.t.Helper()
	var failed smithy.APIError
	if !errors.As(err, &failed) || failed.ErrorCode() != "ServiceUnavailable" || !strings.Contains(failed.ErrorMessage(), "not in its place") {
		w.t.Errorf("%s: %v", what, err)
	}
}

func (w *world) get(bucket, key string) (string, error) {
	out, err := w.s3("", "").GetObject(context.Background(), &awss3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return "", err
	}
	defer out.Body.Close()
	data, err := io.ReadAll(out.Body)
	return string(data), err
}

// missing checks a store while its disk is not mounted, and that it continues
// by itself once it is.
func (w *world) missing(well moment, mount func()) {
	w.t.Helper()
	if text, ok := w.log.await("THE BACKEND IS NOT IN ITS PLACE"); !ok {
		w.t.Fatal(text)
	}
	_, err := w.get("first", "a")
	w.outage("get", err)
	bucket := "first"
	for key, body := range map[string]string{"small": "other bytes", "large": strings.Repeat("large", 1<<20)} {
		_, err := w.s3("", "").PutObject(context.Background(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte(body))})
		w.outage("put "+key, err)
	}
	if s := asked[api.Status](w, "status"); s.Backends[0].Misplaced == "" || !s.Backends[0].Missing {
		w.t.Errorf("status says %+v", s.Backends[0])
	}
	if text := w.ok("status"); !strings.Contains(text, "backend main is not in its place") || strings.Contains(text, ": stat /") {
		w.t.Errorf("status says\n%s", text)
	}
	w.fails("not in its place", "check", "--checksums")
	w.remove("first", "b")
	w.clock.Advance(2 * time.Minute)
	w.ok("reclaim", "--once")
	w.clock.Advance(2 * time.Hour)
	bad := w.scrape()
	mount()
	if text, ok := w.log.await("is in its place again"); !ok {
		w.t.Fatal(text)
	}
	if got, err := w.get("first", "a"); err != nil || got != "bytes" {
		w.t.Errorf("read %q, %v", got, err)
	}
	w.put("first", "c", "more bytes", "")
	w.ok("reclaim", "--once")
	w.ok("check", "--checksums")
	s := asked[api.Status](w, "status")
	if b := s.Backends[0]; b.Misplaced != "" || b.Held != "" || b.Missing {
		w.t.Errorf("status says %+v", b)
	}
	// The server may have claimed them itself and be about to delete them, or
	// have found the disk missing for the last time after the clock was set:
	// then they wait.
	for try := 0; w.condemned() > 0; try++ {
		if try == 100 {
			w.t.Errorf("%d blobs were not deleted from the disk", w.condemned())
			break
		}
		w.clock.Advance(2 * time.Minute)
		w.ok("reclaim", "--once")
	}
	w.fresh()
	good := w.scrape()
	w.judge(scenario{alert: "LetheBackendUnwritable", well: well, bad: []moment{bad}, good: &good})
}

// condemned returns how many blobs wait to be deleted on the first backend.
func (w *world) condemned() (n int64) {
	w.t.Helper()
	for _, st := range asked[api.Status](w, "status").Backends[0].States {
		if st.State == "condemned" {
			n += int64(st.Blobs)
		}
	}
	return n
}

func TestStartWithAMissingDisk(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.put("first", "b", "bytes that go", "")
	well := w.scrape()
	w.stop()
	mount := w.unmount()
	w.start()
	w.missing(well, mount)
}

func TestDiskVanishesWhileServing(t *testing.T) {
	w := newWorld(t, "cache.size=none").start() // which needs no disk
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.put("first", "b", "bytes that go", "")
	w.missing(w.scrape(), w.unmount())
}

// A permanent loss has to be accepted by a person.
func TestANewDiskIsAccepted(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.stop()
	w.unmount()
	w.start()
	w.ok("backend", "accept", "main")
	w.put("first", "a", "bytes", "")
	if got, err := w.get("first", "a"); err != nil || got != "bytes" {
		t.Errorf("read %q, %v", got, err)
	}
	w.ok("check")
}

// A folder that is emptied in place, and filled again, has lost nothing. What
// is missing meanwhile is an outage, and no blob becomes suspect.
func TestEmptiedFolderIsAnOutage(t *testing.T) {
	w := newWorld(t, "cache.size=none").start()
	w.bucket("first")
	w.put("first", "a", strings.Repeat("bytes", 1<<18), "")
	path, kept := filepath.Join(w.dir, "blobs"), filepath.Join(w.dir, "kept")
	move := func(from, to string) {
		t.Helper()
		list, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			if err := os.Rename(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Mkdir(kept, 0o700); err != nil {
		t.Fatal(err)
	}
	move(path, kept)
	_, err := w.get("first", "a")
	w.outage("get", err)
	w.fails("not in its place", "check")
	if list, err := os.ReadDir(path); err != nil || len(list) > 0 {
		t.Errorf("%v was written to the emptied folder (%v)", list, err)
	}
	move(kept, path)
	if text, ok := w.log.await("is in its place again"); !ok {
		t.Fatal(text)
	}
	if got, err := w.get("first", "a"); err != nil || len(got) != 5<<18 {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
}
