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
