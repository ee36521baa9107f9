package words_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/words"
)

func TestSpan(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0 s": 0, "59 s": 59 * time.Second, "1 min": time.Minute - time.Millisecond, "10 min": 9*time.Minute + 40*time.Second, "1 h": time.Hour - time.Second,
		"10 h 20 min": 10*time.Hour + 20*time.Minute + 4*time.Second, "2 d": 48 * time.Hour, "10 d 7 h": 247 * time.Hour,
	} {
		if got := words.Span(d); got != text {
			t.Errorf("%v is written as %s, want %s", d, got, text)
		}
	}
}

func TestWhen(t *testing.T) {
	now := time.Unix(1e9, 0)
	for text, at := range map[string]time.Time{"-": {}, "now": now.Add(time.Second), "in 5 min": now.Add(5 * time.Minute), "2 h ago": now.Add(-2 * time.Hour)} {
		if got := words.When(at, now); got != text {
			t.Errorf("%v is written as %s, want %s", at, got, text)
		}
	}
}

func TestPlural(t *testing.T) {
	if a, b := words.Plural(1, "blob", "blobs"), words.Plural(1200, "blob", "blobs"); a != "1 blob" || b != "1,200 blobs" {
		t.Error(a, b)
	}
}
