package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// column is a measure of a step.
type column struct {
	name string
	of   func(Step) float64
}

// each is a measure by object.
func each(of func(Step) float64) func(Step) float64 {
	return func(s Step) float64 { return of(s) / float64(max(s.Objects, 1)) }
}

// both adds up what a server and its database did.
func both(of func(Used) int64) func(Step) float64 {
	return each(func(s Step) float64 { return float64(of(s.Server) + of(s.Database)) })
}

var smallColumns = []column{
	{"p50 ms", func(s Step) float64 { return inMilliseconds(s.Requests.At(0.5)) }},
	{"p99 ms", func(s Step) float64 { return inMilliseconds(s.Requests.At(0.99)) }},
	{"CPU us", each(func(s Step) float64 { return float64(s.Server.CPU) / 1e3 })},
	{"database's", each(func(s Step) float64 { return float64(s.Database.CPU) / 1e3 })},
	{"flushes", both(func(u Used) int64 { return u.Flushes })},
	{"transactions", each(func(s Step) float64 { return float64(s.Transactions) })},
	{"trips", each(func(s Step) float64 { return float64(s.Trips) })},
	{"KiB written", both(func(u Used) int64 { return u.Written })},
	{"KiB to disk", each(func(s Step) float64 { return float64(s.Disk) })},
	{"calls", both(func(u Used) int64 { return u.Calls })},
}

// Write prints a table for each step: a row for each peer, medians, by object where it is
// not a rate or a latency, and the rate as a ratio to that of each peer that is no Lethe.
func (s Small) Write(w io.Writer, runs map[string][][]Step) error {
	for _, name := range SmallSteps {
		if runs[name] == nil {
			continue
		}
		tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
		fmt.Fprintf(tw, "%s, %d bytes, %d clients, %d runs\n", name, s.Size, s.Clients, s.Runs)
		columns := smallColumns
		if strings.HasPrefix(name, "warp") {
			columns = nil // what it does besides is not told apart
		}
		fmt.Fprintln(tw, strings.Join(s.head(columns), "\t"))
		for i, p := range s.Peers {
			if len(runs[name][i]) > 0 {
				fmt.Fprintln(tw, strings.Join(append([]string{p.Name}, s.row(runs[name], i, columns)...), "\t"))
			}
		}
		fmt.Fprintln(tw)
		if err := tw.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func (s Small) head(columns []column) []string {
	out := []string{"", "objects/s"}
	for _, p := range s.Peers {
		if !p.Store {
			out = append(out, "by "+p.Name)
		}
	}
	for _, c := range columns {
		out = append(out, c.name)
	}
	return out
}

func (s Small) row(runs [][]Step, i int, columns []column) []string {
	rate := func(of []Step) Series { return series(of, func(s Step) float64 { return s.Rate }) }
	out := []string{rate(runs[i]).String()}
	for n, p := range s.Peers {
		if !p.Store {
			out = append(out, ratio(rate(runs[i]).Ratios(rate(runs[n]))))
		}
	}
	for _, c := range columns {
		text := "-"
		v := series(runs[i], c.of).Median()
		if strings.HasPrefix(c.name, "KiB") {
			v /= 1 << 10
		}
		if v != 0 {
			text = short(v)
			if v < 0.1 {
				text = fmt.Sprintf("%.4f", v)
			}
		}
		out = append(out, text)
	}
	return out
}

func ratio(s Series) string {
	if len(s) == 0 {
		return "-"
	}
	return short(s.Median())
}
