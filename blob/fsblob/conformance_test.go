package fsblob_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
)

// openDir opens a store in a folder of the test, to which it returns the path.
func openDir(t *testing.T, opt fsblob.Options) (*fsblob.Store, string) {
	t.Helper()
	opt.Root = t.TempDir()
	s, err := fsblob.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, opt.Root
}

func TestConformance(t *testing.T) {
	for name, opt := range map[string]fsblob.Options{
		"default":          {},
		"flush per folder": {SyncAllFrom: -1, Workers: 1},
		"one flush":        {SyncAllFrom: 1, NoSync: true},
	} {
		t.Run(name, func(t *testing.T) {
			blobtest.Run(t, func(t *testing.T) blob.Store {
				s, _ := openDir(t, opt)
				return s
			})
		})
	}
}

func TestConformanceOnStrictFS(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store {
		s, err := fsblob.OpenFS(strictfs.New(nil), fsblob.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

// Why a folder cannot be opened is what a person reads at the start.
func TestAFolderThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := fsblob.Open(fsblob.Options{Root: filepath.Join(file, "blobs")})
	if err == nil || !strings.HasPrefix(err.Error(), "open "+file) {
		t.Errorf("the error is %v", err)
	}
}
