package object

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
)

func TestParseRange(t *testing.T) {
	for header, want := range map[string]string{
		"bytes=0-3": "0+4", "bytes=7-": "7+3", "bytes=-2": "8+2", "bytes=-100": "0+10", "bytes=5-100": "5+5", "bytes=00-01": "0+2",
		"bytes=0-9223372036854775807": "0+10", "bytes=0-99999999999999999999": "0+10", "bytes=-99999999999999999999": "0+10",
		"bytes=10-": "none", "bytes=-0": "none", "bytes=9223372036854775807-": "none", "bytes=99999999999999999999-": "none",
		"": "all", "bytes=": "all", "bytes=-": "all", "bytes=3-1": "all", "bytes=0-1,3-4": "all", "bytes=+1-2": "all", "bytes=-+2": "all",
		"bytes=--2": "all", "bytes=0--1": "all", "bytes= 0-1": "all", "bytes=0 -1": "all", "Bytes=0-1": "all", "lines=0-1": "all", "bytes=٣-": "all",
	} {
		got := "all"
		if r := ParseRange(header); r != nil {
			w, err := r.window(10)
			if got = fmt.Sprintf("%d+%d", w.offset, w.length); err != nil {
				got = "none"
			}
		}
		if got != want {
			t.Errorf("%q reads %s, want %s", header, got, want)
		}
	}
}

// nothing is a file of so many bytes, none of which is read.
type nothing struct{ size int64 }

func (n nothing) Read([]byte) (int, error) { return 0, io.EOF }

func (n nothing) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		offset += n.size
	}
	return offset, nil
}

// FuzzRange: a range lies within what it is a range of, and is the one that Go's
// file server reads out of the same header. It takes more: signs, spaces, empty
// elements of lists.
func FuzzRange(f *testing.F) {
	for _, header := range []string{
		"bytes=0-3", "bytes=7-", "bytes=-2", "bytes=-0", "bytes=5-100", "bytes=0-9223372036854775807", "bytes=-9223372036854775807",
		"bytes=9223372036854775807-9223372036854775807", "bytes=0-1,3-4", "bytes=3-1", "bytes=--1", "bytes=", "lines=0-1",
	} {
		f.Add(header, int64(10))
	}
	f.Fuzz(func(t *testing.T, header string, size int64) {
		size = max(1, size&math.MaxInt64)
		r := ParseRange(header)
		if r == nil {
			return
		}
		w, err := r.window(size)
		if err != nil && !errors.Is(err, lethe.ErrInvalidRange) {
			t.Fatal(err)
		}
		// Two subtractions, since a sum could overflow unseen.
		if err == nil && (w.offset < 0 || w.length <= 0 || w.length > size || w.offset > size-w.length) {
			t.Fatalf("%q of %d bytes reads %d from %d", header, size, w.length, w.offset)
		}
		digits := strings.FieldsFunc(header, func(c rune) bool { return c < '0' || c > '9' })
		for _, d := range digits {
			if len(d) > 18 || strings.HasPrefix(header, "bytes=-") && strings.Trim(d, "0") == "" {
				return // beyond Go's numbers; and it has the last 0 bytes for some
			}
		}
		req := httptest.NewRequest(http.MethodHead, "/", nil)
		req.Header.Set("Range", header)
		rec := httptest.NewRecorder()
		http.ServeContent(rec, req, "x.bin", time.Time{}, nothing{size})
		want := fmt.Sprintf("bytes %d-%d/%d", w.offset, w.offset+w.length-1, size)
		if err != nil {
			want = fmt.Sprintf("bytes */%d", size)
		}
		if got := rec.Header().Get("Content-Range"); got != want {
			t.Fatalf("%q of %d bytes is %q, Go has %q", header, size, want, got)
		}
	})
}
