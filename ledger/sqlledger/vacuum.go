package sqlledger

import (
	"context"
	"errors"
	"fmt"
)

const (
	// vacuumStep is how many pages one transaction frees, vacuumSmall how many if fewer are
	// asked for: other writes wait for it.
	vacuumStep  = 256
	vacuumSmall = 64
	// vacuumSlack is the share of free pages that stays for the next writes: one for so many
	// pages in use.
	vacuumSlack = 8
)

var (
	incrementalVacuum = registerFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumStep))
	smallVacuum       = registerFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumSmall))
	freePages         = registerFor("sqlite", `PRAGMA freelist_count`)
	allPages          = registerFor("sqlite", `PRAGMA page_count`)
)

// Vacuum returns up to pages unused pages of the file to the disk, in small steps between
// which others write. It keeps an eighth of the pages in use as slack. It returns how many
// it freed; fewer than asked for means that no more are free. PostgreSQL does this itself
// (autovacuum).
func (db *DB) Vacuum(ctx context.Context, pages int) (freed int, err error) {
	if db.file == nil {
		return 0, fmt.Errorf("ledger: vacuum: PostgreSQL does that itself (autovacuum): %w", errors.ErrUnsupported)
	}
	if db.dialect.Name != sqliteDialect.Name {
		return 0, nil
	}
	step, query := vacuumStep, incrementalVacuum
	if pages < vacuumStep {
		step, query = vacuumSmall, smallVacuum
	}
	for freed < pages {
		var before, after int
		err := db.batch(ctx, "vacuum", func(t *tx) (err error) {
			before, after = 0, 0
			if before, err = t.sparePages(); err != nil || before < step {
				after = before
				return err
			}
			if _, err = t.exec(query); err == nil {
				after, err = t.sparePages()
			}
			return err
		})
		if err != nil || after >= before {
			return freed, err
		}
		freed += before - after
	}
	return freed, nil
}

// sparePages returns the number of unused pages beyond the slack.
func (t *tx) sparePages() (int, error) {
	var free, all int
	if err := t.row(freePages).Scan(&free); err != nil {
		return 0, t.failed(err)
	}
	err := t.row(allPages).Scan(&all)
	return free - (all-free)/vacuumSlack, t.failed(err)
}
