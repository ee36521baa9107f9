package lethe_test

import (
	"crypto/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

func TestIDsSortByMicrosecond(t *testing.T) {
	var last lethe.ID
	for now := lethe.Time(1_800_000_000_000_900); now < 1_800_000_000_002_100; now++ {
		id := lethe.NewID(now, rand.Reader)
		if id <= last {
			t.Fatalf("%s, made at %d, sorts before %s", id, now, last)
		}
		if made := id.Made(); made != now/1000*1000 {
			t.Fatalf("made at %d, not %d", made, now)
		}
		last = id
	}
}

// FuzzParseBlobKey: a listed name is a blob's if it is exactly BlobKey of this store and the
// blob, and no other store's or blob's.
func FuzzParseBlobKey(f *testing.F) {
	store := lethe.NewID(1, strings.NewReader("0123456789"))
	id := lethe.NewID(1_800_000_000_000_000, strings.NewReader("abcdefghij"))
	key := lethe.BlobKey(store, id)
	for _, seed := range []string{
		"", "/", string(store), string(store) + "/", key, key + "/", "/" + key, key[1:], key + "a", strings.ToUpper(key), strings.Replace(key, "/", "//", 1),
		string(store) + "/epoch/0000000001", key[:27] + "zz" + key[29:], key[:len(key)-1] + "w", key[:len(key)-1] + "\x00", key[:len(key)-1] + "é", lethe.BlobKey(id, store),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		blob, ok := lethe.ParseBlobKey(store, key)
		if !ok {
			if rest, ours := strings.CutPrefix(key, string(store)+"/"); ours && blob == "" {
				if id, err := lethe.ParseID(rest[max(0, len(rest)-26):]); err == nil && lethe.BlobKey(store, id) == key {
					t.Fatalf("%q is the name of %s, and was taken for none", key, id)
				}
			}
			return
		}
		if lethe.BlobKey(store, blob) != key {
			t.Fatalf("%q is taken for blob %s, whose name is %q", key, blob, lethe.BlobKey(store, blob))
		}
		if again, err := lethe.ParseID(string(blob)); err != nil || again != blob {
			t.Fatalf("%q names %q, which is no id: %v", key, blob, err)
		}
		if _, foreign := lethe.ParseBlobKey(id, key); foreign {
			t.Fatalf("%q is a blob's of two stores", key)
		}
		if strings.Trim(key, "0123456789abcdefghijklmnopqrstuvwxyz/") != "" {
			t.Fatalf("%q may be read in two ways", key)
		}
	})
}

// FuzzParseID: an id parses only in its exact form and has its time; the error for anything
// else quotes it.
func FuzzParseID(f *testing.F) {
	made := string(lethe.NewID(1_800_000_000_000_000, strings.NewReader("abcdefghij")))
	for _, seed := range []string{"", made, made[1:], made + "0", strings.ToUpper(made), made[:25] + "w", made[:25] + "\x00", made[:24] + "é", strings.Repeat("v", 26)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := lethe.ParseID(text)
		if err != nil {
			if id != "" || !strings.Contains(err.Error(), strconv.Quote(text)) {
				t.Fatalf("%q: %q, %v", text, id, err)
			}
			return
		}
		if string(id) != text || len(text) != 26 || strings.Trim(text, "0123456789abcdefghijklmnopqrstuv") != "" {
			t.Fatalf("%q became %q", text, id)
		}
		if at := id.Made(); at < 0 || at%1000 != 0 || at >= 1<<48*1000 {
			t.Fatalf("%q was made at %d", text, at)
		}
	})
}
