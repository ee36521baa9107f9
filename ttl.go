package lethe

import (
	"fmt"
	"strings"
	"time"
)

const (
	// MaxTTL is the longest time to live accepted: 100 years of 365 days. Added to any
	// present instant it stays far below Forever.
	MaxTTL = 100 * 365 * day
	// MinTTL is the shortest time to live accepted: the resolution of Time. A shorter one
	// would be stored as zero, which means "none".
	MinTTL = time.Microsecond
	// MinIdle is the shortest idle time accepted: reads are noted at most each minute.
	MinIdle = time.Minute

	day  = 24 * time.Hour
	week = 7 * day
)

// ttlForm describes the accepted form in errors.
const ttlForm = "a number with a unit, such as 90s, 15m, 12h, 30d, 2w or 1d12h, up to 100 years (36500d)"

// ParseTTL parses a time to live: one or more numbers, each with a unit (w, d, h, m, s and
// Go's ms, us, ns), added up: "90s", "15m", "30d", "1d12h", "1.5h". A day is 24 hours, a
// week 7 days. It accepts everything that time.ParseDuration does, if the sum is within
// MinTTL and MaxTTL. Errors wrap ErrInvalidTTL and describe the accepted form.
func ParseTTL(s string) (time.Duration, error) {
	rest := strings.TrimPrefix(s, "+")
	if rest == "" {
		return 0, ttlError(s, "is empty")
	}
	if strings.HasPrefix(rest, "-") {
		return 0, ttlError(s, "is negative")
	}
	if strings.Trim(rest, "0.") == "" && strings.Contains(rest, "0") {
		return 0, ttlError(s, "is zero")
	}
	var sum time.Duration
	for rest != "" {
		number, unit, after := cutTTL(rest)
		d, problem := ttlPart(number, unit)
		if problem != "" {
			return 0, ttlError(s, problem)
		}
		if d > MaxTTL-sum {
			return 0, ttlError(s, "is longer than 100 years")
		}
		sum, rest = sum+d, after
	}
	if sum == 0 {
		return 0, ttlError(s, "is zero")
	}
	if sum < MinTTL {
		return 0, ttlError(s, "is shorter than a microsecond")
	}
	return sum, nil
}

// ParseIdleTTL is ParseTTL for an idle time: how long an object is kept after its last read. It
// must be at least MinIdle.
func ParseIdleTTL(s string) (time.Duration, error) {
	d, err := ParseTTL(s)
	if err == nil && d < MinIdle {
		return 0, ttlError(s, "is shorter than a minute, the least for an idle time")
	}
	return d, err
}

// cutTTL splits the first number and its unit off s.
func cutTTL(s string) (number, unit, rest string) {
	const digits = "0123456789."
	n := len(s) - len(strings.TrimLeft(s, digits))
	number, rest = s[:n], s[n:]
	u := strings.IndexAny(rest, digits)
	if u < 0 {
		u = len(rest)
	}
	return number, rest[:u], rest[u:]
}

// ttlPart parses one number with its unit; problem is empty if it is valid.
func ttlPart(number, unit string) (d time.Duration, problem string) {
	if number == "" {
		return 0, fmt.Sprintf("has no number before %q", brief(unit))
	}
	if strings.Count(number, ".") > 1 || number == "." {
		return 0, fmt.Sprintf("has no valid number in %q", brief(number))
	}
	of := time.Duration(1)
	goUnit := unit
	switch unit {
	case "":
		return 0, fmt.Sprintf("has no unit after %q", brief(number))
	case "w":
		of, goUnit = week/time.Hour, "h"
	case "d":
		of, goUnit = day/time.Hour, "h"
	case "h", "m", "s", "ms", "us", "µs", "μs", "ns":
	default:
		return 0, fmt.Sprintf("has the unknown unit %q", brief(unit))
	}
	d, err := time.ParseDuration(number + goUnit)
	// Number and unit are well-formed, so only the size can be wrong.
	if err != nil || d > MaxTTL/of {
		return 0, "is longer than 100 years"
	}
	return d * of, ""
}

func ttlError(s, problem string) error {
	return fmt.Errorf("%w: %q %s; use %s", ErrInvalidTTL, brief(s), problem, ttlForm)
}

// TTLProblem returns the text of an ErrInvalidTTL without what wraps it.
func TTLProblem(err error) string {
	before, after, _ := strings.Cut(err.Error(), ErrInvalidTTL.Error())
	if after != "" {
		return ErrInvalidTTL.Error() + after
	}
	// The ledger puts the reason before.
	before = strings.TrimSuffix(before, ": ")
	if before = before[strings.LastIndex(before, ": ")+1:]; before == "" {
		return ErrInvalidTTL.Error()
	}
	return ErrInvalidTTL.Error() + ": " + strings.TrimSpace(before)
}

// brief shortens client input for an error text.
func brief(s string) string {
	const most = 64 // bytes
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// FormatTTL returns d in the grammar of ParseTTL, in days and smaller units: "30d", "1d12h",
// "1m30s", "1.5s". Within its bounds ParseTTL returns d again. Zero is "0s"; a negative d
// has a leading minus.
func FormatTTL(d time.Duration) string {
	days, rest := d/day, d%day
	if days == 0 {
		return trimDuration(rest)
	}
	if rest == 0 {
		return fmt.Sprintf("%dd", days)
	}
	return fmt.Sprintf("%dd%s", days, strings.TrimPrefix(trimDuration(rest), "-"))
}

// trimDuration returns time.Duration's text without trailing zero parts.
func trimDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ParseExpiresAt parses an instant in RFC 3339 with its zone, such as "2031-01-31T12:00:00Z"
// or "2031-01-31T12:00:00.5+01:00", truncated to microseconds. It must be after now and at
// most MaxTTL ahead. Errors wrap ErrInvalidTTL and describe the accepted form.
func ParseExpiresAt(s string, now Time) (Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	// Go accepts an hour of one digit and a decimal comma.
	if err != nil || s[len("2006-01-02T15")] != ':' || strings.Contains(s, ",") {
		return 0, expiresError(s, expiresProblem(s))
	}
	at := FromTime(t)
	if at <= now {
		return 0, expiresError(s, "lies in the past: it is "+now.String()+" now")
	}
	if at > now.Add(MaxTTL) {
		return 0, expiresError(s, "is more than 100 years ahead")
	}
	return at, nil
}

func expiresProblem(s string) string {
	if s == "" {
		return "is empty"
	}
	if _, err := time.Parse("2006-01-02T15:04:05", s); err == nil {
		return "has no time zone: end it with Z or an offset such as +01:00"
	}
	return "is not an instant in RFC 3339"
}

func expiresError(s, problem string) error {
	return fmt.Errorf("%w: %q %s; use a future instant with its zone, such as 2031-01-31T12:00:00Z or 2031-01-31T13:00:00+01:00",
		ErrInvalidTTL, brief(s), problem)
}
