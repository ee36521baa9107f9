package fsblob_test

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

// A real disk of one megabyte: full is ErrFull and leaves nothing behind,
// deleting works and makes room, and once it is read-only it is ErrDown and ErrUnfit.
func TestFullAndReadOnlyDisk(t *testing.T) {
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(root, unix.MNT_DETACH)) })
	s, err := fsblob.Open(fsblob.Options{Root: root})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	put(t, s, "s/aa/1", string(make([]byte, 600<<10)))
	before, err := s.Free(t.Context())
	must(t, err)
	err = s.Put(t.Context(), "s/aa/2", zeros{}, 600<<10)
	if !errors.Is(err, blob.ErrFull) || blob.Unknown(err) {
		t.Errorf("put on a full disk: %v; want ErrFull, certain", err)
	}
	if after, err := s.Free(t.Context()); err != nil || after != before {
		t.Errorf("free %d before, %d after, %v", before, after, err)
	}
	_, err = s.Delete(t.Context(), []string{"s/aa/1"})
	must(t, err)
	put(t, s, "s/aa/2", string(make([]byte, 600<<10)))

	must(t, unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	if err := s.Put(t.Context(), "s/aa/3", zeros{}, 1); !errors.Is(err, blob.ErrDown) || !errors.Is(err, blob.ErrUnfit) || blob.Unknown(err) {
		t.Errorf("put on a read-only disk: %v; want ErrDown and ErrUnfit, certain", err)
	}
	results, err := s.Delete(t.Context(), []string{"s/aa/2"})
	if !errors.Is(err, blob.ErrDown) || blob.Unknown(results[0].Err) {
		t.Errorf("delete on a read-only disk: %v, %v; want ErrDown, certain", results, err)
	}
	if _, err := readAll(s, "s/aa/2"); err != nil {
		t.Errorf("get from a read-only disk: %v", err)
	}
	if _, err := os.Stat(root + "/s/aa/2"); err != nil {
		t.Error(err)
	}
}

// zeros is an endless body: the disk gives up before it does.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
