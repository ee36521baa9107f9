package lethe

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func TestParseTTL(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"90s":        90 * time.Second,
		"15m":        15 * time.Minute,
		"12h":        12 * time.Hour,
		"30d":        30 * 24 * time.Hour,
		"2w":         14 * 24 * time.Hour,
		"1d12h":      36 * time.Hour,
		"1w1d1h1m1s": 8*24*time.Hour + time.Hour + time.Minute + time.Second,
		"1h30m":      90 * time.Minute,
		"1.5h":       90 * time.Minute,
		"1.5d":       36 * time.Hour,
		".5d":        12 * time.Hour,
		"1.d":        24 * time.Hour,
		"0d1s":       time.Second,
		"+5m":        5 * time.Minute,
		"500ms":      500 * time.Millisecond,
		"1us":        time.Microsecond,
		"1µs":        time.Microsecond,
		"1000ns":     time.Microsecond,
		"007d":       7 * 24 * time.Hour,
		"36500d":     MaxTTL,
		"876000h":    MaxTTL,
	} {
		got, err := ParseTTL(s)
		if err != nil || got != want {
			t.Errorf("ParseTTL(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestParseTTLErrors(t *testing.T) {
	for s, says := range map[string]string{
		"":                                   "is empty",
		"+":                                  "is empty",
		"0":                                  "is zero",
		"0s":                                 "is zero",
		"0d":                                 "is zero",
		"0.0h":                               "is zero",
		"-5m":                                "is negative",
		"+-5m":                               "is negative",
		"90":                                 `no unit after "90"`,
		"1d12":                               `no unit after "12"`,
		"d":                                  `no number before "d"`,
		"forever":                            `no number before "forever"`,
		" 5m":                                "no number before",
		"5m ":                                `unknown unit "m "`,
		"5 m":                                `unknown unit " m"`,
		"1y":                                 `unknown unit "y"`,
		"1D":                                 `unknown unit "D"`,
		"1mo":                                `unknown unit "mo"`,
		"1d-12h":                             `unknown unit "d-"`,
		"1e3s":                               `unknown unit "e"`,
		"1,5h":                               `unknown unit ","`,
		"1.2.3h":                             `no valid number in "1.2.3"`,
		".h":                                 `no valid number in "."`,
		".":                                  `no valid number in "."`,
		"999ns":                              "shorter than a microsecond",
		"0.4us":                              "shorter than a microsecond",
		"101w53w36500d":                      "longer than 100 years",
		"36500d1ns":                          "longer than 100 years",
		"36501d":                             "longer than 100 years",
		"876001h":                            "longer than 100 years",
		"9223372036854775807ns":              "longer than 100 years",
		"9223372036854775808ns":              "longer than 100 years",
		"99999999999999999999w":              "longer than 100 years",
		"1\x00d":                             "unknown unit",
		"\xff":                               "no number before",
		strings.Repeat("9", 1<<16) + "d":     "longer than 100 years",
		"9223372036854775807ns1ns":           "longer than 100 years",
		strings.Repeat("36000d", 300) + "1d": "longer than 100 years",
	} {
		d, err := ParseTTL(s)
		if err == nil {
			t.Errorf("ParseTTL(%.40q) = %v; want an error", s, d)
			continue
		}
		if !errors.Is(err, ErrInvalidTTL) || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "30d") {
			t.Errorf("ParseTTL(%.40q): %v; want ErrInvalidTTL that says %q and what is accepted", s, err, says)
		}
		if len(err.Error()) > 600 {
			t.Errorf("ParseTTL(%.40q): error of %d bytes", s, len(err.Error()))
		}
	}
}

func TestFormatTTL(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                             "0s",
		90 * time.Second:              "1m30s",
		time.Minute:                   "1m",
		time.Hour:                     "1h",
		time.Hour + 5*time.Second:     "1h0m5s",
		10 * time.Minute:              "10m",
		36 * time.Hour:                "1d12h",
		30 * 24 * time.Hour:           "30d",
		24*time.Hour + time.Second:    "1d1s",
		1500 * time.Millisecond:       "1.5s",
		-36 * time.Hour:               "-1d12h",
		100 * 365 * 24 * time.Hour:    "36500d",
		time.Duration(math.MinInt64):  "-106751d23h47m16.854775808s",
		24*time.Hour + time.Minute:    "1d1m",
		20*time.Hour + 30*time.Minute: "20h30m",
	} {
		if got := FormatTTL(d); got != want {
			t.Errorf("FormatTTL(%d) = %q; want %q", d, got, want)
		}
	}
}

const testNow = Time(1_800_000_000_000_000) // 2027-01-15T08:00:00Z

func TestParseExpiresAt(t *testing.T) {
	for s, want := range map[string]Time{
		"2027-01-15T08:00:01Z":           testNow + 1_000_000,
		"2027-01-15T09:00:01+01:00":      testNow + 1_000_000,
		"2027-01-15T08:00:00.000001Z":    testNow + 1,
		"2027-01-15T08:00:00.000001999Z": testNow + 1,
	} {
		got, err := ParseExpiresAt(s, testNow)
		if err != nil || got != want {
			t.Errorf("ParseExpiresAt(%q) = %v, %v; want %v", s, got, err, want)
		}
	}
}

func TestParseExpiresAtErrors(t *testing.T) {
	for s, says := range map[string]string{
		"":                               "is empty",
		"tomorrow":                       "RFC 3339",
		"2027-01-15":                     "RFC 3339",
		"1800000001":                     "RFC 3339",
		"2027-01-15 08:00:01Z":           "RFC 3339",
		"2027-01-15T8:00:01Z":            "RFC 3339",
		"2027-02-30T08:00:01Z":           "RFC 3339",
		"2027-01-15T08:00:01,5Z":         "RFC 3339",
		"2027-01-15T08:00:01":            "has no time zone",
		"2027-01-15T08:00:00Z":           "in the past: it is 2027-01-15T08:00:00.000000Z now",
		"2027-01-15T08:00:00.000000999Z": "in the past",
		"2027-01-15T08:00:01+01:00":      "in the past",
		"0000-01-01T00:00:00Z":           "in the past",
		"9999-12-31T23:59:59Z":           "more than 100 years ahead",
	} {
		at, err := ParseExpiresAt(s, testNow)
		if !errors.Is(err, ErrInvalidTTL) || !strings.Contains(err.Error(), says) {
			t.Errorf("ParseExpiresAt(%q) = %v, %v; want ErrInvalidTTL that says %q", s, at, err, says)
		}
	}
}

func FuzzParseTTL(f *testing.F) {
	for _, s := range []string{"", "90s", "1d12h", "2w", "1.5h", "36500d", "36501d", "-1s", "0", "1e9s",
		"9223372036854775808ns", "1µs", "1d 2h", "..d", "1w1w", "\xff1d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseTTL(s)
		if err != nil {
			if d != 0 || !errors.Is(err, ErrInvalidTTL) {
				t.Fatalf("ParseTTL(%q) = %v, %v", s, d, err)
			}
			// What Go accepts within the bounds, ParseTTL accepts.
			if g, gerr := time.ParseDuration(s); gerr == nil && g >= MinTTL && g <= MaxTTL {
				t.Fatalf("ParseTTL(%q): %v, but it is the Go duration %v", s, err, g)
			}
			return
		}
		if d < MinTTL || d > MaxTTL {
			t.Fatalf("ParseTTL(%q) = %v, out of bounds", s, d)
		}
		if g, gerr := time.ParseDuration(s); gerr == nil && g != d {
			t.Fatalf("ParseTTL(%q) = %v, but Go says %v", s, d, g)
		}
		if again, err := ParseTTL(FormatTTL(d)); err != nil || again != d {
			t.Fatalf("%q is %v, formatted %q, read again %v, %v", s, d, FormatTTL(d), again, err)
		}
	})
}

func FuzzParseExpiresAt(f *testing.F) {
	for _, s := range []string{"", "2027-01-15T08:00:01Z", "2027-01-15T09:00:01.5+01:00", "2027-01-15T08:00:01",
		"9999-12-31T23:59:59Z", "0000-01-01T00:00:00-23:59"} {
		f.Add(s, int64(testNow))
		f.Add(s, int64(0))
		f.Add(s, int64(Forever))
	}
	f.Fuzz(func(t *testing.T, s string, us int64) {
		now := Time(us)
		at, err := ParseExpiresAt(s, now)
		if err != nil {
			if at != 0 || !errors.Is(err, ErrInvalidTTL) {
				t.Fatalf("ParseExpiresAt(%q, %d) = %v, %v", s, us, at, err)
			}
			return
		}
		if at <= now || at > now.Add(MaxTTL) {
			t.Fatalf("ParseExpiresAt(%q, %d) = %v, out of bounds", s, us, at)
		}
	})
}
