package adopt

import (
	"testing"

	"github.com/lethe-storage/lethe/blob"
)

// Whatever a backend tells of both has to be equal.
func TestSameBytes(t *testing.T) {
	of := func(size int64, md5 string, sums map[string]string) blob.ForeignInfo {
		return blob.ForeignInfo{Info: blob.Info{Size: size}, MD5: md5, Sums: sums}
	}
	object := of(5, "a", map[string]string{"SHA256": "x", "CRC32": "y"})
	for _, c := range []struct {
		copied blob.ForeignInfo
		want   bool
	}{
		{of(5, "", nil), true}, {of(6, "", nil), false}, {of(5, "b", nil), false},
		{of(5, "", map[string]string{"SHA256": "x"}), true}, {of(5, "a", map[string]string{"CRC32": "z"}), false},
		{of(5, "", map[string]string{"CRC64NVME": "z"}), true},
	} {
		if got := sameBytes(object, c.copied); got != c.want {
			t.Errorf("%+v: %v", c.copied, got)
		}
	}
}

// What an object has its copy must have; a copy may have more.
func TestLacks(t *testing.T) {
	of := func(class, colour string) blob.ForeignInfo {
		return blob.ForeignInfo{Headers: map[string]string{"X-Amz-Storage-Class": class}, User: map[string]string{"colour": colour}}
	}
	object := of("GLACIER_IR", "red")
	for _, c := range []struct {
		copied, object blob.ForeignInfo
		want           bool
	}{
		{object, object, true}, {of("", "red"), object, false}, {of("GLACIER_IR", "blue"), object, false},
		{blob.ForeignInfo{}, object, false}, {object, blob.ForeignInfo{}, true},
	} {
		if err := lacks(c.copied, c.object); (err == nil) != c.want {
			t.Errorf("%+v as a copy of %+v: %v", c.copied, c.object, err)
		}
	}
}
