package bench

import (
	"fmt"
	"time"
)

// Table reports the comparison.
func (c Clustered) Table(title string) *Table {
	t := &Table{Title: title}
	rows := series(c.Rows, Work.Rate)
	if len(c.Work) > 0 {
		c.whole(t, rows)
	}
	t.Add("the database alone, objects/s", rows)
	if len(c.Work) == 0 {
		counted(t, c.Rows, []measure{measures[2], cacheCalls, tableRows})
		t.Add("peak memory, MiB", series(c.Rows, func(w Work) float64 { return float64(w.Peak) / (1 << 20) }))
		for _, w := range c.Rows {
			t.Add("by tenths, objects/s", tenths(w.Tenths()))
		}
	}
	progress(t, c.Samples)
	return t
}

// whole reports the runs with everything.
func (c Clustered) whole(t *Table, rows Series) {
	rate := series(c.Work, Work.Rate)
	limit := Series{}
	for i := range min(len(rows), len(c.Deletes)) {
		limit = append(limit, 1/(1/rows[i]+1/c.Deletes[i]))
	}
	t.Add("reclaimed, objects/s", rate)
	t.Add("the S3 server alone, objects/s", c.Deletes)
	t.Add("both in series, 1/(1/b + 1/c), objects/s", limit)
	t.Add("share of that", rate.Ratios(limit))
	if one := series(c.One, Work.Rate); len(one) > 0 {
		t.Add("one row at a time, objects/s", one)
		t.Add("times that", rate.Ratios(one))
	}
	counted(t, c.Work, []measure{s3Calls, cacheCalls, measures[2], tableRows})
	t.Add("peak memory, MiB", series(c.Work, func(w Work) float64 { return float64(w.Peak) / (1 << 20) }))
	each := func(d time.Duration) float64 { return float64(d) / 1e3 / float64(max(c.Objects, 1)) }
	t.Add("engine's CPU, us per object", series(c.Work, func(w Work) float64 { return each(w.CPU) }))
	t.Add("database's CPU, us per object", series(c.Database, func(s Spent) float64 { return each(s.Postgres) }))
	t.Add("S3 server's CPU, us per object", series(c.Database, func(s Spent) float64 { return each(s.S3) }))
	t.Add("database time, us per object", series(c.Database, func(s Spent) float64 { return each(s.Active) }))
	for _, step := range []string{"expire", "cache", "claim", "delete", "settle"} {
		t.Add("time in "+step+", us per object", series(c.Work, func(w Work) float64 { return each(w.Steps[step]) }))
	}
	for _, w := range c.Work {
		t.Add("by tenths, objects/s", tenths(w.Tenths()))
	}
}

var (
	s3Calls    = measure{"requests to the S3 server", func(w Work) float64 { return float64(w.Requests) }}
	tableRows  = measure{"rows read", func(w Work) float64 { return float64(w.Rows) }}
	cacheCalls = measure{"calls to Redis", func(w Work) float64 { return float64(w.Drops) }}
)

// counted adds measures per 1,000 objects.
func counted(t *Table, runs []Work, ms []measure) {
	for _, m := range ms {
		t.Add(fmt.Sprintf("%s per 1,000 objects", m.name), series(runs, func(w Work) float64 { return m.of(w) * 1000 / float64(w.Objects) }))
	}
}
