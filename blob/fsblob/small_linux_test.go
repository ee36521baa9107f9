package fsblob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// plain is a file system without its fast paths.
type plain struct{ FS }

func openAt(t *testing.T, root string) *Store {
	t.Helper()
	s, err := Open(Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// answer is the whole result of a Get.
func answer(t *testing.T, s *Store, key string, offset, length int64) string {
	t.Helper()
	body, err := s.Get(t.Context(), key, offset, length)
	if err != nil {
		return err.Error()
	}
	data, err := io.ReadAll(body)
	return fmt.Sprintf("%d bytes %.8x, %v", len(data), data, errors.Join(err, body.Close()))
}

// For every kind of file and every range, reading at once returns what reading
// folder by folder does.
func TestSmallReadsAnswerAsOthersDo(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	in := func(name string) string { return filepath.Join(root, "s", name) }
	err := errors.Join(
		os.MkdirAll(in("aa"), 0o700),
		os.WriteFile(in("aa/file"), bytes.Repeat([]byte("ab"), 40000), 0o600),
		os.WriteFile(in("aa/empty"), nil, 0o600),
		os.WriteFile(filepath.Join(outside, "file"), []byte("secret"), 0o600),
		os.Symlink("file", in("aa/link")),
		os.Symlink(filepath.Join(outside, "file"), in("aa/out")),
		os.Symlink("aa", in("inside")),
		os.Symlink(outside, in("outside")),
		os.Symlink("../../"+filepath.Base(outside), in("above")),
		os.Symlink(in("aa"), in("whole")),
		os.Symlink("loop", in("loop")),
		syscall.Mkfifo(in("aa/pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	s, slow := openAt(t, root), openAt(t, root)
	slow.fs = plain{slow.fs}
	for _, key := range []string{
		"aa/file", "aa/empty", "aa/link", "aa/out", "aa/pipe", "aa", "aa/file/x", "aa/none", "none/file",
		"inside/file", "outside/file", "above/file", "whole/file", "loop/file",
	} {
		for _, w := range [][2]int64{{0, 0}, {0, 1}, {0, smallRead}, {1, smallRead}, {79999, 10}, {80000, 10}, {80001, 10}, {0, smallRead + 1}, {0, -1}} {
			got, want := answer(t, s, "s/"+key, w[0], w[1]), answer(t, slow, "s/"+key, w[0], w[1])
			if got != want {
				t.Errorf("%s, %d bytes from %d: %s, folder by folder %s", key, w[1], w[0], got, want)
			}
		}
	}
}
