package lethe_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe"
)

func TestParseReads(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "3": 3, "10000": 10_000} {
		if n, err := lethe.ParseReads(text); err != nil || n != want {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "1.5", "10001", "1000000", "99999999999999999999", "once", strings.Repeat("9", 10_000)} {
		if n, err := lethe.ParseReads(text); !errors.Is(err, lethe.ErrInvalidReads) || len(err.Error()) > 200 {
			t.Errorf("%.20q: %d, %v", text, n, err)
		}
	}
}
