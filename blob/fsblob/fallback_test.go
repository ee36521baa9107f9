package fsblob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The fallbacks for systems that cannot rename without replacing, or cannot flush a
// whole file system, work here as well.
func TestFallbacks(t *testing.T) {
	root := t.TempDir()
	for name, data := range map[string]string{"a": "first", "b": "second"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(data), filePerm); err != nil {
			t.Fatal(err)
		}
	}
	f, err := openOS(Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Mkdir("s"), f.Mkdir("s/aa")); err != nil {
		t.Fatal(err)
	}
	from, err := f.OpenDir("")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := f.OpenDir("s/aa")
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	move := func(old string) error {
		return linkAndUnlink(from.(*osDir).fd, old, to.(*osDir).fd, "x")
	}
	if err := move("a"); err != nil {
		t.Fatal(err)
	}
	if err := move("b"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a move over a name: %v; want fs.ErrExist", err)
	}
	if data, err := os.ReadFile(filepath.Join(root, "s", "aa", "x")); err != nil || string(data) != "first" {
		t.Errorf("moved: %q, %v", data, err)
	}
	if _, err := from.Stat("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the old name: %v", err)
	}
	if err := f.syncTree(""); err != nil {
		t.Errorf("flush of every folder: %v", err)
	}
}
