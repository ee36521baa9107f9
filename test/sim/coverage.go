package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Coverage counts how often each cell of the fault matrix, and each pair of
// cells within one run, was hit: by faults that acted.
type Coverage struct {
	Runs      int
	Effects   []int // per run
	Faults    int
	Overtaken int                 // runs in which a settle came when its claim had been taken over
	Overslept int                 // runs in which bytes landed when their intent had gone
	Lacking   map[string][]uint64 // seeds of runs without what each should have, by what that is
	Cells     map[Cell]int
	Pairs     map[[2]Cell]int
}

// NewCoverage makes an empty count.
func NewCoverage() *Coverage {
	return &Coverage{Lacking: map[string][]uint64{}, Cells: map[Cell]int{}, Pairs: map[[2]Cell]int{}}
}

// Lacks lists what each schedule should have and the run had not.
func (r Result) Lacks() (what []string) {
	for _, need := range []struct {
		what      string
		has, want int
	}{
		{"3 clients at work", r.Clients, 3}, {"2 workers at work", r.Workers, 2}, {"a fault that acted", len(r.Faults), 1},
		{"a slow writer", r.Writers, 1}, {"a slow reader", r.Readers, 1},
	} {
		if need.has < need.want {
			what = append(what, need.what)
		}
	}
	return what
}

// Add counts a run.
func (c *Coverage) Add(r Result) {
	c.Runs++
	c.Effects = append(c.Effects, r.Effects)
	c.Faults += len(r.Faults)
	if r.Overtaken > 0 {
		c.Overtaken++
	}
	if r.Overslept > 0 {
		c.Overslept++
	}
	for _, what := range r.Lacks() {
		c.Lacking[what] = append(c.Lacking[what], r.Config.Seed)
	}
	distinct := slices.Clone(r.Faults)
	for _, f := range distinct {
		c.Cells[f]++
	}
	slices.SortFunc(distinct, compareCells)
	distinct = slices.Compact(distinct)
	for i, a := range distinct {
		for _, b := range distinct[i+1:] {
			c.Pairs[[2]Cell{a, b}]++
		}
	}
}

// Merge adds the counts of another.
func (c *Coverage) Merge(d *Coverage) {
	c.Runs += d.Runs
	c.Faults += d.Faults
	c.Overtaken += d.Overtaken
	c.Overslept += d.Overslept
	for k, seeds := range d.Lacking {
		c.Lacking[k] = append(c.Lacking[k], seeds...)
	}
	c.Effects = append(c.Effects, d.Effects...)
	for k, n := range d.Cells {
		c.Cells[k] += n
	}
	for k, n := range d.Pairs {
		c.Pairs[k] += n
	}
}

func compareCells(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Fault, b.Fault))
}

// Median returns the median number of effects of a run.
func (c *Coverage) Median() int {
	if len(c.Effects) == 0 {
		return 0
	}
	slices.Sort(c.Effects)
	return c.Effects[len(c.Effects)/2]
}

// Sum returns the number of effects of all runs.
func (c *Coverage) Sum() (n int) {
	for _, e := range c.Effects {
		n += e
	}
	return n
}

// Rarest returns the applicable cell that was hit least, and how often.
func (c *Coverage) Rarest() (Cell, int) {
	return slices.MinFunc(Cells(), func(a, b Cell) int { return cmp.Compare(c.Cells[a], c.Cells[b]) }), c.rarest()
}

func (c *Coverage) rarest() int {
	least := -1
	for _, cell := range Cells() {
		if n := c.Cells[cell]; least < 0 || n < least {
			least = n
		}
	}
	return least
}

// PairShare returns the share of all pairs of applicable cells that were hit.
func (c *Coverage) PairShare() float64 {
	n := len(Cells())
	return float64(len(c.Pairs)) / float64(n*(n-1)/2)
}

// Report writes the counts, the rarest cells last.
func (c *Coverage) Report(w io.Writer) {
	cell, n := c.Rarest()
	fmt.Fprintf(w, "%d schedules, %d effects in the median, %d faults; in %d a settle came when its claim had been taken over, in %d bytes when their intent had gone\n", c.Runs, c.Median(), c.Faults, c.Overtaken, c.Overslept)
	fmt.Fprintf(w, "%d cells of the fault matrix, the rarest %s hit %d times; %.1f %% of the pairs hit\n", len(Cells()), cell, n, 100*c.PairShare())
}

// Missed lists the pairs of applicable cells that no run hit.
func (c *Coverage) Missed() (pairs [][2]Cell) {
	cells := slices.SortedFunc(slices.Values(Cells()), compareCells)
	for i, a := range cells {
		for _, b := range cells[i+1:] {
			if pair := [2]Cell{a, b}; c.Pairs[pair] == 0 {
				pairs = append(pairs, pair)
			}
		}
	}
	return pairs
}

// listed is how many missed pairs are written at most: so many are missed by too few
// runs, not by rules that keep two faults apart.
const listed = 2000

// WritePairs writes the n pairs of those that were hit which were hit least, and, one
// line for each cell, all that were missed.
func (c *Coverage) WritePairs(w io.Writer, n int) {
	hit := slices.SortedFunc(maps.Keys(c.Pairs), func(a, b [2]Cell) int {
		return cmp.Or(cmp.Compare(c.Pairs[a], c.Pairs[b]), compareCells(a[0], b[0]), compareCells(a[1], b[1]))
	})
	missed := c.Missed()
	fmt.Fprintf(w, "%d pairs of faults hit, %d missed; the rarest:\n", len(hit), len(missed))
	for _, pair := range hit[:min(n, len(hit))] {
		fmt.Fprintf(w, "%6d %s with %s\n", c.Pairs[pair], pair[0], pair[1])
	}
	if len(missed) > listed {
		fmt.Fprintf(w, "too few schedules to list what is missed\n")
		return
	}
	for i, pair := range missed {
		if i == 0 || missed[i-1][0] != pair[0] {
			fmt.Fprintf(w, "missed %s with:", pair[0])
		}
		fmt.Fprintf(w, " %s", pair[1])
		if i == len(missed)-1 || missed[i+1][0] != pair[0] {
			fmt.Fprintln(w)
		}
	}
}

// Table writes each step with how often each fault hit it.
func (c *Coverage) Table(w io.Writer) {
	steps := map[Step][]Cell{}
	for _, cell := range Cells() {
		steps[cell.Step] = append(steps[cell.Step], cell)
	}
	for _, s := range slices.Sorted(maps.Keys(steps)) {
		fmt.Fprintf(w, "%-15s", s)
		for _, cell := range steps[s] {
			fmt.Fprintf(w, " %s=%d", cell.Fault, c.Cells[cell])
		}
		fmt.Fprintln(w)
	}
}
