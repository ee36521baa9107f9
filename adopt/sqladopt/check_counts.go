package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
)

const (
	// firstCounts and lastCounts read counts of contents at either end of the
	// index of their keys, which for hashes is anywhere.
	firstCounts = `SELECT {c key}, {c count} FROM {contents} c ORDER BY c.{ckey} LIMIT ?1`
	lastCounts  = `SELECT {c key}, {c count} FROM {contents} c ORDER BY c.{ckey} DESC LIMIT ?1`
	// oftenNamed are the contents that the last rows name most.
	oftenNamed = `SELECT s.content FROM (SELECT {content} AS content FROM {rows} r ORDER BY r.{key} DESC LIMIT ?1) AS s
		WHERE s.content IS NOT NULL GROUP BY s.content ORDER BY count(*) DESC, s.content LIMIT ?2`

	// countsRead is how many contents at either end, and how many rows, are
	// looked at to choose sampledCounts of them.
	countsRead    = 500
	sampledCounts = 20
	// fewCounts is the number of wrong counts that may be the application's
	// work in progress, or drift, even if they are most of a sample.
	fewCounts = 2
)

// oddCounts compares the counts of some contents with the rows that refer to
// them. A column that is no count is a problem: Lethe would decrement it.
func (c *Collection) oddCounts(ctx context.Context) (out []adopt.Finding, err error) {
	if c.c.Contents == nil || c.c.Contents.Count == "" {
		return nil, nil
	}
	err = c.read(ctx, "look at the counts of contents", func(t *tx) error {
		out = nil
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		keys, err := c.sampleCounts(t)
		if err != nil || len(keys) == 0 {
			return err
		}
		counted, err := c.counted(t, keys)
		if err != nil {
			return err
		}
		if wrong := slices.DeleteFunc(slices.Clone(counted), Drift.right); len(wrong) > 0 {
			out = []adopt.Finding{c.drifted(wrong, len(counted))}
		}
		return nil
	})
	if errors.Is(err, errNoInteger) {
		return []adopt.Finding{{Problem: true, What: err.Error(), Do: "correct contents.count, or leave it out"}}, nil
	}
	if sqldb.TooLong(err) {
		return c.uncompared(ctx)
	}
	return out, err
}

// uncompared returns the finding for counts that were not compared with the rows in
// time: a problem if an index is missing.
func (c *Collection) uncompared(ctx context.Context) ([]adopt.Finding, error) {
	missing, err := c.unindexed(ctx)
	f := adopt.Finding{
		What: fmt.Sprintf("counts of %s were not compared with the rows: a statement takes longer than %s", c.c.Contents.Table, c.db.o.LookTime),
		Do:   "lethe adopt recount FILE " + c.name + " compares all, 1,000 at a time",
	}
	if len(missing) > 0 {
		f.Problem, f.Do = true, strings.Join(missing, ";\n")
	}
	return []adopt.Finding{f}, err
}

// unindexed returns the statements that create the indexes by which rows that refer to
// contents are found, where none fits.
func (c *Collection) unindexed(ctx context.Context) (missing []string, err error) {
	for _, tr := range c.lookups() {
		err := c.read(ctx, "try to "+tr.what, func(t *tx) error {
			whole, err := c.db.engine.readsWhole(t, tr)
			if whole {
				missing = append(missing, tr.index)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return missing, nil
}

// sampleCounts returns the keys of up to sampledCounts contents: those that the
// last rows name most, with a count above 1, with 0, and others.
func (c *Collection) sampleCounts(t *tx) (keys []string, err error) {
	often, err := all(t, text, oftenNamed, countsRead, sampledCounts/4)
	if err != nil {
		return nil, err
	}
	first, err := all(t, c.scanCount, firstCounts, countsRead)
	if err != nil {
		return nil, err
	}
	last, err := all(t, c.scanCount, lastCounts, countsRead)
	if err != nil {
		return nil, err
	}
	var mixed []Drift
	for i := range max(len(first), len(last)) {
		mixed = append(mixed, first[min(i, len(first)):min(i+1, len(first))]...)
		mixed = append(mixed, last[min(i, len(last)):min(i+1, len(last))]...)
	}
	keys = often
	for _, some := range []struct {
		upTo int
		fits func(count sql.NullInt64) bool
	}{
		{sampledCounts / 2, func(count sql.NullInt64) bool { return count.Int64 > 1 }},
		{sampledCounts * 3 / 4, func(count sql.NullInt64) bool { return count.Valid && count.Int64 == 0 }},
		{sampledCounts, func(sql.NullInt64) bool { return true }},
	} {
		for _, d := range mixed {
			if len(keys) < some.upTo && some.fits(d.Count) && !slices.Contains(keys, d.Content) {
				keys = append(keys, d.Content)
			}
		}
	}
	return keys, nil
}

// drifted returns the finding for wrong counts in a sample: that the column is
// no count if most are wrong, and more than a few too low or all the same, or all far.
// Counts that are somewhat too high may be of rows that no foreign key shows; they
// delete nothing.
func (c *Collection) drifted(wrong []Drift, sampled int) adopt.Finding {
	column, such := c.c.Contents.Table+"."+c.c.Contents.Count, wrong[0]
	count := "NULL"
	if such.Count.Valid {
		count = strconv.FormatInt(such.Count.Int64, 10)
	}
	sample := fmt.Sprintf("%d of %s in %s differ from the number of rows that refer to the content, such as %q: count %s, rows %d",
		len(wrong), wording.Plural(int64(sampled), "sampled count", "sampled counts"), column, such.Content, count, such.Rows)
	recount := "lethe adopt recount FILE " + c.name + " lists wrong counts, and with --repair corrects them"
	near := func(d Drift) bool { return !d.far() }
	other := func(d Drift) bool { return d.Count != such.Count }
	unlike := slices.ContainsFunc(wrong, Drift.unlike) || !slices.ContainsFunc(wrong, other)
	if 2*len(wrong) > sampled && (len(wrong) > fewCounts && unlike || !slices.ContainsFunc(wrong, near)) {
		return adopt.Finding{Problem: true, What: column + " does not behave like a count of references: " + sample,
			Do: "name the column that is one in contents.count, or leave it out; if it is, give a foreign key to other tables that refer to " + c.c.Contents.Table + ";\n" +
				"if it is, and only wrong: " + recount}
	}
	return adopt.Finding{What: sample, Do: recount + ". Ones that change now are right a moment later"}
}

// unlike reports whether no rows that Lethe does not know of explain the count.
func (d Drift) unlike() bool { return !d.Count.Valid || d.Count.Int64 < d.Rows || d.far() }

// far reports whether a count is larger than a count of references is by
// mistake.
func (d Drift) far() bool { return d.Count.Int64 > 10*d.Rows+100 }
