package object

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// window is the part of an object that is read.
type window struct{ offset, length int64 }

// window returns the part of the object that the request names: ErrInvalidRange if
// that lies beyond its end.
func (r *GetRequest) window(o ledger.Object) (window, error) {
	switch {
	case r.Part != 0 && r.Range != nil:
		return window{}, fmt.Errorf("%w: both a part and a range", lethe.ErrInvalidRange)
	case r.Part != 0:
		return partWindow(o, r.Part)
	case r.Range != nil && (r.RangeIf == nil || r.RangeIf(o)):
		return r.Range.window(o.Size)
	}
	return window{0, o.Size}, nil
}

// ParseRange parses the value of a Range header, as in RFC 9110 section 14.1.2: one
// range of bytes. It returns nil for a value to be ignored: an invalid one, or
// several ranges.
func ParseRange(header string) *Range {
	spec, bytes := strings.CutPrefix(header, "bytes=")
	first, last, ok := strings.Cut(spec, "-")
	from, hasFrom := decimal(first)
	to, hasTo := decimal(last)
	switch {
	case !bytes || !ok, !hasFrom && first != "", !hasTo && last != "":
	case hasFrom && hasTo && from <= to:
		return &Range{Offset: from, Length: min(to-from, math.MaxInt64-1) + 1}
	case hasFrom && !hasTo:
		return &Range{Offset: from, Length: -1}
	case hasTo && !hasFrom && to == 0:
		// The last 0 bytes cannot be had: a range beyond every end.
		return &Range{Offset: math.MaxInt64, Length: -1}
	case hasTo && !hasFrom:
		return &Range{Offset: -to, Length: -1}
	}
	return nil
}

// decimal parses digits and nothing else; too large a number becomes the largest.
func decimal(s string) (int64, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		n = math.MaxInt64
	}
	return n, true
}

// window cuts the range to an object of size bytes. The range must hold at least
// one of them.
func (r Range) window(size int64) (window, error) {
	offset := r.Offset
	if offset < 0 {
		offset = max(0, size+offset)
	}
	if offset >= size || r.Length == 0 || r.Length < -1 {
		return window{}, fmt.Errorf("%w: offset %d, length %d of %d bytes", lethe.ErrInvalidRange, r.Offset, r.Length, size)
	}
	length := size - offset
	if r.Length >= 0 {
		length = min(length, r.Length)
	}
	return window{offset, length}, nil
}

// partWindow is the position of the nth part of an object that was completed from parts. One
// that was put whole is its own part 1.
func partWindow(o ledger.Object, n int) (window, error) {
	if len(o.Attrs.Parts) == 0 && n == 1 {
		return window{0, o.Size}, nil
	}
	if n < 1 || n > len(o.Attrs.Parts) {
		return window{}, fmt.Errorf("%w: no part %d", lethe.ErrInvalidRange, n)
	}
	var offset int64
	for _, p := range o.Attrs.Parts[:n-1] {
		offset += p.Size
	}
	return window{offset, o.Attrs.Parts[n-1].Size}, nil
}
