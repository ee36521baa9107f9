package fsblob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/fsblob"
	"github.com/lethe-storage/lethe/blob/fsblob/strictfs"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// modelKeys are few, so that operations meet; none is the folder of another.
var modelKeys = []string{
	"a0", "a/0", "a/00", "a/b/c", "a/b/cc", "a/b0", "aa/0", "b", "b0/0/0", "s/10/x", "s/1/x", "s/1/y", "z", "BAD", "a//b",
}

// A directory behaves as the store in memory does, under any operations on both.
func TestSameAsMemory(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		root, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		dir, err := fsblob.Open(fsblob.Options{Root: root, NoSync: true, SyncAllFrom: 2})
		if err != nil {
			rt.Fatal(err)
		}
		defer dir.Close()
		mem := memblob.New(memblob.Options{})
		step := func(do func(blob.Store) string) {
			if got, want := do(dir), do(mem); got != want {
				rt.Fatalf("directory: %s\nmemory:    %s", got, want)
			}
		}
		key := rapid.SampledFrom(modelKeys)
		bound := rapid.OneOf(key, rapid.StringMatching(`[ab/01s]{0,4}`))
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) {
				key, n := key.Draw(rt, "key"), rapid.IntRange(0, 3000).Draw(rt, "length")
				size := rapid.SampledFrom([]int{n, n, n, -1, n + 1, max(n-1, 0)}).Draw(rt, "size")
				step(func(s blob.Store) string { return tellPut(s, key, n, int64(size)) })
			},
			"get": func(rt *rapid.T) {
				key, offset := key.Draw(rt, "key"), rapid.Int64Range(0, 3500).Draw(rt, "offset")
				length := rapid.Int64Range(-1, 3500).Draw(rt, "length")
				step(func(s blob.Store) string { return tellGet(s, key, offset, length) })
			},
			"delete": func(rt *rapid.T) {
				keys := rapid.SliceOfN(key, 0, 6).Draw(rt, "keys")
				step(func(s blob.Store) string { return tellDelete(s, keys) })
			},
			"list": func(rt *rapid.T) {
				prefix, after := bound.Draw(rt, "prefix"), bound.Draw(rt, "after")
				most := rapid.IntRange(1, 20).Draw(rt, "most")
				step(func(s blob.Store) string { return tellList(s, prefix, after, most) })
			},
			"": func(*rapid.T) { step(func(s blob.Store) string { return tellList(s, "", "", 100) }) },
		})
	})
}

func tellPut(s blob.Store, key string, n int, size int64) string {
	data := strings.Repeat(key+".", n)[:n]
	return blobtest.Name(s.Put(context.Background(), key, strings.NewReader(data), size))
}

func tellGet(s blob.Store, key string, offset, length int64) string {
	info, serr := s.Stat(context.Background(), key)
	rc, err := s.Get(context.Background(), key, offset, length)
	if err != nil {
		return fmt.Sprint(blobtest.Name(err), blobtest.Name(serr), info.Size)
	}
	data, err := io.ReadAll(rc)
	return fmt.Sprint(string(data), errors.Join(err, rc.Close()), blobtest.Name(serr), info.Size)
}

func tellDelete(s blob.Store, keys []string) string {
	results, err := s.Delete(context.Background(), keys)
	text := blobtest.Name(err)
	for _, r := range results {
		text += " " + r.Key + ":" + blobtest.Name(r.Err)
	}
	return text
}

func tellList(s blob.Store, prefix, after string, most int) string {
	text := ""
	enough := errors.New("enough")
	err := s.List(context.Background(), prefix, after, func(info blob.Info) error {
		text += fmt.Sprintf("%s:%d ", info.Key, info.Size)
		if most--; most == 0 {
			return enough
		}
		return nil
	})
	return text + blobtest.Name(err)
}

// For any key, a put makes either this one name, or nothing at all.
func FuzzKeyToPath(f *testing.F) {
	for _, key := range append(modelKeys, "", "..", "a/../b", "a/..", "/etc/passwd", ".tmp/x", "a\x00b", "a/", "ä", "\xff") {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		s, err := fsblob.OpenFS(strictfs.New(nil), fsblob.Options{})
		must(t, err)
		err = s.Put(t.Context(), key, strings.NewReader("x"), 1)
		var want []string
		if blob.CheckKey(key) == nil {
			want = []string{key}
		}
		if (err == nil) != (len(want) == 1) {
			t.Fatalf("put %q: %v", key, err)
		}
		if got := keys(t, s); !slices.Equal(got, want) {
			t.Fatalf("put %q made %q", key, got)
		}
	})
}
