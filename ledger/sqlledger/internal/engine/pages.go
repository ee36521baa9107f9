package engine

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

const (
	// VacuumStep is how many pages one transaction frees: other writes wait for it.
	VacuumStep = 256
	// VacuumSmall is how many it frees if fewer than VacuumStep are asked for.
	VacuumSmall = 64
	// vacuumSlack is the share of free pages that stays for the next writes: one for so many
	// pages in use.
	vacuumSlack = 8
)

var (
	incrementalVacuum = RegisterFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, VacuumStep))
	smallVacuum       = RegisterFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, VacuumSmall))
	freePages         = RegisterFor("sqlite", `PRAGMA freelist_count`)
	allPages          = RegisterFor("sqlite", `PRAGMA page_count`)
)

// Vacuum returns one step of unused pages to the disk, a small one for fewer than VacuumStep
// pages. It returns how many it freed: none if there are not enough beyond the slack.
// PostgreSQL: errors.ErrUnsupported.
func (t *Tx) Vacuum(pages int) (freed int, err error) {
	if t.e.File == nil {
		return 0, fmt.Errorf("PostgreSQL does that itself (autovacuum): %w", errors.ErrUnsupported)
	}
	step, query := VacuumStep, incrementalVacuum
	if pages < VacuumStep {
		step, query = VacuumSmall, smallVacuum
	}
	before, err := t.sparePages()
	if err != nil || before < step {
		return 0, err
	}
	if _, err := t.Exec(query); err != nil {
		return 0, err
	}
	after, err := t.sparePages()
	return before - after, err
}

// sparePages returns the number of unused pages beyond the slack.
func (t *Tx) sparePages() (int, error) {
	var free, all int
	if err := t.Row(freePages).Scan(&free); err != nil {
		return 0, t.Failed(err)
	}
	err := t.Row(allPages).Scan(&all)
	return free - (all-free)/vacuumSlack, t.Failed(err)
}

// PagesVisited returns how many pages of the file the writing connection has read, cached or
// not: the sum of its cache hits and misses. PostgreSQL: errors.ErrUnsupported.
func (t *Tx) PagesVisited() (n int64, err error) {
	if t.e.File == nil {
		return 0, fmt.Errorf("PostgreSQL counts rows itself (pg_stat_user_tables): %w", errors.ErrUnsupported)
	}
	err = t.s.Conn.Raw(func(conn any) error {
		status, ok := conn.(sqlite.DBStatus)
		if !ok {
			return errors.ErrUnsupported
		}
		for _, op := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
			some, _, err := status.Status(op, false)
			if err != nil {
				return err
			}
			n += int64(some)
		}
		return nil
	})
	return n, err
}
