package fsblob_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob/fsblob"
)

// batchSize is what the cleaner deletes in one call.
const batchSize = 1000

// benchKeys returns names as the store makes them, spread over 1,024 folders.
func benchKeys(random *rand.ChaCha8) []string {
	store := lethe.NewID(1, random)
	keys := make([]string, batchSize)
	for i := range keys {
		keys[i] = lethe.BlobKey(store, lethe.NewID(lethe.Time(i), random))
	}
	return keys
}

// fill puts the files, and has them on the disk before the clock runs.
func fill(b *testing.B, root string, keys []string) {
	b.Helper()
	data := make([]byte, 1024)
	for _, key := range keys {
		path := filepath.Join(root, key)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	unix.Sync()
}

// BenchmarkDelete1000 deletes 1,000 files of 1 KiB, beside a bare loop of unlink
// that flushes nothing.
func BenchmarkDelete1000(b *testing.B) {
	run := func(name string, opt *fsblob.Options) {
		b.Run(name, func(b *testing.B) {
			root := b.TempDir()
			random := rand.NewChaCha8([32]byte{})
			keys := benchKeys(random)
			var s *fsblob.Store
			if opt != nil {
				opt := *opt
				opt.Root = root
				var err error
				if s, err = fsblob.Open(opt); err != nil {
					b.Fatal(err)
				}
				defer s.Close()
			}
			for b.Loop() {
				b.StopTimer()
				fill(b, root, keys)
				b.StartTimer()
				deleteBatch(b, s, root, keys)
			}
			b.ReportMetric(float64(batchSize*b.N)/b.Elapsed().Seconds(), "keys/s")
		})
	}
	run("bare unlink", nil)
	run("default", &fsblob.Options{})
	run("default/1 worker", &fsblob.Options{Workers: 1})
	run("flush per folder", &fsblob.Options{SyncAllFrom: -1})
	run("no flush", &fsblob.Options{NoSync: true})
}

func deleteBatch(b *testing.B, s *fsblob.Store, root string, keys []string) {
	if s == nil {
		for _, key := range keys {
			if err := os.Remove(filepath.Join(root, key)); err != nil {
				b.Fatal(err)
			}
		}
		return
	}
	results, err := s.Delete(b.Context(), keys)
	if err != nil {
		b.Fatal(err)
	}
	for _, r := range results {
		if r.Err != nil {
			b.Fatal(r.Key, r.Err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	for _, noSync := range []bool{false, true} {
		for _, size := range []int{4 << 10, 8 << 20} {
			b.Run(fmt.Sprintf("%dKiB/noSync=%v", size>>10, noSync), func(b *testing.B) {
				s, err := fsblob.Open(fsblob.Options{Root: b.TempDir(), NoSync: noSync})
				if err != nil {
					b.Fatal(err)
				}
				defer s.Close()
				data := strings.Repeat("x", size)
				b.SetBytes(int64(size))
				for i := 0; b.Loop(); i++ {
					key := fmt.Sprintf("s/%02d/%d", i%64, i)
					if err := s.Put(b.Context(), key, strings.NewReader(data), int64(size)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkGet4KiB(b *testing.B) {
	s, err := fsblob.Open(fsblob.Options{Root: b.TempDir(), NoSync: true})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	if err := s.Put(b.Context(), "store/aa/blob", strings.NewReader(strings.Repeat("x", 4096)), 4096); err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 4096)
	b.ReportAllocs()
	for b.Loop() {
		body, err := s.Get(b.Context(), "store/aa/blob", 0, 4096)
		if err == nil {
			_, err = io.ReadFull(body, data)
		}
		if err != nil || body.Close() != nil {
			b.Fatal(err)
		}
	}
}
