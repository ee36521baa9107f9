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
