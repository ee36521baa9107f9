package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/admin/api"
	"github.com/lethe-storage/lethe/reclaim/plan"
)

// plantFile puts a file into the backend's folder, bypassing the store.
func (w *world) plantFile(key string) {
	w.t.Helper()
	path := filepath.Join(w.dir, "blobs", filepath.FromSlash(key))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("planted"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// TestReconcile walks over the running store: an orphan goes after two walks
// and its grace, foreign files stay, and the lost object is named.
func TestReconcile(t *testing.T) {
	w := newWorld(t).start()
	w.bucket("first")
	w.put("first", "kept", "kept", "")
	if text := w.ok("reconcile"); !strings.Contains(text, "everything is accounted for") {
		t.Fatal(text)
	}
	store := lethe.ID(asked[api.Status](w, "status").Store)
	orphan := lethe.BlobKey(store, lethe.RandomID(w.clock.Now()))
	w.plantFile(orphan)
	w.plantFile("Photos/Cat.JPG")
	for _, command := range [][]string{{"reconcile", "--dry-run"}, {"reconcile", "--backend", "main"}} {
		code, out, errs := w.lethe(command...)
		if code != exitProblems || !strings.Contains(out, "orphan: main") || !strings.Contains(out, "foreign: main") {
			t.Fatalf("%v: %d %s %s", command, code, out, errs)
		}
	}
	w.fails(`no such backend: "tape"`, "reconcile", "--backend", "tape")
	if text := w.ok("status"); !strings.Contains(text, "lethe reconcile --last --backend main") {
		t.Errorf("status says\n%s", text)
	}
	w.clock.Advance(49 * time.Hour)
	path, end := w.planned("reconcile")
	if end.Totals.Items != 1 || end.Totals.Groups[0].Frees != 7 || end.Estimates[0].Calls != 1 {
		t.Errorf("planned %+v", end.Totals)
	}
	w.fails(`no such backend: "tape"`, "reconcile", "--backend", "tape", "--plan", path+"2")
	if res := w.applied(path); res.Done.Items != 1 || res.Runs["reconcile"]["condemned"] != 1 {
		t.Errorf("applied %+v", res)
	}
	if res := w.applied(path); res.Outcomes[plan.Gone] != 1 {
		t.Errorf("applied again: %+v", res)
	}
	last := asked[api.LastReconcileResult](w, "reconcile", "--last")
	if len(last.Walks) != 1 || !last.Walks[0].Compared || last.Walks[0].Outcome != "ok" || len(last.Findings) != 1 || last.Findings[0].Key != "Photos/Cat.JPG" {
		t.Errorf("the last walk is %+v", last)
	}
	w.ok("reclaim", "--once", "--only", "clean")
	if _, err := os.Stat(filepath.Join(w.dir, "blobs", filepath.FromSlash(orphan))); !os.IsNotExist(err) {
		t.Errorf("the orphan is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(w.dir, "blobs", "Photos", "Cat.JPG")); err != nil {
		t.Error(err)
	}
}

// What lies on a backend that the configuration lacks was not compared: neither a check nor a
// walk says that all is well, as after a restore with half of the backends.
func TestBackendsThatAreNotConfigured(t *testing.T) {
	w := newWorld(t, "store.inline=none", "backends=[{name: main, kind: dir, path: blobs}]").start()
	w.bucket("first")
	w.put("first", "a", "bytes", "")
	w.stop()
	w.settings = append(w.settings, "backends=[{name: other, kind: dir, path: others}]")
	w.start()
	w.finds("unreadable", "check")
	w.finds("unreadable", "check", "--checksums")
	w.finds("unreadable", "reconcile")
	w.ok("reconcile", "--backend", "other")
	w.stop()
	w.settings = append(w.settings, "backends=[{name: other, kind: dir, path: others}, {name: main, kind: dir, path: blobs}]")
	w.start()
	w.ok("check")
	w.ok("reconcile")
}
