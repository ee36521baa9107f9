package adoption

import (
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/lethe-storage/lethe/adopt"
)

// newVault is files whose orphans are moved at once, and stay for a week.
func newVault(t *testing.T) *files {
	none := adopt.Duration(0)
	f := newCollection(t, func(s *adopt.KeySpec) { s.Retention = &none }, adopt.Collection{Quarantine: &adopt.QuarantineSpec{Prefix: "kept/"}})
	f.ranBefore()
	return f
}

// cares runs everything once, and checks the counts of the quarantine.
func (f *files) cares(want map[string]int64) {
	f.t.Helper()
	counts, err := f.Loop.Once(f.t.Context(), nil)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, what := range []string{"restored", "purged"} {
		if got := counts["quarantine files"][what]; got != want[what] {
			f.t.Errorf("%s: %d, want %d of %v", what, got, want[what], counts)
		}
	}
}

// landed lets every delete in flight take effect, kept lets the retention pass.
func (f *files) landed() { f.exec(`UPDATE lethe.quarantined SET late_at = 0`) }

func (f *files) kept() { f.exec(`UPDATE lethe.quarantined SET until_at = 1, late_at = 0`) }

// An orphan is moved with its metadata. Once a row names it again it is copied
// back, and its copy is deleted when no delete of the object is in flight.
func TestQuarantineCopiesBack(t *testing.T) {
	f := newVault(t)
	f.put("a", "other")
	odd := "files/m ü?%2F+&.txt"
	if _, err := f.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &f.bucket, Key: &odd, Body: strings.NewReader("odd"),
		ContentType: aws.String("text/x"), Metadata: map[string]string{"colour": "red"}, Tagging: aws.String("owner=me")}); err != nil {
		t.Fatal(err)
	}
	f.row("a")
	f.passes(map[string]int64{"orphans": 2, "objects": 2})
	f.left("a", "kept/"+odd, "kept/files/other")
	explains(t, f.Adoption, "files", "files/other", "left its place, as no row named it: it was moved to quarantine",
		"files/other (5 bytes) lies in quarantine as kept/files/other since", ", until 2")
	f.exec(`INSERT INTO files VALUES (9, $1)`, odd)
	f.cares(map[string]int64{"restored": 1})
	f.left("a", "m ü?%2F+&.txt", "kept/"+odd, "kept/files/other")
	head, err := f.s3.HeadObject(t.Context(), &s3.HeadObjectInput{Bucket: &f.bucket, Key: &odd})
	if err != nil || *head.ContentType != "text/x" || head.Metadata["colour"] != "red" {
		t.Errorf("it came back as %+v, %v", head, err)
	}
	tags, err := f.s3.GetObjectTagging(t.Context(), &s3.GetObjectTaggingInput{Bucket: &f.bucket, Key: &odd})
	if err != nil || len(tags.TagSet) != 1 || *tags.TagSet[0].Value != "me" {
		t.Errorf("it came back with the tags %+v, %v", tags, err)
	}
	f.cares(nil)
	f.landed()
	f.cares(map[string]int64{"purged": 1})
	f.left("a", "m ü?%2F+&.txt", "kept/files/other")
	f.kept()
	f.cares(map[string]int64{"purged": 1})
	f.left("a", "m ü?%2F+&.txt")
	facts, err := f.Explain(t.Context(), "files", odd)
	// It is named; it was recorded, moved, copied back, and its copy deleted.
	if err != nil || len(facts) != 5 {
		t.Errorf("%d facts are known of it, want 5: %v, %v", len(facts), facts, err)
	}
}

// A backup of the database has rows whose objects were moved later, and no record of that: they
// are copied back. What nothing refers to is copied back on request.
func TestQuarantineAfterARestoredBackup(t *testing.T) {
	f := newVault(t)
	f.put("a", "x", "y")
	f.row("a")
	f.passes(map[string]int64{"objects": 2})
	f.left("a", "kept/files/x", "kept/files/y")
	f.exec(`DELETE FROM lethe.quarantined`)
	f.exec(`DELETE FROM lethe.orphans`)
	f.row("x")
	var err error
	if f.Adoption, err = Open(t.Context(), f.whole, Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	f.cares(map[string]int64{"restored": 1})
	f.left("a", "x", "kept/files/x", "kept/files/y")
	q, err := f.Quarantine(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Restore(t.Context(), "files/z"); err == nil || !strings.Contains(err.Error(), "is not in quarantine") {
		t.Errorf("what never was there is restored: %v", err)
	}
	if err := q.Restore(t.Context(), "files/y"); err != nil {
		t.Error(err)
	}
	f.left("a", "x", "y", "kept/files/x", "kept/files/y")
}

// What the application put meanwhile is newer than the copy: it is kept.
func TestQuarantineSparesNewer(t *testing.T) {
	f := newVault(t)
	f.put("a", "x")
	f.row("a")
	f.passes(map[string]int64{"objects": 1})
	if _, err := f.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &f.bucket, Key: aws.String("files/x"), Body: strings.NewReader("newer")}); err != nil {
		t.Fatal(err)
	}
	f.row("x")
	f.landed()
	f.cares(nil)
	out, err := f.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &f.bucket, Key: aws.String("files/x")})
	if err != nil || *out.ContentLength != 5 {
		t.Errorf("the newer object: %+v, %v", out, err)
	}
	f.kept()
	f.cares(map[string]int64{"purged": 1})
	f.left("a", "x")
}

// An object that no row names can be restored by hand. What is in quarantine
// keeps Lethe's tables, and is purged early on request.
func TestQuarantineByHand(t *testing.T) {
	f := newVault(t)
	f.put("a", "x", "y")
	f.row("a")
	f.passes(map[string]int64{"objects": 2})
	q, err := f.Quarantine(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	if err := q.Restore(t.Context(), "files/z"); err == nil {
		t.Error("what is not in quarantine was restored")
	}
	if err := q.Restore(t.Context(), "files/x"); err != nil {
		t.Fatal(err)
	}
	f.left("a", "x", "kept/files/x", "kept/files/y")
	if n, err := q.PurgeNow(t.Context()); n != 0 || err != nil {
		t.Errorf("%d were purged while a delete of them may take effect, %v", n, err)
	}
	if err := f.Remove(t.Context(), false); err == nil {
		t.Error("what is in quarantine was forgotten")
	}
	f.landed()
	if n, err := q.PurgeNow(t.Context()); n != 2 || err != nil {
		t.Errorf("%d were purged, %v, want 2", n, err)
	}
	f.left("a", "x")
	begun, err := f.s3.CreateMultipartUpload(t.Context(), &s3.CreateMultipartUploadInput{Bucket: &f.bucket, Key: aws.String("files/x")})
	if err != nil {
		t.Fatal(err)
	}
	f.exec(`INSERT INTO lethe.uploads VALUES ('files', 'files/x', 7, 'files/x', $1, 1)`, *begun.UploadId)
	if err := f.Remove(t.Context(), false); err != nil {
		t.Error(err)
	}
	if left, err := f.s3.ListMultipartUploads(t.Context(), &s3.ListMultipartUploadsInput{Bucket: &f.bucket}); err != nil || len(left.Uploads) > 0 {
		t.Errorf("a copy that a dead worker began is forgotten: %+v, %v", left, err)
	}
}

// If rows suddenly disappear nothing is purged.
func TestQuarantineFewRows(t *testing.T) {
	f := newVault(t)
	f.put("a", "b", "x")
	f.row("a", "b")
	f.passes(map[string]int64{"objects": 1})
	f.kept()
	f.exec(`DELETE FROM files`)
	q, err := f.Quarantine(t.Context(), "files")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.PurgeNow(t.Context()); !errors.Is(err, adopt.ErrFewRows) {
		t.Errorf("without rows: %v", err)
	}
	f.left("a", "b", "kept/files/x")
}

// A quarantine that is not described any more is a problem while it has
// objects.
func TestQuarantineForgotten(t *testing.T) {
	f := newVault(t)
	f.put("a", "x")
	f.row("a")
	f.passes(map[string]int64{"objects": 1})
	c := f.Description.Collections["files"]
	c.Quarantine = nil
	f.Description.Collections["files"] = c
	found, err := f.Check(t.Context())
	if err != nil || !adopt.Problems(found["files"]) {
		t.Errorf("%+v, %v", found, err)
	}
}
