package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/object"
)

// A backup is taken while objects are written, and restored beside newer bytes:
// the store serves, and deletes nothing until it is accepted.
func TestBackupWhileWritingAndRestore(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "kept", "bytes that stay", "")
	w.put("first", "deleted", "bytes that go", "")
	file := filepath.Join(t.TempDir(), "backup.db")
	stop := w.writeOn()
	w.ok("backup", file)
	stop()
	mode(t, file, 0o600)
	w.fails("choose another name", "backup", file)
	w.fails("cannot be written: no such file or directory", "backup", filepath.Join(filepath.Dir(file), "nowhere", "b.db"))
	w.put("first", "after", "bytes the backup does not know", "")
	w.remove("first", "deleted")
	w.clock.Advance(time.Minute)
	w.reclaimed("gone", 1, "clean")
	w.fails("running server", "restore", file)
	w.stop()
	w.fails("--replace", "restore", file)

	old := w.dir
	w.dir = filepath.Join(t.TempDir(), "restored")
	w.settings = append(w.settings, "backends=[{name: main, kind: dir, path: "+filepath.Join(old, "blobs")+"}]")
	lacks := filepath.Join(w.dir, "credentials") + "  or the next start makes another root key"
	if out := w.ok("restore", file); !strings.Contains(out, "lethe backend accept main") || !strings.Contains(out, lacks) || strings.Contains(out, "bytes of backend") {
		t.Error(out)
	}
	none := newWorld(t, "root.access_key=myself", "root.secret=a-long-secret")
	if out := none.ok("restore", file); !strings.Contains(out, filepath.Join(none.dir, "blobs")+"  the bytes of backend main") || strings.Contains(out, "credentials") {
		t.Error(out)
	}
	w.start()
	if log := w.log.String(); !strings.Contains(log, "DELETES ARE STOPPED") {
		t.Errorf("no warning in %s", log)
	}
	w.there("first", "kept")
	w.gone("first", "after")
	w.finds("orphan", "check")
	w.finds("missing", "check")
	w.remove("first", "kept")
	w.clock.Advance(time.Hour)
	before := len(files(t, filepath.Join(old, "blobs")))
	w.reclaimed("gone", 0, "clean")
	if n := len(files(t, filepath.Join(old, "blobs"))); n != before {
		t.Fatalf("%d blobs were deleted by a ledger that nobody has accepted", before-n)
	}
	w.accept("main")
	w.reclaimed("gone", 1, "clean")
}

// writeOn puts objects until stop is called.
func (w *world) writeOn() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ctx.Err() == nil; i++ {
			body := fmt.Sprintf("body %d", i%100)
			_, err := w.app.Objects.Put(context.Background(), object.PutRequest{
				Bucket: "first", Key: fmt.Sprintf("many/%d", i%500), Body: strings.NewReader(body), Size: int64(len(body)),
			})
			if err != nil {
				w.t.Error(err)
				return
			}
			if i == 10 {
				close(begun)
			}
		}
	}()
	<-begun
	return func() {
		cancel()
		<-ended
	}
}

// What was moved to another backend after the backup is missing where the restored ledger looks,
// and an orphan where it lies: reconcile takes it as the copy.
func TestBytesMovedSinceTheBackupAreTaken(t *testing.T) {
	w := restoredAfterAMove(t)
	w.start()
	w.finds("missing", "check")
	w.ok("backend", "accept", "main")
	w.ok("backend", "accept", "other")
	w.clock.Advance(2 * time.Minute)
	if _, out, _ := w.lethe("reconcile"); strings.Contains(out, "taken") {
		t.Errorf("a delete may yet land, and the walk found %s", out)
	}
	w.clock.Advance(time.Hour)
	if _, out, _ := w.lethe("reconcile"); !strings.Contains(out, "taken 1") || strings.Contains(out, "condemned") {
		t.Errorf("the walk found %s", out)
	}
	w.there("first", "a")
	w.ok("reclaim", "--once", "--only", "replicate")
	w.ok("reconcile")
	w.clock.Advance(49 * time.Hour)
	w.ok("reconcile")
	w.there("first", "a")
}

// restoredAfterAMove returns a world without a server whose ledger is from before an object moved
// from main to other.
func restoredAfterAMove(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, "store.inline=none", "backends=[{name: main, kind: dir, path: blobs}, {name: other, kind: dir, path: others}]").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	file := filepath.Join(t.TempDir(), "backup.db")
	w.ok("backup", file)
	w.ok("backend", "drain", "main")
	w.ok("reclaim", "--once", "--only", "drain")
	w.ok("reclaim", "--once", "--only", "replicate")
	w.clock.Advance(2 * time.Minute)
	w.ok("reclaim", "--once", "--only", "clean")
	w.there("first", "a")
	w.stop()
	w.ok("restore", "--replace", file)
	return w
}

// They stay also if the backend that they were moved from has left the configuration: nobody can
// say that its blobs are lost.
func TestBytesMovedFromABackendThatWasRemovedStay(t *testing.T) {
	w := restoredAfterAMove(t)
	w.settings = append(w.settings, "backends=[{name: other, kind: dir, path: others}]")
	w.start()
	w.ok("backend", "accept", "other")
	w.finds("orphan", "reconcile")
	w.clock.Advance(49 * time.Hour)
	if _, out, _ := w.lethe("reconcile"); !strings.Contains(out, "held_back 1") || strings.Contains(out, "condemned") {
		t.Errorf("the walk found %s", out)
	}
}

// A copy that replaces a ledger keeps the previous one.
func TestRestoreInPlace(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	file := filepath.Join(t.TempDir(), "backup.db")
	w.stop()
	w.ok("backup", file) // also without a server
	if out := w.ok("restore", "--replace", file); !strings.Contains(out, ".replaced-") {
		t.Error(out)
	}
	w.start()
	w.there("first", "a")
	w.ok("check", "--checksums")
	w.ok("backend", "accept", "main")
	w.stop()
	w.fails("not a valid backup", "restore", "--replace", filepath.Join(w.dir, "credentials"))
}

// A ledger that a crash left has its last commits in the log beside it, also where restore kept
// it under another name: putting it back takes them along.
func TestRestoreTakesTheLogAlong(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "earlier", "bytes", "")
	w.stop()
	w.start()
	w.put("first", "last", "bytes of the last commit", "")
	crashed := filepath.Join(t.TempDir(), "ledger.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(filepath.Join(w.dir, "ledger.db"+suffix))
		if err == nil {
			err = os.WriteFile(crashed+suffix, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.stop()
	w.ok("restore", "--replace", crashed)
	w.start()
	w.there("first", "earlier")
	w.there("first", "last")
	mode(t, filepath.Join(w.dir, "ledger.db"), 0o600)
}

// The remains of a backup after a crash are deleted at the next start.
func TestRemainsOfABackupGo(t *testing.T) {
	w := newWorld(t).start()
	w.stop()
	left := filepath.Join(w.dir, ".backup-00000.partial")
	if err := os.WriteFile(left, []byte("half of it"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}
