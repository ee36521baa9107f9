package adopt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
)

// Everything that a backend returns about both has to be equal; only some of it
// proves equal bytes.
func TestLikeness(t *testing.T) {
	of := func(size int64, md5, alike string, sums map[string]string) blob.ForeignInfo {
		return blob.ForeignInfo{Info: blob.Info{Size: size}, MD5: md5, Alike: alike, Sums: sums}
	}
	object := of(5, "a", "a-2", map[string]string{"SHA256": "x", "CRC32": "y"})
	for _, c := range []struct {
		copied blob.ForeignInfo
		want   likeness
	}{
		{of(5, "", "", nil), unproven}, {of(6, "", "", nil), different}, {of(5, "b", "", nil), different}, {of(5, "a", "", nil), identical},
		{of(5, "", "", map[string]string{"SHA256": "x"}), identical}, {of(5, "a", "", map[string]string{"CRC32": "z"}), different},
		{of(5, "", "", map[string]string{"CRC64NVME": "z"}), unproven},
		{of(5, "", "a-2", nil), identical}, {of(5, "", "b-3", nil), unproven}, {of(5, "b", "a-2", nil), different},
	} {
		if got := likenessOf(object, c.copied); got != c.want {
			t.Errorf("%+v: %v, want %v", c.copied, got, c.want)
		}
	}
	if got := likenessOf(blob.ForeignInfo{}, blob.ForeignInfo{}); got != identical {
		t.Errorf("without bytes: %v", got)
	}
}

// shelved is objects without checksums.
type shelved map[string]string

func (s shelved) StatForeign(_ context.Context, key string) (blob.ForeignInfo, error) {
	return blob.ForeignInfo{Info: blob.Info{Key: key, Size: int64(len(s[key]))}}, nil
}

func (s shelved) OpenForeign(_ context.Context, seen blob.ForeignInfo) (io.ReadCloser, error) {
	if s[seen.Key] == "gone" {
		return nil, blob.ErrChanged
	}
	return io.NopCloser(strings.NewReader(s[seen.Key][:min(len(s[seen.Key]), int(seen.Size))])), nil
}

type instant lethe.Time

func (i instant) Now() lethe.Time { return lethe.Time(i) }

// Without a proof both are read, to the last byte, but with a deadline.
func TestComparisonReads(t *testing.T) {
	long := string(bytes.Repeat([]byte("0123456789abcdef"), compared/8+1))
	other := long[:len(long)-1] + "x"
	for name, c := range map[string]struct {
		a, b   string
		size   int
		before lethe.Time
		want   error
	}{
		"equal":              {long, long, len(long), 11, nil},
		"the last byte":      {long, other, len(long), 11, errDiffers},
		"the first block":    {"x" + long[1:], long, len(long), 11, errDiffers},
		"one ends early":     {long, long[:10], len(long), 11, io.ErrUnexpectedEOF},
		"it was replaced":    {"gone", long, len(long), 11, blob.ErrChanged},
		"it takes too long":  {long, long, len(long), 10, errLongRead},
		"less than one read": {"abc", "abd", 3, 11, errDiffers},
	} {
		s := shelved{"a": c.a, "b": c.b}
		of := func(key string) blob.ForeignInfo {
			return blob.ForeignInfo{Info: blob.Info{Key: key, Size: int64(c.size)}}
		}
		err := comparer{a: s, b: s, before: c.before, boot: instant(10)}.same(t.Context(), of("a"), of("b"))
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// A copy needs all attributes of the object, and may have more.
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
