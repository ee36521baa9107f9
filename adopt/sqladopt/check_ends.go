package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
)

const (
	newestDue = `SELECT {micros}{r end}{close micros} FROM {rows} r WHERE {is live} AND {is past} ORDER BY {r end} DESC LIMIT 1`
	lateEnd   = `SELECT 1 FROM {rows} r WHERE {is live} AND {r end} > {as end}?1{close end} ORDER BY {r end} DESC LIMIT 1`
	endless   = `SELECT 1 FROM {rows} r WHERE {is live} AND {r end} IS NULL LIMIT 1`
	earlyEnds = `SELECT {r key}, {end text} FROM {rows} r WHERE {is live} AND {is past} ORDER BY {r end} LIMIT ?2`

	firstEnd = `SELECT {end text} FROM {rows} r WHERE {is live} AND {r end} > {as end}?1{close end} ORDER BY {r end} LIMIT 1`

	// implausible is the earliest plausible end; far is the latest.
	implausible = lethe.Time(631152000_000000)  // 1990
	far         = lethe.Time(7258118400_000000) // 2200
	mostEarly   = 1000
	// fewEnds is the number of rows that may all have expired by chance.
	fewEnds = 100
)

// units are those of numbers, from the smallest, by factors of 1,000.
var units = []string{"us", "ms", "s"}

// oddEnds finds ends in another unit than the description has, or that may stand
// for never: live rows would be removed.
func (c *Collection) oddEnds(ctx context.Context) (out []adopt.Finding, err error) {
	r := c.c.Rows
	err = c.read(ctx, "look at ends", func(t *tx) error {
		out = c.days()
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		early, err := all(t, func(r *sql.Rows) (row [2]string, err error) {
			err = r.Scan(&row[0], &row[1])
			return row, err
		}, earlyEnds, implausible, mostEarly)
		if err != nil {
			return err
		}
		if len(early) == 0 {
			tooFar, err := c.tooFar(t)
			out = append(out, tooFar...)
			return err
		}
		var newest lethe.Time
		if err := t.row(newestDue, c.end(t)).Scan(&newest); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		base := c.s.rows.columns[r.End].base
		number := r.Unit != "" && !strings.HasPrefix(base, "timestamp") && !strings.HasPrefix(base, "date")
		if number && newest > 0 && newest < implausible {
			out = append(out, adopt.Finding{Problem: true, What: fmt.Sprintf("no row of %s that has expired ended after 1990, the last at %s: %s is not in %s", r.Table, newest, r.End, r.Unit),
				Do: "correct rows.unit" + likelier(float64(newest)/math.Pow(1000, float64(slices.Index(units, r.Unit))))})
			return nil
		}
		out = append(out, c.never(early))
		return nil
	})
	if sqldb.TooLong(err) {
		tr := c.dueTrial()
		return []adopt.Finding{{Problem: true, What: fmt.Sprintf("whether %s of %s is plausible was not seen: a statement takes longer than %s", r.End, r.Table, c.db.o.LookTime), Do: tr.index}}, nil
	}
	return out, err
}

// tooFar finds that no row ends before 2200, where it would in a smaller unit: rows would stay for
// thousands of years.
func (c *Collection) tooFar(t *tx) ([]adopt.Finding, error) {
	r := c.c.Rows
	if slices.Index(units, r.Unit) < 1 {
		return nil, nil
	}
	var end string
	err := t.row(firstEnd, implausible).Scan(&end)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	n, parse := strconv.ParseFloat(end, 64)
	if err != nil || parse != nil {
		return nil, err
	}
	unit, at := plausibleUnit(n)
	if unit == "" || slices.Index(units, unit) >= slices.Index(units, r.Unit) {
		return nil, nil
	}
	return []adopt.Finding{{Problem: true, What: fmt.Sprintf("no row of %s ends before 2200, the first at %s: %s is not in %s", r.Table, end, r.End, r.Unit),
		Do: fmt.Sprintf("correct rows.unit: in %s it would be %s", unit, at)}}, nil
}

// allEnded finds that nothing would be left: every live row has expired, as if rows.end were
// the time of their creation. Rows that are kept longer than their end, as soft deletes
// are, and a limit of a run say that such ends are meant. A collection that was worked on
// before is not asked about again: what it has may well expire all at once.
func (c *Collection) allEnded(ctx context.Context) (out []adopt.Finding, err error) {
	r := c.c.Rows
	if r.Keep > 0 || c.c.Limit > 0 {
		return nil, nil
	}
	err = c.read(ctx, "look for rows that live", func(t *tx) error {
		out = nil
		if worked, err := c.worked(t); err != nil || worked {
			return err
		}
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		var n int64
		if err := t.row(countDue, c.end(t), fewEnds).Scan(&n); err != nil || n < fewEnds {
			return err
		}
		for _, look := range []struct {
			text string
			args []any
		}{{lateEnd, []any{c.end(t)}}, {endless, nil}} {
			if lives, err := all(t, func(*sql.Rows) (bool, error) { return true, nil }, look.text, look.args...); err != nil || len(lives) > 0 {
				return err
			}
		}
		out = []adopt.Finding{{Problem: true, What: fmt.Sprintf("every row of %s has expired, and the first run would remove them all: %s may be no column of ends", r.Table, r.End),
			Do: "correct rows.end; if they really have all expired, write the most rows that a run may take (limit: 10000)"}}
		return nil
	})
	if sqldb.TooLong(err) {
		return []adopt.Finding{{What: "no row of " + r.Table + " that lives was found in " + c.db.o.LookTime.String() + ": " + r.End + " may be no column of ends",
			Do: "look at such rows, or: " + c.index(table(r.Table), sqldb.Quoted(r.End), "")}}, nil
	}
	return out, err
}

// worked reports whether Lethe took something of the collection before, or has a hold on it.
func (c *Collection) worked(t *tx) (bool, error) {
	installed, err := c.db.engine.has(t, "collections")
	if err != nil || !installed {
		return false, err
	}
	found, err := all(t, text, `SELECT name FROM {lethe}collections WHERE name = ?1`, c.name)
	return len(found) > 0, err
}

// days returns the finding for a column of days.
func (c *Collection) days() []adopt.Finding {
	if !strings.EqualFold(c.s.rows.columns[c.c.Rows.End].kind, "date") {
		return nil
	}
	return []adopt.Finding{{What: c.c.Rows.End + " is a date: a row ends when that day begins",
		Do: "if it is to live through the day, let rows.end name a column that has the day after"}}
}

// never returns the finding for rows, with their ends, that ended before 1990.
func (c *Collection) never(early [][2]string) adopt.Finding {
	r, such := c.c.Rows, early[0]
	ended := wording.Plural(int64(len(early)), "row", "rows") + " of " + r.Table
	if len(early) == mostEarly {
		ended = fmt.Sprintf("%d or more rows of %s", mostEarly, r.Table)
	}
	value := such[1]
	if _, err := strconv.ParseInt(value, 10, 64); err != nil {
		value = sqldb.Literal(value)
	}
	return adopt.Finding{Problem: true, What: fmt.Sprintf("%s ended before 1990, such as %q at %s: that may stand for never, so that they stay", ended, such[0], such[1]),
		Do: fmt.Sprintf("if it stands for never, make it NULL, or a time far ahead: UPDATE %s SET %s = NULL WHERE %[2]s = %s; if your application has to read it so, "+
			"let rows.end be a column that is generated from it: NULLIF(%[2]s, %[3]s); if it stands for the past, write a time since 1990", table(r.Table), sqldb.Quoted(r.End), value)}
}

// likelier says in which unit a number would be a plausible end.
func likelier(n float64) string {
	if unit, at := plausibleUnit(n); unit != "" {
		return fmt.Sprintf(": in %s it would be %s", unit, at)
	}
	return ", or the rows"
}

// plausibleUnit returns the only unit in which a number is a plausible end, and when that is.
func plausibleUnit(n float64) (unit string, at lethe.Time) {
	for i, u := range units {
		if micros := n * math.Pow(1000, float64(i)); micros > float64(implausible) && micros < float64(far) {
			return u, lethe.Time(math.Round(micros))
		}
	}
	return "", 0
}
