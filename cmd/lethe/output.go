package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/words"
)

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// table writes rows in columns, with any text in their cells; the first row is
// the heading.
func table(w io.Writer, rows [][]string) error {
	for _, r := range rows {
		for i, text := range r {
			r[i] = cell(text)
		}
	}
	return columns(w, rows)
}

// columns writes rows whose cells are safe to show.
func columns(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(r, "\t"), "\t"))
	}
	return t.Flush()
}

// maxBrief is how many characters of an error a table shows; --json and "show" have all.
const maxBrief = 80

// brief cuts a text for a table.
func brief(text string) string {
	if r := []rune(text); len(r) > maxBrief {
		return string(r[:maxBrief-3]) + "..."
	}
	return text
}

// when formats an instant with its distance from now.
func when(t, now time.Time) string {
	if t.IsZero() {
		return "-"
	}
	d := t.Sub(now)
	switch {
	case d > time.Second:
		return "in " + span(d)
	case d < -time.Second:
		return span(-d) + " ago"
	}
	return "now"
}

// span formats a duration in at most two units.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return lethe.FormatTTL(d.Round(time.Second))
	case d < 48*time.Hour:
		d = d.Round(time.Minute)
		return fmt.Sprintf("%dh%dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// stamp formats an instant for people, in the machine's zone.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

// counts formats the counts of a run, without the one for progress if there are
// others.
func counts(c map[string]int64) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(c)) {
		switch {
		case k == "items":
		case strings.HasSuffix(k, "bytes"):
			parts = append(parts, k+" "+words.Size(c[k]))
		default:
			parts = append(parts, k+" "+words.Number(c[k]))
		}
	}
	if len(parts) == 0 && c["items"] > 0 {
		return "items " + words.Number(c["items"])
	}
	return cmp.Or(strings.Join(parts, ", "), "nothing to do")
}
