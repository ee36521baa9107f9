package receipt

import (
	"encoding/json"
	"reflect"
	"testing"
	"testing/quick"

	"github.com/lethe-storage/lethe"
)

// Lines are what encoding/json writes, whatever is in the receipt.
func TestLines(t *testing.T) {
	texts := []string{"", "plain", "a/b c.bin", "\"q\" \\ <&>", "\x00\x1f\x7f", "ü \u2028 \xff"}
	same := func(r Receipt, pick uint64, adopted bool) bool {
		if fill(reflect.ValueOf(&r).Elem(), texts, &pick); !adopted {
			r.Collection = ""
		}
		got, err := r.line()
		want, failed := json.Marshal(r)
		if err != nil || failed != nil || string(got) != string(want)+"\n" {
			t.Errorf("%v, %v: %s\nwant %s", err, failed, got, want)
			return false
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 5000}); err != nil {
		t.Error(err)
	}
}

// fill sets all texts of a struct, and of those in it.
func fill(v reflect.Value, texts []string, pick *uint64) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			*pick = *pick*6364136223846793005 + 1442695040888963407
			f.SetString(texts[(*pick>>32)%uint64(len(texts))])
		case reflect.Struct:
			fill(f, texts, pick)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	id := lethe.ID("01hzy3k8m2p4q6r8t0v2x4z6b8")
	list := make([]Receipt, 2000)
	for i := range list {
		list[i] = Receipt{
			Kind: Object, At: 1, Reason: lethe.ReasonExpiry, Size: 4096, Content: id, Bucket: "bench", BucketID: id,
			Key: "2026/07/000000001.bin", Version: id, ETag: "0123456789abcdef0123456789abcdef", Due: Instant(i + 1), By: lethe.Caller{Run: id},
		}
	}
	for b.Loop() {
		if _, err := Encode(list); err != nil {
			b.Fatal(err)
		}
	}
}
