package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"

	"github.com/lethe-storage/lethe/admin/api"
)

// apiCode returns the S3 code of an error, empty if there is none.
func apiCode(t *testing.T, err error) string {
	t.Helper()
	var failed smithy.APIError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if err == nil {
		return ""
	}
	return failed.ErrorCode()
}

func TestAccessKeys(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("mine")
	w.bucket("other")
	w.put("mine", "a", "bytes", "")
	k := asked[api.NewKey](w, "keys", "add", "--bucket", "mine", "--read-only")
	if out := w.ok("keys", "list") + w.ok("keys", "list", "--json"); !strings.Contains(out, k.ID) || strings.Contains(out, k.Secret) {
		t.Errorf("listed as %s", out)
	}
	if strings.Contains(w.log.String(), k.Secret) {
		t.Error("the secret is in the log")
	}
	client := w.s3(k.ID, k.Secret)
	head := func(bucket string) string {
		_, err := client.ListObjectsV2(context.Background(), &awss3.ListObjectsV2Input{Bucket: &bucket})
		return apiCode(t, err)
	}
	if code := head("mine"); code != "" {
		t.Errorf("its own bucket is refused: %s", code)
	}
	if code := head("other"); code != "AccessDenied" {
		t.Errorf("another bucket answers %q", code)
	}
	_, err := client.PutObject(context.Background(), &awss3.PutObjectInput{
		Bucket: aws.String("mine"), Key: aws.String("b"), Body: strings.NewReader("x"),
	})
	if code := apiCode(t, err); code != "AccessDenied" {
		t.Errorf("a read-only key writes: %q", code)
	}
	w.ok("keys", "remove", k.ID)
	if code := head("mine"); code != "InvalidAccessKeyId" {
		t.Errorf("a removed key answers %q", code)
	}
	w.fails("no such access key", "keys", "remove", k.ID)
	w.fails("bucket", "keys", "add")
}

// What a key writes ends as the key says; explain names it.
func TestKeysLimitLife(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("builds")
	k := asked[api.NewKey](w, "keys", "add", "--bucket", "builds", "--default-ttl", "7d")
	put := func(key string, metadata ...string) {
		t.Helper()
		in := &awss3.PutObjectInput{Bucket: aws.String("builds"), Key: &key, Body: strings.NewReader(key), Metadata: map[string]string{}}
		for i := 0; i < len(metadata); i += 2 {
			in.Metadata[metadata[i]] = metadata[i+1]
		}
		_, err := w.s3(k.ID, k.Secret).PutObject(context.Background(), in)
		if code := apiCode(t, err); code != "" {
			t.Fatal(code)
		}
	}
	put("a")
	e := asked[api.Explanation](w, "explain", "s3://builds/a")
	if e.Object.TTLKey != k.ID || !e.Object.TTLAt.Equal(e.Object.ModifiedAt.Add(7*24*time.Hour)) || !strings.Contains(e.Verdict, "its time to live ends, the default of access key "+k.ID) {
		t.Errorf("%+v %s", e.Object, e.Verdict)
	}
	if out := w.ok("explain", "s3://builds/a"); !strings.Contains(out, "its time to live, the default of access key "+k.ID+", ends") {
		t.Error(out)
	}
	if out := w.ok("keys", "set", k.ID, "--default-ttl", "none", "--max-ttl", "2d"); !strings.Contains(out, "-            2d") {
		t.Error(out)
	}
	put("b")
	if e := asked[api.Explanation](w, "explain", "s3://builds/b"); !e.Object.TTLAt.Equal(e.Object.ModifiedAt.Add(48 * time.Hour)) {
		t.Errorf("%+v", e.Object)
	}
	// An idle time is beside what the key sets: the earlier end counts.
	for key, by := range map[string][2]string{"short": {"12h", "idle"}, "long": {"30d", "ttl"}} {
		put(key, "idle-ttl", by[0])
		e := asked[api.Explanation](w, "explain", "s3://builds/"+key)
		if e.Object.EndedBy != by[1] || e.Object.TTLKey != k.ID || !e.Object.TTLAt.Equal(e.Object.ModifiedAt.Add(48*time.Hour)) || e.Object.Idle != by[0] {
			t.Errorf("%s: %+v %s", key, e.Object, e.Verdict)
		}
	}
	if out := w.ok("keys", "list"); !strings.Contains(out, "MAX TTL") || !strings.Contains(out, "2d") {
		t.Error(out)
	}
	w.fails("is longer than the longest", "keys", "set", k.ID, "--default-ttl", "3d")
	w.fails("max_ttl: invalid time to live: \"soon\"", "keys", "set", k.ID, "--max-ttl", "soon")
	w.fails("no such access key", "keys", "set", "nobody", "--max-ttl", "2d")
	w.fails("nothing to change", "keys", "set", k.ID)
	w.fails("a key that only reads writes nothing", "keys", "add", "--bucket", "builds", "--read-only", "--default-ttl", "7d")
	w.ok("ttl", "set", "s3://builds/a", "9d")
	if e := asked[api.Explanation](w, "explain", "s3://builds/a"); e.Object.TTLKey != "" {
		t.Errorf("%+v", e.Object)
	}
}

func TestTrash(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.ok("buckets", "set", "first", "--undo", "7d")
	w.put("first", "a", "first version", "")
	w.put("first", "a", "second version", "")
	w.remove("first", "a")
	list := asked[[]api.TrashEntry](w, "trash", "list", "--bucket", "first")
	if len(list) != 2 || list[0].Reason != "overwrite" || list[1].Reason != "delete" {
		t.Fatalf("the trash holds %+v", list)
	}
	e := asked[api.Explanation](w, "explain", "s3://first/a")
	if e.Object != nil || len(e.Trash) != 2 || len(e.Contents) != 2 {
		t.Errorf("explained as %+v", e)
	}
	w.gone("first", "a")
	w.ok("trash", "restore", list[0].ID)
	w.there("first", "a")
	w.fails("--overwrite", "trash", "restore", list[1].ID)
	w.ok("trash", "restore", "--overwrite", list[1].ID)
	w.fails("no such trash entry", "trash", "restore", list[1].ID)
	w.fails("all of them", "trash", "purge")
	w.ok("trash", "purge", "--all")
	w.reclaimed("objects", 1, "purge")
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 1, "clean")
	w.held(1)
	w.ok("check", "--checksums")
}

// Bytes that cannot be deleted become a dead letter. It is retried once the
// cause is fixed, or written off.
func TestDeadLetters(t *testing.T) {
	w := newWorld(t, "reclaim.grace.attempts=1").start()
	w.bucket("first")
	for _, key := range []string{"a", "b"} {
		w.put("first", key, "bytes of "+key, "")
	}
	for _, path := range w.blobs() {
		stuck(t, path)
	}
	w.remove("first", "a")
	w.remove("first", "b")
	w.clock.Advance(time.Minute)
	w.reclaimed("dead", 2, "clean")
	list := asked[[]api.DeadInfo](w, "dead", "list", "--reason", "delete")
	if len(list) != 2 || list[0].LastError == "" || list[0].Attempts != 1 {
		t.Fatalf("the dead letters are %+v", list)
	}
	if other := asked[[]api.DeadInfo](w, "dead", "list", "--reason", "expiry"); len(other) != 0 {
		t.Errorf("a filter lets through %+v", other)
	}
	for _, b := range list {
		if err := os.Remove(filepath.Dir(filepath.Join(w.dir, "blobs", b.Name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
	w.fails("choose them", "dead", "requeue")
	w.ok("dead", "requeue", list[0].ID)
	w.ok("dead", "write-off", "--all")
	w.state("condemned", 1)
	w.state("dead", 0)
	w.reclaimed("gone", 1, "clean")
	w.ok("check")
}

// stuck replaces a file's folder by a link that leads out of the backend:
// nothing behind it is ever deleted.
func stuck(t *testing.T, path string) {
	t.Helper()
	folder := filepath.Dir(path)
	if err := errors.Join(os.RemoveAll(folder), os.Symlink("/", folder)); err != nil {
		t.Fatal(err)
	}
}

// unstick removes the links. A new blob may belong in their folders.
func (w *world) unstick() {
	w.t.Helper()
	err := filepath.WalkDir(filepath.Join(w.dir, "blobs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type() == fs.ModeSymlink {
			err = os.Remove(path)
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Changes of the bytes outside of the store are detected.
func TestCheckFindsHarm(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes of a", "")
	w.put("first", "b", "bytes of b", "")
	list := w.blobs()
	if err := os.WriteFile(list[0], []byte("other byte"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ok("check")
	w.finds("damaged", "check", "--checksums")
	if err := os.Remove(list[1]); err != nil {
		t.Fatal(err)
	}
	w.finds("missing", "check")
	stray := list[1][:len(list[1])-1]
	stray += string('0' + (list[1][len(list[1])-1]-'0'+1)%10)
	if err := os.WriteFile(stray, []byte("stray"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.finds("orphan", "check")
}

// finds fails unless a check ends with exit code 1 and names the kind.
func (w *world) finds(kind string, command ...string) {
	w.t.Helper()
	code, out, errs := w.lethe(command...)
	if code != exitProblems || !strings.Contains(out, kind+": ") {
		w.t.Fatalf("lethe %s: exit code %d\n%s%s", strings.Join(command, " "), code, out, errs)
	}
}

// A held backend keeps its bytes; the store continues to serve.
func TestHeldBackend(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.ok("backend", "hold", "main", "--reason", "looking into it")
	w.remove("first", "a")
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 0, "clean")
	w.held(1)
	w.put("first", "b", "more", "")
	if out := w.ok("status"); !strings.Contains(out, "looking into it") || !strings.Contains(out, "lethe backend accept main") {
		t.Error(out)
	}
	w.accept("main")
	w.reclaimed("gone", 1, "clean")
	w.held(1)
	w.fails("no such backend", "backend", "accept", "nonsense")
}
