package sqlledger

import (
	"context"
	"errors"
	"fmt"
)

const (
	// vacuumStep is how many pages one transaction gives back, vacuumSmall how many if
	// fewer than that are asked for: others wait for it.
	vacuumStep  = 256
	vacuumSmall = 64
	// vacuumSlack is the share of the pages in use that stays free beside them, for
	// what is written next: one in so many.
	vacuumSlack = 8
)

var (
	incrementalVacuum = registerFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumStep))
	smallVacuum       = registerFor("sqlite", fmt.Sprintf(`PRAGMA incremental_vacuum(%d)`, vacuumSmall))
	freePages         = registerFor("sqlite", `PRAGMA freelist_count`)
	allPages          = registerFor("sqlite", `PRAGMA page_count`)
)

// Vacuum gives up to so many unused pages of the file back to the disk, rounded
// up to small steps between which others write, but for an eighth of those in use.
// It returns how many it gave back; fewer than asked for means that there are no
// more to give. PostgreSQL does so by itself (autovacuum).
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

// sparePages are the unused pages beyond the slack.
func (t *tx) sparePages() (int, error) {
	var free, all int
	if err := t.row(freePages).Scan(&free); err != nil {
		return 0, t.failed(err)
	}
	err := t.row(allPages).Scan(&all)
	return free - (all-free)/vacuumSlack, t.failed(err)
}
