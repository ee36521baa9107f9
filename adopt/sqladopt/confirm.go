package sqladopt

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// errLost reports that another worker has some of the marks, or that they have
// to be locked first. Nothing was done.
var errLost = errors.New("another worker has taken marks over")

// Confirm implements adopt.Contents. If the database objects to removing a
// content, that one stays, and the others are confirmed in transactions of
// their own.
func (c *Collection) Confirm(ctx context.Context, fence int64, outcomes []adopt.Outcome, g adopt.Grace) (out adopt.Confirmed, err error) {
	out, err = c.confirm(ctx, fence, outcomes, g, false)
	if _, objects := sqldb.Objection(err); !objects {
		return out, err
	}
	if len(outcomes) == 1 {
		return c.confirm(ctx, fence, outcomes, g, true)
	}
	out = adopt.Confirmed{}
	for half := range slices.Chunk(outcomes, (len(outcomes)+1)/2) {
		some, err := c.Confirm(ctx, fence, half, g)
		if err != nil {
			return out, err
		}
		out = adopt.Confirmed{Gone: out.Gone + some.Gone, Failed: out.Failed + some.Failed, Lost: out.Lost + some.Lost, Broken: append(out.Broken, some.Broken...)}
	}
	slices.Sort(out.Broken)
	return out, nil
}

// confirm is Confirm as one transaction. With stay no content is removed.
func (c *Collection) confirm(ctx context.Context, fence int64, outcomes []adopt.Outcome, g adopt.Grace, stay bool) (out adopt.Confirmed, err error) {
	keys, again := make([]string, len(outcomes)), map[string]bool{}
	for i, o := range outcomes {
		keys[i], again[o.Content] = o.Content, o.Again
	}
	if !slices.ContainsFunc(outcomes, func(o adopt.Outcome) bool { return o.Failed != "" || o.Unseen }) {
		err = c.relaxed(ctx, "confirm contents", func(t *tx) error {
			out = adopt.Confirmed{Gone: len(keys)}
			return c.endGone(t, ending{fence, keys, again, g, stay}, &out)
		})
		if !errors.Is(err, errLost) {
			return out, err
		}
	}
	err = c.relaxed(ctx, "confirm contents", func(t *tx) error {
		marks, err := c.marks(t, fence, keys)
		if err != nil {
			return err
		}
		out = adopt.Confirmed{}
		var ended, unseen []string
		var failed []failure
		for _, o := range outcomes {
			m, ours := marks[o.Content]
			switch {
			case !ours:
				out.Lost++
			case o.Failed == "":
				ended = append(ended, o.Content)
				if o.Unseen {
					unseen = append(unseen, o.Content)
				}
			default:
				f := failure{ID: o.Content, Due: t.now.Add(backoff(m.attempts)), Error: o.Failed}
				if o.Unseen {
					f.Unseen = t.now.Add(g.Late)
				}
				failed = append(failed, f)
			}
		}
		out.Gone, out.Failed = len(ended), len(failed)
		seen, err := c.lookLocked(t, ended)
		if err != nil {
			return err
		}
		// One that has another object now is not the one whose object is gone.
		maps.DeleteFunc(seen, func(key string, l look) bool { return l.object != marks[key].Object })
		if err := errors.Join(c.failMarks(t, failed), c.unseenMarks(t, unseen, g)); err != nil {
			return err
		}
		return c.endMarks(t, ending{fence, ended, again, g, stay}, seen, &out)
	})
	return out, err
}

// failMarks schedules deletions to be retried.
func (c *Collection) failMarks(t *tx, failed []failure) error {
	if len(failed) == 0 {
		return nil
	}
	_, err := t.exec(failMarks, c.name, sqldb.JSON(failed))
	return err
}

// unseenMarks records that deletes of contents may yet take effect, although later
// ones succeeded.
func (c *Collection) unseenMarks(t *tx, keys []string, g adopt.Grace) error {
	return c.onKeys(t, unseenMarks, keys, t.now.Add(g.Late))
}

// lookLocked locks contents, and reads them. It precedes changes of marks: a
// guard in a transaction with one snapshot locks a content, and waits for its
// mark.
func (c *Collection) lookLocked(t *tx, keys []string) (map[string]look, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	if hold := c.texts().hold; hold != "" {
		if held, err := all(t, text, hold, sqldb.JSON(keys)); err != nil || len(held) == 0 {
			return nil, err
		}
	}
	return c.look(t, keys)
}

// marks locks the marks of contents, and returns those of this worker.
func (c *Collection) marks(t *tx, fence int64, keys []string) (map[string]condemnedRow, error) {
	marks := map[string]condemnedRow{}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var m condemnedRow
		var ours bool
		if err = r.Scan(&m.Content, &m.Object, &m.attempts, &ours); err == nil && ours {
			marks[m.Content] = m
		}
		return none, err
	}, markedRows, c.name, sqldb.JSON(keys), fence)
	return marks, err
}

// ending is contents whose objects are gone, and the worker that has their
// marks.
type ending struct {
	fence    int64
	contents []string
	again    map[string]bool // objects that were looked for again
	grace    adopt.Grace
	stay     bool // in the table, as the database objects to their removal
}

// endGone ends marks whose contents are gone already. It fails with errLost if
// one exists, or a mark was not the worker's. Such marks need not be locked
// first.
func (c *Collection) endGone(t *tx, e ending, out *adopt.Confirmed) error {
	seen, err := c.look(t, e.contents)
	switch {
	case err != nil:
		return err
	case len(seen) > 0 && c.texts().hold != "":
		return errLost
	}
	return c.endMarks(t, e, seen, out)
}

// endMarks ends marks and removes their locked contents. The marks of those that the database
// keeps stay: nothing may refer to them, and they are tried again. It fails with errLost.
func (c *Collection) endMarks(t *tx, e ending, seen map[string]look, out *adopt.Confirmed) error {
	if len(e.contents) == 0 {
		return nil
	}
	keys := sqldb.JSON(e.contents)
	n, err := t.exec(endMarks, c.name, keys, t.now, c.lasts(e.grace).Microseconds(), e.fence)
	switch {
	case err != nil:
		return err
	case n != int64(len(e.contents)):
		return errLost
	}
	var free, kept []string
	for _, key := range e.contents {
		switch l, exists := seen[key]; {
		case !exists: // another transaction removed it
		case l.unreferenced && !l.referenced && e.stay:
			kept = append(kept, key)
		case l.unreferenced && !l.referenced:
			free = append(free, key)
		default:
			out.Broken = append(out.Broken, key)
		}
	}
	more, err := c.removeContents(t, free)
	if err != nil {
		return err
	}
	kept = append(kept, more...)
	if err := c.onKeys(t, stayMarks, kept, t.now.Add(adopt.HeldRest)); err != nil {
		return err
	}
	out.Broken = append(out.Broken, kept...)
	slices.Sort(out.Broken)
	if err := c.trouble(t, insertMissing, objectGone, out.Broken); err != nil {
		return err
	}
	first, err := c.dropLooked(t, e, seen, out)
	if err != nil || len(first) == 0 {
		return err
	}
	kind := "objects"
	if c.c.Rows.OwnFolders() { // whose objects are not written down one by one
		kind = "folders"
	}
	return t.send(insertReceipt, c.name, kind, t.now, sqldb.JSON(first))
}

// lasts returns how long a mark stays after its object is gone.
func (c *Collection) lasts(g adopt.Grace) time.Duration {
	if c.c.Guard == adopt.QuarantineGuard {
		return g.LooksAgain()
	}
	return g.LongestWrite
}

// dropLooked removes the marks of objects that were looked for again and whose contents still
// have no row. It returns the other contents.
func (c *Collection) dropLooked(t *tx, e ending, seen map[string]look, out *adopt.Confirmed) (first []string, err error) {
	var over []string
	for _, key := range e.contents {
		if _, exists := seen[key]; e.again[key] && !exists {
			over = append(over, key)
		} else {
			first = append(first, key)
		}
	}
	out.Gone -= len(over)
	return first, c.onKeys(t, dropMarks, over)
}

// removeContents removes contents, and returns those that a trigger or rule
// keeps.
func (c *Collection) removeContents(t *tx, keys []string) (kept []string, err error) {
	remove := c.texts().remove
	if remove == "" || len(keys) == 0 {
		return nil, nil
	}
	n, err := t.exec(remove, sqldb.JSON(keys))
	if err != nil || n == int64(len(keys)) {
		return nil, err
	}
	seen, err := c.look(t, keys)
	return slices.Collect(maps.Keys(seen)), err
}

// backoff returns the delay of a deletion after some attempts: 30 s, doubled,
// up to an hour.
func backoff(attempts int) time.Duration {
	return lethe.Backoff(30*time.Second, time.Hour, attempts-1)
}
