package main

import (
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for text, d := range map[string]time.Duration{
		"0s": 0, "59s": 59 * time.Second, "1m": time.Minute, "9m40s": 9*time.Minute + 40*time.Second, "50m": 50 * time.Minute,
		"59m59s": time.Hour - time.Second, "1h0m": time.Hour, "10h20m": 10*time.Hour + 20*time.Minute + 4*time.Second, "2d0h": 48 * time.Hour, "10d7h": 247 * time.Hour,
	} {
		if got := span(d); got != text {
			t.Errorf("%v is written as %s, want %s", d, got, text)
		}
	}
}
