package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

const (
	newestDue = `SELECT {micros}{r end}{close micros} FROM {rows} r WHERE ` + due + ` ORDER BY {r end} DESC LIMIT 1`
	zeroEnds  = `SELECT count(*) FROM (SELECT 1 FROM {rows} r WHERE {is live} AND {r end} = 0 LIMIT ?1) AS s`

	// implausible is the earliest plausible end; far is the latest.
	implausible = lethe.Time(631152000_000000)  // 1990
	far         = lethe.Time(7258118400_000000) // 2200
	mostZeros   = 1000
)

// units are those of numbers, from the smallest, by factors of 1,000.
var units = []string{"us", "ms", "s"}

// oddEnds finds ends in another unit than the description has, or 0: live rows
// would be removed.
func (c *Collection) oddEnds(ctx context.Context) (out []adopt.Finding, err error) {
	r := c.c.Rows
	if base := c.s.rows.columns[r.End].base; r.Unit == "" || strings.HasPrefix(base, "timestamp") || strings.HasPrefix(base, "date") {
		return nil, nil
	}
	err = c.read(ctx, "look at ends", func(t *tx) error {
		out = nil
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		var newest lethe.Time
		switch err := t.row(newestDue, c.end(t)).Scan(&newest); {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		var zeros int
		if err := t.row(zeroEnds, mostZeros).Scan(&zeros); err != nil {
			return err
		}
		switch {
		case zeros > 0:
			out = []adopt.Finding{{Problem: true, What: fmt.Sprintf("%d or more rows of %s have 0 as their %s, which is 1970: they have expired", zeros, r.Table, r.End),
				Do: fmt.Sprintf("if 0 stands for never, make it NULL: UPDATE %s SET %s = NULL WHERE %[2]s = 0; if for the past, write a time that has passed", table(r.Table), sqldb.Quoted(r.End))}}
		case newest < implausible:
			out = []adopt.Finding{{Problem: true, What: fmt.Sprintf("no row of %s that has expired ended after 1990, the last at %s: %s is not in %s", r.Table, newest, r.End, r.Unit),
				Do: "correct rows.unit" + likelier(r.Unit, newest)}}
		}
		return nil
	})
	if sqldb.TooLong(err) {
		tr := c.dueTrial()
		return []adopt.Finding{{Problem: true, What: fmt.Sprintf("whether %s of %s is in %s was not seen: a statement takes longer than %s", r.End, r.Table, r.Unit, c.db.o.LookTime), Do: tr.index}}, nil
	}
	return out, err
}

// likelier returns the unit in which an end would be plausible.
func likelier(unit string, end lethe.Time) string {
	larger := false
	for _, u := range units {
		if larger {
			if end *= 1000; end > implausible && end < far {
				return fmt.Sprintf(": in %s it would be %s", u, end)
			}
		}
		larger = larger || u == unit
	}
	return ", or the rows"
}
