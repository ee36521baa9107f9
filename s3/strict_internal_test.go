package s3

import (
	"bytes"
	"encoding/xml"
	"testing"
)

// sameMarkup checks that tags, comments and instructions end where the decoder
// ends them.
func sameMarkup(t *testing.T, body []byte) {
	t.Helper()
	begin := int64(0)
	for d := xml.NewDecoder(bytes.NewReader(body)); ; {
		token, err := d.Token()
		if err != nil {
			return
		}
		end := d.InputOffset()
		if _, text := token.(xml.CharData); !text && end > begin {
			if n := markupLength(body[begin:]); int64(n) != end-begin {
				t.Fatalf("%q: the markup at %d has %d bytes, not %d", body, begin, end-begin, n)
			}
		}
		begin = end
	}
}

// FuzzMarkup checks that the markup of an accepted deletion ends where the
// decoder ends it.
func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{
		"<Delete><Object><Key>k</Key></Object></Delete>", "<Delete><Object><Key>a<!--x-->c<![CDATA[<Key>]]></Key></Object></Delete>",
		"<Delete a='\">' b=\">'>\"><?x '>?><!-- '> --><Object ><Key>k</Key></Object ><Quiet b='/>'/></Delete>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, ok := CheckDelete(body); ok {
			sameMarkup(t, body)
		}
	})
}
