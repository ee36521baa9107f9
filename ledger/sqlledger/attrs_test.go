package sqlledger

import (
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
