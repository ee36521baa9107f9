//go:build linux || darwin || freebsd

package adoption

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/examples/pastebin/paste"
	"github.com/lethe-storage/lethe/test/servers"
)

// onDisk adopts the files of an application where its server stores them.
func (f *files) onDisk() string {
	f.t.Helper()
	root := f.gateway.Path(f.bucket, "")
	f.Description.Buckets["main"] = adopt.BucketSpec{Path: root}
	a, err := Open(f.t.Context(), f.Description, Options{})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = a.Close() })
	f.Adoption = a
	return root
}

// Expired pastes are removed with their files if the bucket is a folder; a live
// one keeps the bytes that it shares with them.
func TestPastesOnADisk(t *testing.T) {
	gateway := servers.NewVersityGW(t)
	p := place{gateway.S3, servers.Postgres(t), servers.NewRedis(t).Addr, gateway.Bucket(t)}
	store := p.open(t)
	zero, second := adopt.Duration(0), adopt.Duration(time.Second)
	s3 := p.adopt(t, Options{}, func(c *adopt.Collection) {
		c.Grace.Unreferenced, c.Grace.LongestWrite, c.Grace.CacheAgain = &zero, &second, &zero
	})
	s3.Description.Buckets["pastes"] = adopt.BucketSpec{Path: gateway.Path(p.bucket, "")}
	a, err := Open(t.Context(), s3.Description, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	if err := paste.Fill(t.Context(), store, paste.Filling{Pastes: 60, Shared: 0.3, TTL: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	lives, err := store.Create(t.Context(), []byte("lives"), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Create(t.Context(), []byte("lives"), time.Millisecond); err != nil {
		t.Fatal(err)
	}
	counts, err := a.Loop.Once(t.Context(), nil)
	if rows := counts["expire pastes"]["rows"]; err != nil || rows != 61 || counts["expire pastes"]["objects"] == 0 || counts["expire pastes"]["failed"] != 0 {
		t.Errorf("%v, %v, want 61 rows and their objects", counts, err)
	}
	if keys := (&site{a, store, gateway.Client(), p.bucket, t}).keys(); len(keys) != 1 {
		t.Errorf("%d files are left, want 1", len(keys))
	}
	if _, body, err := store.Read(t.Context(), lives.Code); err != nil || string(body) != "lives" {
		t.Errorf("the paste that lives reads %q, %v", body, err)
	}
}

// Files without a row are moved on a disk as well, links and odd names are left
// alone, and what a row names again is restored.
func TestKeysOnADisk(t *testing.T) {
	f := newVault(t)
	root := f.onDisk()
	f.put("a", "deep/er/orphan", "rescued")
	f.row("a", "lost")
	odd, link := filepath.Join(root, "files/odd\xff"), filepath.Join(root, "files/link")
	if err := errors.Join(os.WriteFile(odd, []byte("odd"), 0o600), os.Symlink("a", link)); err != nil {
		t.Fatal(err)
	}
	old := lethe.SystemClock{}.Now().Add(-time.Hour).Time()
	for _, folder := range []string{"files/deep/er", "files/deep"} {
		if err := os.Chtimes(filepath.Join(root, folder), old, old); err != nil {
			t.Fatal(err)
		}
	}
	f.passes(map[string]int64{"orphans": 2, "objects": 2, "missing": 1})
	if _, err := os.Lstat(filepath.Join(root, "files/deep")); err == nil {
		t.Error("folders that hold nothing are there still")
	}
	f.row("rescued")
	f.cares(map[string]int64{"restored": 1})
	f.landed()
	f.kept()
	f.cares(map[string]int64{"purged": 2})
	for path, want := range map[string]bool{"files/a": true, "files/rescued": true, "files/odd\xff": true, "files/link": true, "kept/files/rescued": false, "kept/files/deep/er/orphan": false} {
		if _, err := os.Lstat(filepath.Join(root, path)); (err == nil) != want {
			t.Errorf("%q: %v", path, err)
		}
	}
	found, err := f.Check(t.Context())
	if err != nil || adopt.Problems(found["files"]) {
		t.Errorf("check: %+v, %v", found, err)
	}
}

// An unmounted disk stops everything: no file is reported missing, and nothing
// is forgotten.
func TestKeysOnADiskThatIsGone(t *testing.T) {
	f := newVault(t)
	root := f.onDisk()
	f.put("a", "orphan")
	f.row("a")
	f.passes(map[string]int64{"objects": 1})
	f.row("orphan")
	f.kept()
	if err := errors.Join(os.Rename(root, root+".away"), os.MkdirAll(filepath.Join(root, "files"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if counts, err := f.Loop.Once(t.Context(), nil); !errors.Is(err, blob.ErrMisplaced) {
		t.Errorf("%v, %v", counts, err)
	}
	found, err := f.Check(t.Context())
	if err != nil || !adopt.Problems(found["files"]) || !strings.Contains(fmt.Sprint(found["files"]), "mount the disk, or correct the bucket's path") {
		t.Errorf("check: %+v, %v", found, err)
	}
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if gone, err := Open(t.Context(), f.Description, Options{}); err == nil || !strings.Contains(err.Error(), "no such file or directory: mount the disk") {
		t.Errorf("opened as %v, %v", gone, err)
	}
	if err := os.Rename(root+".away", root); err != nil {
		t.Fatal(err)
	}
	f.cares(map[string]int64{"restored": 1})
	body, err := os.ReadFile(filepath.Join(root, "files/orphan"))
	if err != nil || !strings.HasPrefix(string(body), "orphan") {
		t.Errorf("%q, %v", body, err)
	}
}
