package sqladopt

import (
	"context"
	"errors"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// made is what the statements of a collection were made for.
type made struct {
	c     adopt.Collection
	stamp stamp
}

// stamp is two texts, of which one is another after a change of the tables, or of foreign keys
// to contents. The second may take long, and is compared by transactions that look whether
// something refers to contents.
type stamp struct{ tables, references string }

// unmoved returns adopt.ErrChanged if the stamp is another now.
func (m *made) unmoved(now stamp) error {
	if now != m.stamp {
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
var verdicts = []error{errLost, errMarked, errCounted, errKept, errHeldBelow}

// changed adds adopt.ErrChanged to an error of a transaction if the tables changed: a
// statement that was made for others may fail in any way.
func (s scope) changed(ctx context.Context, err error) error {
	is := func(other error) bool { return errors.Is(err, other) }
	down := is(lethe.ErrUnavailable) && !sqldb.NoTable(err)
	if err == nil || s.made == nil || down || is(adopt.ErrChanged) || slices.ContainsFunc(verdicts, is) {
		return err
	}
	changed := s.db.readOn(ctx, s.runner, "look at the tables of "+s.name, func(t *tx) error {
		now, err := s.db.engine.stamp(t, s.made.c)
		if err != nil {
			return err
		}
		return s.made.unmoved(now)
	})
	if errors.Is(changed, adopt.ErrChanged) {
		return errors.Join(changed, err)
	}
	return err
}
