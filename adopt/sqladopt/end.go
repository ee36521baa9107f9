package sqladopt

import (
	"context"
	"errors"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

var _ adopt.Ender = (*Collection)(nil)

// insertMarks skips contents that are condemned, or whose former object is: it counts fewer
// then.
var insertMarks = `INSERT INTO {lethe}condemned AS d (collection, content, object, state, due_at, fence, marked_at, attempts)
	SELECT ?2, t.content, t.object, 2, ?4, ?3, ?5, 1 FROM ` + sqldb.Rows(1, "content text", "object text") + ` WHERE TRUE
	ON CONFLICT (collection, content) DO UPDATE SET object = excluded.object, state = 2, due_at = excluded.due_at, fence = excluded.fence,
		marked_at = excluded.marked_at, attempts = d.attempts + 1, unseen_until = 0
	WHERE d.state = 1 AND (d.attempts = 0 OR d.object = excluded.object) OR d.state = 3 AND d.due_at <= ?5`

// errMarked reports that a content is condemned already, or that a trigger keeps
// it. Nothing was done.
var errMarked = errors.New("a content is condemned already, or something keeps it")

// End implements adopt.Ender.
func (c *Collection) End(ctx context.Context, claim adopt.Claim, r adopt.EndRequest) (out adopt.Settled, marked adopt.Marked, err error) {
	if c.c.Contents == nil || c.c.Guard != adopt.TriggerGuard || c.only != "" || !c.db.engine.endsContents() {
		out, err = c.Settle(ctx, claim, r.Again)
		return out, marked, err
	}
	end := contentEnd{late: r.Late}
	out, err = c.settle(ctx, claim, r.Again, &end)
	// The database may object to the end of a content, and not to that of a row.
	var refused *adopt.Refusal
	if errors.Is(err, errMarked) || errors.As(err, &refused) {
		out, err = c.Settle(ctx, claim, r.Again)
		return out, marked, err
	}
	return out, end.marked, err
}

// contentEnd is contents that are marked with their last rows.
type contentEnd struct {
	late time.Duration
	// atOnce: contents are locked against every reference when they are counted
	// down, if that takes no waiting.
	atOnce bool
	holds  holding
	marked adopt.Marked
}

// endContents marks locked contents that have lost their last reference,
// removes them and returns which. As Mark does, it checks again once new
// references are impossible.
func (c *Collection) endContents(t *tx, e *contentEnd, zero []content) (map[string]bool, error) {
	if e == nil || len(zero) == 0 {
		return nil, nil
	}
	e.marked = adopt.Marked{Fence: drawFence()}
	may, err := c.mayEnd(t, e, zero)
	if err != nil {
		return nil, err
	}
	var list []content
	for _, x := range zero {
		if may[x.Key] {
			list = append(list, x)
			e.marked.Contents = append(e.marked.Contents, adopt.Condemned{Content: x.Key, Object: x.Object})
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	n, err := t.exec(insertMarks, sqldb.JSON(list), c.name, e.marked.Fence, t.now.Add(e.late), t.now)
	switch {
	case err != nil:
		return nil, err
	case n != int64(len(list)):
		return nil, errMarked
	}
	n, err = t.exec(deleteContents, sqldb.JSON(contentKeys(list)))
	if err == nil && n != int64(len(list)) {
		err = errMarked
	}
	return may, err
}

func contentKeys(list []content) []string {
	keys := make([]string, len(list))
	for i, x := range list {
		keys[i] = x.Key
	}
	return keys
}

// mayEnd returns which of the locked contents may be marked.
func (c *Collection) mayEnd(t *tx, e *contentEnd, zero []content) (map[string]bool, error) {
	objects := make([]string, len(zero))
	for i, x := range zero {
		objects[i] = x.Object
	}
	keeps, err := c.keeps(e.holds, objects)
	if err != nil {
		return nil, err
	}
	unused, err := c.unused(t, e, contentKeys(zero))
	if err != nil || len(unused) == 0 {
		return nil, err
	}
	switch err := c.mayMark(t); {
	case errors.Is(err, adopt.ErrUnguarded), errors.Is(err, errMixed), errors.Is(err, errMeaning):
		return nil, nil // Mark reports it
	case err != nil:
		return nil, err
	}
	may := make(map[string]bool, len(unused))
	for _, x := range zero {
		may[x.Key] = unused[x.Key] && !keeps(x.Object) && c.c.Reaches(x.Object)
	}
	return may, nil
}

// unused returns which contents are locked against references and have none. A
// foreign key that refuses to remove referenced contents looks for references
// itself, after the lock; only a wrong count makes it refuse.
func (c *Collection) unused(t *tx, e *contentEnd, keys []string) (map[string]bool, error) {
	free, unused := keys, make(map[string]bool, len(keys))
	t.looked = true
	if e.atOnce && len(c.s.others) == 0 { // of other tables it looks for none
		refusing, err := c.db.engine.refusing(t, c)
		if err != nil {
			return nil, err
		}
		if refusing {
			for _, k := range keys {
				unused[k] = true
			}
			return unused, nil
		}
	} else {
		locked, err := all(t, text, c.texts().free, sqldb.JSON(keys))
		if err != nil || len(locked) == 0 {
			return nil, err
		}
		free = locked
	}
	seen, err := c.look(t, free)
	for k, l := range seen {
		unused[k] = !l.referenced
	}
	return unused, err
}
