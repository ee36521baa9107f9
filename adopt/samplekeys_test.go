package adopt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// reached are the folders of sampled keys, and how many keys each has.
func reached(t *testing.T, keys []string) map[string]int {
	t.Helper()
	of := map[string]int{}
	for _, key := range keys {
		of[key[:max(0, strings.LastIndexByte(key, '/'))]]++
	}
	if sorted := slices.Sorted(slices.Values(keys)); len(slices.Compact(sorted)) != len(keys) || len(keys) > 8000 {
		t.Errorf("%d keys, or some twice", len(keys))
	}
	return of
}

// Keys are not taken from the beginning of a bucket alone: not of one folder, and not
// from the beginning of that.
func TestKeysAreSampledAllOver(t *testing.T) {
	store := memblob.New(memblob.Options{})
	for i := range 3000 {
		store.Set(fmt.Sprintf("backups/%04d", i), nil)
		store.Set(fmt.Sprintf("content/%03x", i), nil)
	}
	store.Set("thumbs/a", nil)
	keys, err := adopt.SampleKeys(t.Context(), store)
	if of := reached(t, keys); err != nil || of["backups"] < 1000 || of["content"] < 400 || of["thumbs"] != 1 || !slices.Contains(keys, "content/801") {
		t.Errorf("sampled are %v: %v", of, err)
	}
	small := memblob.New(memblob.Options{})
	small.Set("a", nil)
	if keys, err := adopt.SampleKeys(t.Context(), small); err != nil || !slices.Equal(keys, []string{"a"}) {
		t.Errorf("of one key sampled are %v: %v", keys, err)
	}
	disk := fstest.MapFS{}
	for i := range 3000 {
		disk[fmt.Sprintf("a%04d", i)] = &fstest.MapFile{}
		disk[fmt.Sprintf("backups/%04d", i)] = &fstest.MapFile{}
		disk[fmt.Sprintf("deep/%d/%04d", i%100, i)] = &fstest.MapFile{}
	}
	disk["thumbs/a"] = &fstest.MapFile{}
	keys, err = adopt.SampleFiles(disk)
	if of := reached(t, keys); err != nil || of[""] != 200 || of["backups"] != 200 || of["deep/0"] != 30 || of["deep/99"] != 0 || of["thumbs"] != 1 {
		t.Errorf("sampled of a disk are %v: %v", of, err)
	}
}
