//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
	"golang.org/x/sys/unix"
)

// On a full disk nothing can be stored and everything can be deleted; then
// there is room again.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=56m"); err != nil {
		t.Skipf("mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	w := newWorld(t)
	w.dir = filepath.Join(disk, "d")
	w.start()
	t.Cleanup(func() { w.stop() })
	w.bucket("first")
	for _, key := range []string{"a", "b"} {
		w.put("first", key, rand.Text()+strings.Repeat(key, 4<<20), "")
	}
	well := w.scrape()
	stuff, err := os.Create(filepath.Join(disk, "stuff"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(stuff, rand.Reader); !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
	for range 3 {
		w.hasNoRoom("first")
	}
	if status := w.ok("status"); !strings.Contains(status, "ledger's disk is full") {
		t.Errorf("nobody is told:\n%s", status)
	}
	w.fresh()
	bad := w.scrape()
	w.remove("first", "a")
	w.remove("first", "b")
	w.clock.Advance(time.Hour)
	w.ok("reclaim", "--once")
	if n := bytesIn(t, filepath.Join(w.dir, "blobs")); n > 1<<20 {
		t.Errorf("%d bytes are left on the disk", n)
	}
	if err := os.Remove(stuff.Name()); err != nil {
		t.Fatal(err)
	}
	late := time.After(30 * time.Second)
	for strings.Contains(w.ok("status"), "ledger's disk is full") {
		select {
		case <-late:
			t.Fatal("the disk has room, and it is not noticed")
		default:
			w.ok("reclaim", "--once")
		}
	}
	w.put("first", "c", "there is room again", "")
	w.ok("check", "--checksums")
	w.fresh()
	good := w.scrape()
	w.judge(scenario{alert: "LetheLedgerFull", well: well, bad: []moment{bad}, good: &good})
}

// hasNoRoom puts an object, which has to be refused for lack of room.
func (w *world) hasNoRoom(bucket string) {
	w.t.Helper()
	in := &awss3.PutObjectInput{Bucket: &bucket, Key: new(string), Body: strings.NewReader(rand.Text() + strings.Repeat("x", 1<<20))}
	*in.Key = "no-room"
	_, err := w.s3("", "").PutObject(context.Background(), in)
	var told smithy.APIError
	if !errors.As(err, &told) || told.ErrorCode() != "InsufficientStorage" {
		w.t.Errorf("a put on a full disk: %v", err)
	}
}

// bytesIn returns the size of all files in a folder.
func bytesIn(t *testing.T, folder string) (n int64) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		n += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
