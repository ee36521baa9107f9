package bench

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Series are the values of one measure over repeated runs.
type Series []float64

// Median is the middle value, 0 if there is none.
func (s Series) Median() float64 {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	mid := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[mid]
	}
	return (sorted[mid-1] + sorted[mid]) / 2
}

// Ratios divides the series value by value: what was measured one after the other
// is compared, so that a machine that is busy for a while slows down both.
func (s Series) Ratios(by Series) Series {
	out := make(Series, 0, len(s))
	for i := range min(len(s), len(by)) {
		if by[i] != 0 {
			out = append(out, s[i]/by[i])
		}
	}
	return out
}

// String is the median with the smallest and the largest value.
func (s Series) String() string {
	if len(s) == 0 {
		return "-"
	}
	if len(s) == 1 {
		return short(s[0])
	}
	return fmt.Sprintf("%s (%s..%s)", short(s.Median()), short(slices.Min(s)), short(slices.Max(s)))
}

// short writes a number with three digits or more.
func short(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// Table is rows of named measures.
type Table struct {
	Title string
	Rows  [][2]string
}

// Add adds a row.
func (t *Table) Add(name string, value any) {
	t.Rows = append(t.Rows, [2]string{name, fmt.Sprint(value)})
}

// Write prints the table.
func (t *Table) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintf(tw, "%s\n%s\n", t.Title, strings.Repeat("-", len(t.Title)))
	for _, r := range t.Rows {
		fmt.Fprintf(tw, "%s\t%s\n", r[0], r[1])
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}
