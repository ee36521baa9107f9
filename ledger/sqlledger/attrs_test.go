package sqlledger

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// TestCachedAttrs: attributes are the same from the cache, where others take their place, and
// what one caller does with its maps no other sees.
func TestCachedAttrs(t *testing.T) {
	var c attrsCache
	for range 3 {
		for i := range 3 * len(c) {
			text := `{"ct":"text/` + string(rune('a'+i)) + `"}`
			a, err := c.decode(text)
			if want := (ledger.Attrs{ContentType: "text/" + string(rune('a'+i))}); err != nil || !reflect.DeepEqual(a, want) {
				t.Fatalf("%s: %+v %v", text, a, err)
			}
		}
		a, err := c.decode(`{"u":{"k":"v"}}`)
		if err != nil || a.User["k"] != "v" {
			t.Fatalf("%+v %v", a, err)
		}
		a.User["k"] = "changed"
	}
	if _, err := c.decode(`{"ct":`); err == nil {
		t.Error("damaged attributes were decoded")
	}
}

// TestChecksumsBesideCachedAttrs: checksums, which are decoded by themselves, are what the
// whole text says, also where it is not of the plain form.
func TestChecksumsBesideCachedAttrs(t *testing.T) {
	var c attrsCache
	for range 2 {
		for _, text := range []string{
			`{"ct":"text/a","ck":{"CRC64NVME":"+a/B0="},"ckt":"FULL_OBJECT"}`,
			`{"ct":"text/a","ck":{"CRC64NVME":"other"},"ckt":"FULL_OBJECT"}`,
			`{"ct":"text/a","ck":{"CRC32":"a==","SHA1":"b="},"ckt":"COMPOSITE"}`,
			`{"ck":{"CRC32":""}}`, `{"ck":{"":"a"}}`, `{"ck":{}}`, `{"ck":null}`, `{"ct":"ck"}`,
			`{"ct":"text/{a}","ck":{"CRC32":"a=="}}`, `{"ct":"[","ck":{"CRC32":"a=="}}`, `{"ct":"}","ck":{"CRC32":"a=="}}`,
			`{"ct":"\"ck\":{","ck":{"CRC32":"a=="}}`, `{"ck":{"CRC32":"a,b"}}`, `{"ck":{"CRC32":"a}b"}}`, `{"ck":{"CRC32":"a\"b"}}`,
			`{"ck":{"CRC32":"\u003c"}}`, `{"ck":{"a:b":"c:d"}}`, `{"ck": {"CRC32" : "a=="} }`, `{"ck":{"CRC32":"a=="},"u":{"ck":"v"}}`,
			`{"u":{"ck":"v"},"ck":{"CRC32":"a=="}}`, `{"p":[{"n":1,"ck":{"CRC32":"a=="}}],"ck":{"CRC32":"b=="}}`,
			`{"ck":{"CRC32":"a=="`, `{"ck":{"CRC32":"a=="}`, `{"ck":{"CRC32":1}}`, `{"ck":{"CRC32"}}`, `{"ck":{"A":"b",}}`, `{"ck":{":"":"}}`, `{"ck":{"":""}}`, `{"ck":{"A":"b"}}}`,
		} {
			var want ledger.Attrs
			wrong := json.Unmarshal([]byte(text), &want)
			if got, err := c.decode(text); (err == nil) != (wrong == nil) || err == nil && !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v %v, want %+v %v", text, got, err, want, wrong)
			}
		}
	}
}
