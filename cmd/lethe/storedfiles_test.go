package main

import (
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func newLevel() *slog.LevelVar { return new(slog.LevelVar) }

// files returns the blobs in a folder of bytes, without the epoch.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.Contains(path, "/epoch/") {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// blobs returns the files of the world's backend.
func (w *world) blobs() []string {
	w.t.Helper()
	return files(w.t, filepath.Join(w.dir, "blobs"))
}

// held fails unless the disk has this many blobs.
func (w *world) held(n int) {
	w.t.Helper()
	if list := w.blobs(); len(list) != n {
		w.t.Fatalf("%d blobs lie on the disk, want %d: %v", len(list), n, list)
	}
}

func mode(t *testing.T, path string, want fs.FileMode) {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != want {
		t.Errorf("%s has mode %o, want %o", path, info.Mode().Perm(), want)
	}
}

// get fetches a URL.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
