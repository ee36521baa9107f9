package sqladopt

import (
	"context"
	"fmt"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
)

const (
	// namedSample counts the values by which the first and the last rows name contents, and
	// those that are keys of contents.
	namedSample = `SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM {contents} c WHERE c.{ckey} = s.content) THEN 1 ELSE 0 END), 0)
		FROM (SELECT f.content FROM (SELECT r.{content column} AS content FROM {rows} r ORDER BY r.{key} LIMIT ?1) f
			UNION SELECT l.content FROM (SELECT r.{content column} AS content FROM {rows} r ORDER BY r.{key} DESC LIMIT ?1) l) s
		WHERE s.content IS NOT NULL`
	// namedRows is how many rows at either end of the index of their keys are looked at.
	namedRows = 500
	// provesNothing is the number of values up to which a run does not doubt the description.
	provesNothing = 10
)

// namedValues is how many values of rows.content were looked at, and how many are keys of contents.
type namedValues struct{ values, known int64 }

// few reports whether nearly none is: then it is another column than described, or the
// contents are not those of the rows.
func (n namedValues) few() bool { return n.values >= provesNothing && 10*n.known < n.values }

// String implements fmt.Stringer.
func (n namedValues) String() string {
	return fmt.Sprintf("keys of contents are %d of %s in the first and last rows", n.known, wording.Plural(int64(n.values), "value", "values"))
}

func (c *Collection) named(t *tx) (n namedValues, err error) {
	err = t.row(namedSample, namedRows).Scan(&n.values, &n.known)
	return n, err
}

// oddContents finds that values of rows.content are no keys of contents: without counts, each
// content would look unreferenced.
func (c *Collection) oddContents(ctx context.Context) (out []adopt.Finding, err error) {
	if c.c.Contents == nil {
		return nil, nil
	}
	of := c.c.Rows.Content + " of " + c.c.Rows.Table
	err = c.read(ctx, "look whether rows name contents", func(t *tx) error {
		out = nil
		if err := c.db.engine.allow(t, c.db.o.LookTime); err != nil {
			return err
		}
		n, err := c.named(t)
		if err == nil && n.values > 0 && (n.known == 0 || n.few()) {
			out = []adopt.Finding{{Problem: true, What: fmt.Sprintf("%s does not name contents of %s: %s", of, c.c.Contents.Table, n),
				Do: "correct rows.content, or contents.key; if they are right, the rows whose contents are gone"}}
		}
		return err
	})
	if sqldb.TooLong(err) {
		return []adopt.Finding{{Problem: true, What: fmt.Sprintf("whether %s names contents was not seen: a statement takes longer than %s", of, c.db.o.LookTime),
			Do: "check again when the database is less busy"}}, nil
	}
	return out, err
}

// plausible returns adopt.ErrFewRows if nearly no row names a content that exists: of contents
// without counts, nothing else tells that they are in use.
func (c *Collection) plausible(t *tx) error {
	if c.c.Contents == nil || c.c.Contents.Count != "" {
		return nil
	}
	n, err := c.named(t)
	if err == nil && n.few() {
		err = fmt.Errorf("%w: %s, and none is touched: \"lethe adopt check\" says more", adopt.ErrFewRows, n)
	}
	return err
}
