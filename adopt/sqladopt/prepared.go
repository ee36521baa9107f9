package sqladopt

import (
	"context"
	"errors"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// prepared is what the statements of a collection were prepared for.
type prepared struct {
	c           adopt.Collection
	fingerprint fingerprint
}

// fingerprint is two texts that change with the schema: tables with the collection's tables,
// references with the foreign keys to its contents. The second may take long to read. Only
// transactions that look for references to contents compare it.
type fingerprint struct{ tables, references string }

// unchanged returns adopt.ErrChanged if the fingerprint is another now.
func (m *prepared) unchanged(now fingerprint) error {
	if now != m.fingerprint {
		return adopt.ErrChanged
	}
	return nil
}

// tablesOf returns the names of a collection's tables; that of contents may be empty.
func tablesOf(c adopt.Collection) (rows, contents string) {
	if c.Contents != nil {
		contents = c.Contents.Table
	}
	return c.Rows.Table, contents
}

// verdicts are errors that say what other workers, triggers or counts did. They come often,
// and other tables are not their reason.
var verdicts = []error{errLost, errMarked, errCounted, errKept, errHeldBelow, errMeaning}

// changed adds adopt.ErrChanged to an error of a transaction if the tables changed: a
// statement that was made for others may fail in any way.
func (s scope) changed(ctx context.Context, err error) error {
	is := func(other error) bool { return errors.Is(err, other) }
	down := is(lethe.ErrUnavailable) && !sqldb.NoTable(err)
	if err == nil || s.prepared == nil || down || is(adopt.ErrChanged) || slices.ContainsFunc(verdicts, is) {
		return err
	}
	changed := s.db.readOn(ctx, s.runner, "look at the tables of "+s.name, func(t *tx) error {
		now, err := s.db.engine.fingerprint(t, s.prepared.c)
		if err != nil {
			return err
		}
		return s.prepared.unchanged(now)
	})
	if errors.Is(changed, adopt.ErrChanged) {
		return errors.Join(changed, err)
	}
	return err
}
