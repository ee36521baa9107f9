package sim

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Coverage counts how often each cell of the fault matrix, and each pair of
// cells within one run, was hit.
type Coverage struct {
	Runs    int
	Effects []int // per run
	Faults  int
	Faulted int // runs with at least one fault
	Cells   map[Cell]int
	Pairs   map[[2]Cell]int
}

// NewCoverage makes an empty count.
func NewCoverage() *Coverage {
	return &Coverage{Cells: map[Cell]int{}, Pairs: map[[2]Cell]int{}}
}

// Add counts a run.
func (c *Coverage) Add(r Result) {
	c.Runs++
	c.Effects = append(c.Effects, r.Effects)
	c.Faults += len(r.Faults)
	if len(r.Faults) > 0 {
		c.Faulted++
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
	c.Faulted += d.Faulted
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
	fmt.Fprintf(w, "%d schedules, %d effects in the median, %d faults, %d schedules with at least one\n", c.Runs, c.Median(), c.Faults, c.Faulted)
	fmt.Fprintf(w, "%d cells of the fault matrix, the rarest %s hit %d times; %.1f %% of the pairs hit\n", len(Cells()), cell, n, 100*c.PairShare())
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
