package adopt_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob/memblob"
)

// reached returns the folders of sampled keys, with the number of keys in each.
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

// Keys are sampled not only from the beginning of a bucket, but from several
// folders, and from several points in each.
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

// In a large bucket the keys that rows name are looked up one by one: few of
// them are among the sampled ones.
func TestNamedKeysAreLookedFor(t *testing.T) {
	store, disk := memblob.New(memblob.Options{}), fstest.MapFS{}
	for i := range 20000 {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		key := fmt.Sprintf("content/%x", sum[:16])
		store.Set(key+".txt", nil)
		if i < 5000 {
			disk[key] = &fstest.MapFile{}
		}
	}
	var hashes, others []string
	for i := range adopt.SampledRows {
		sum := sha256.Sum256([]byte(fmt.Sprint(i)))
		hashes, others = append(hashes, fmt.Sprintf("%x", sum[:16])), append(others, fmt.Sprintf("%016d", i))
	}
	tables := []adopt.TableInfo{
		{Name: "pastes", Key: []string{"code"}, Refers: map[string]string{"hash": "content"}, Columns: []adopt.ColumnInfo{
			{Name: "code", Kind: "text", Values: others}, {Name: "hash", Kind: "text"}, {Name: "expires_at", Kind: "timestamp with time zone"}}},
		{Name: "content", Key: []string{"hash"}, Columns: []adopt.ColumnInfo{{Name: "hash", Kind: "text", Values: hashes}}},
	}
	lookups := 0
	counted := func(ctx context.Context, prefix string) (string, error) {
		lookups++
		return adopt.FirstOf(store)(ctx, prefix)
	}
	keys, err := adopt.SampleKeys(t.Context(), store)
	if err == nil {
		keys, err = adopt.SampleNamed(t.Context(), counted, keys, tables)
	}
	if err != nil || lookups > 100 {
		t.Fatalf("%d lookups, %v", lookups, err)
	}
	reached(t, keys)
	s := adopt.ProposeOptions{Objects: keys, ClaimColumns: func(adopt.TableInfo, string) []string { return nil }}
	if text := adopt.Propose(tables, s); !strings.Contains(text, `"content/{hash}.txt" # 50 of 50 sampled values name keys`) {
		t.Errorf("proposed:\n%s", text)
	}
	keys, err = adopt.SampleFiles(disk)
	if err != nil {
		t.Fatal(err)
	}
	if keys, err = adopt.SampleNamed(t.Context(), adopt.FileOf(disk), keys, tables); err != nil || !slices.Contains(keys, "content/"+hashes[7]) {
		t.Errorf("of a disk sampled are %d keys, without that of a row: %v", len(keys), err)
	}
}
