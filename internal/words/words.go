// Package words formats numbers and times for people, alike in commands and on pages.
package words

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// Size formats a number of bytes in binary units, such as "1.5 KiB".
func Size(n int64) string {
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-n))
	}
	return humanize.IBytes(uint64(n))
}

// Number formats a number with commas.
func Number(n int64) string { return humanize.Comma(n) }

// Percent formats a part of a whole, such as "37 %".
func Percent(part, whole int64) string {
	if whole <= 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(whole))
}

// Plural returns a number with its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Number(n) + " " + many
}

// Excess names what is too much, such as "2 objects and 1.5 KiB"; nothing if none is.
func Excess(objects, bytes int64) string {
	var parts []string
	if objects > 0 {
		parts = append(parts, Plural(objects, "object", "objects"))
	}
	if bytes > 0 {
		parts = append(parts, Size(bytes))
	}
	return strings.Join(parts, " and ")
}

// Span formats a duration in units that people think in, the largest two that are not 0. From
// a minute on seconds are left out, from two days on minutes.
func Span(d time.Duration) string {
	if d = d.Round(time.Second); d >= time.Minute {
		d = d.Round(time.Minute)
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return joined(d/time.Hour, "h", d%time.Hour/time.Minute, "min")
	}
	return joined(d/(24*time.Hour), "d", d%(24*time.Hour)/time.Hour, "h")
}

func joined(n time.Duration, unit string, rest time.Duration, small string) string {
	text := fmt.Sprintf("%d %s", n, unit)
	if rest > 0 {
		text += fmt.Sprintf(" %d %s", rest, small)
	}
	return text
}

// When formats an instant by its distance from now; "-" for the zero time.
func When(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := t.Sub(now)
	switch {
	case d > time.Second:
		return "in " + Span(d)
	case d < -time.Second:
		return Span(-d) + " ago"
	}
	return "now"
}

// Times returns how often, such as "once" or "3 times".
func Times(n int64) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return Number(n) + " times"
}

// inText matches the commands in texts of the server, which does not know how those who read
// them address the store.
var inText = regexp.MustCompile(`\blethe (backend accept [A-Za-z0-9._-]*[A-Za-z0-9]|limits show|ledger accept|token add)`)

// Commands returns a text of the server with its commands as command writes them.
func Commands(text string, command func(args ...string) string) string {
	return inText.ReplaceAllStringFunc(text, func(found string) string { return command(strings.Fields(found)[1:]...) })
}
