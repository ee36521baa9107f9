package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
	"github.com/lethe-storage/lethe/test/servers"
)

// imported runs an import and returns its result.
func (w *world) imported(wantCode int, args ...string) (res api.ImportResult) {
	w.t.Helper()
	code, out, errs := w.lethe(append([]string{"import", "--json"}, args...)...)
	if code != wantCode {
		w.t.Fatalf("import %v: exit code %d\n%s%s", args, code, out, errs)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &res); err != nil {
		w.t.Fatal(err)
	}
	return res
}

// The plan and the import of files that were put into the folder of a backend.
func TestImport(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("album")
	w.put("album", "cats/taken.jpg", "mine!!!", "")
	for _, key := range []string{"Photos/Cat.JPG", "Photos/taken.jpg", "Photos/late.jpg", "elsewhere"} {
		w.plantFile(key)
	}
	args := []string{"--backend", "main", "--prefix", "Photos/", "--bucket", "album", "--strip", "Photos/", "--add", "cats/", "--ttl", "1h"}
	if out := w.ok(append([]string{"import", "--dry-run"}, args...)...); !strings.Contains(out, "a foreign key becomes an object") || !strings.Contains(out, "12 calls") {
		t.Errorf("a dry run says\n%s", out)
	}
	path, end := w.planned(append([]string{"import"}, args...)...)
	if end.Totals.Items != 3 || end.Totals.Bytes != 21 {
		t.Fatalf("planned %+v", end.Totals)
	}
	w.held(5) // the foreign ones among them
	late := filepath.Join(w.dir, "blobs", "Photos", "late.jpg")
	if err := os.WriteFile(late, []byte("changed after the plan"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.plantFile("Photos/after the plan.jpg")
	if res := w.applied(path); res.Done.Items != 1 || res.Outcomes[plan.Changed] != 1 || res.Outcomes[plan.Busy] != 1 {
		t.Fatalf("applied %+v", res)
	}
	if res := w.applied(path); res.Outcomes[plan.Already] != 1 {
		t.Errorf("applied again: %+v", res)
	}
	res := w.imported(exitProblems, args...)
	if res.Keys["imported"] != 2 || res.Keys["already"] != 1 || res.Keys["conflict"] != 1 || res.Bytes != int64(len("planted")+len("changed after the plan")) || res.Shared != 7 {
		t.Errorf("imported %+v", res)
	}
	if got, err := w.get("album", "cats/Cat.JPG"); got != "planted" {
		t.Errorf("it holds %q, %v", got, err)
	}
	if got, err := w.get("album", "cats/taken.jpg"); got != "mine!!!" {
		t.Errorf("an object was replaced: %q, %v", got, err)
	}
	if text, err := os.ReadFile(late); err != nil || string(text) != "changed after the plan" {
		t.Errorf("the source is %q, %v", text, err)
	}
	if log := w.log.String(); !strings.Contains(log, `"route":"import"`) {
		t.Error("there is no audit line")
	}
	w.clock.Advance(2 * time.Hour)
	w.reclaimed("objects", 3, "expire")
	w.fails(`no such backend: "tape"`, "import", "--backend", "tape", "--bucket", "album")
	w.fails("no such bucket", "import", "--backend", "main", "--bucket", "nowhere")
	w.fails("not the beginning", "import", "--backend", "main", "--bucket", "album", "--strip", "x")
	if _, out, _ := w.lethe("check", "--checksums"); !strings.Contains(out, ": foreign 5\n") {
		t.Errorf("the check says\n%s", out)
	}
}

// The same on an S3 service, with its metadata.
func TestImportFromS3(t *testing.T) {
	s := servers.GoFakeS3(t)
	bucket := s.Bucket(t)
	w := newWorld(t, "backends=[{name: cloud, kind: s3, s3: {endpoint: "+s.Endpoint+", bucket: "+bucket+", access_key: "+s.Access+", secret_key: "+s.Secret+", path_style: true}}]").start()
	w.bucket("album")
	for _, key := range []string{"old/a b+c.txt", "old/ü.txt"} {
		_, err := s.Client().PutObject(t.Context(), &awss3.PutObjectInput{
			Bucket: &bucket, Key: aws.String(key), Body: strings.NewReader("bytes of " + key),
			ContentType: aws.String("text/x"), Metadata: map[string]string{"colour": "red"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"old/", "old/sub/"} { // as consoles create folders
		if _, err := s.Client().PutObject(t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: aws.String(key), Body: strings.NewReader("")}); err != nil {
			t.Fatal(err)
		}
	}
	res := w.imported(0, "--backend", "cloud", "--prefix", "old/", "--bucket", "album", "--strip", "old/")
	if res.Keys["imported"] != 3 {
		t.Fatalf("imported %+v", res)
	}
	if got, err := w.get("album", "sub/"); got != "" || err != nil {
		t.Errorf("the folder's mark holds %q, %v", got, err)
	}
	if res = w.imported(0, "--backend", "cloud", "--prefix", "old/", "--bucket", "album", "--strip", "old/"); res.Keys["already"] != 3 || res.Bytes != 0 {
		t.Errorf("imported again %+v", res)
	}
	if got, err := w.get("album", "a b+c.txt"); got != "bytes of old/a b+c.txt" {
		t.Errorf("it holds %q, %v", got, err)
	}
	head, err := w.s3(w.app.Root.Access, w.app.Root.Secret.Reveal()).HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: aws.String("album"), Key: aws.String("ü.txt")})
	if err != nil || aws.ToString(head.ContentType) != "text/x" || head.Metadata["colour"] != "red" {
		t.Errorf("the object is %+v, %v", head, err)
	}
	left, err := s.Client().HeadObject(t.Context(), &awss3.HeadObjectInput{Bucket: &bucket, Key: aws.String("old/ü.txt")})
	if err != nil || aws.ToInt64(left.ContentLength) == 0 {
		t.Errorf("the source: %v", err)
	}
}
