package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// States of lethe.condemned.
const (
	waiting   = 1
	condemned = 2
	gone      = 3
)

const (
	// findContents is bounded by the rows it reads, not by those it finds.
	findContents = `SELECT {c key}, {object}, CASE WHEN {referenced}
		OR EXISTS (SELECT 1 FROM {lethe}condemned d WHERE d.collection = ?3 AND d.content = {c key} {binary}) THEN 1 ELSE 0 END
		FROM {contents} c WHERE {unreferenced} AND (?1 = '' OR c.{ckey} > {ckey after})
		ORDER BY c.{ckey} LIMIT ?2`
	// takeDue returns contents that are due, and those whose worker is silent.
	takeDue = `SELECT d.content, d.object, d.state, d.attempts FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state = ?2 AND d.due_at <= ?3 ORDER BY d.due_at LIMIT ?4 ` + sqldb.Locked
	takeOnly = `SELECT d.content, d.object, d.state, d.attempts FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state = ?2 AND d.due_at <= ?3 AND d.content IN (SELECT id FROM {ids 5}) ORDER BY d.due_at LIMIT ?4 ` + sqldb.Locked
	// freeContents locks contents against every reference, those of foreign
	// keys included; it skips what the application has locked.
	freeContents = `SELECT {c key} FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ` + sqldb.Locked
	// lookAgain is a separate statement: it sees what was committed before the
	// lock.
	lookAgain = `SELECT {c key}, CASE WHEN {unreferenced} THEN 1 ELSE 0 END, CASE WHEN {referenced} THEN 1 ELSE 0 END, {object}
		FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`

	// A SET that needs the old value of another comes before it: MySQL
	// evaluates from left to right.
	markRows = `UPDATE {lethe}condemned SET unseen_until = CASE WHEN fence = 0 THEN unseen_until ELSE ?5 END,
		state = 2, fence = ?3, marked_at = ?4, due_at = ?5, attempts = attempts + 1
		WHERE collection = ?1 AND content {in 2}`
	dropMarks = `DELETE FROM {lethe}condemned WHERE collection = ?1 AND content {in 2}`
	// letGo ends marks of contents that stay. A delete of a silent worker may
	// yet take effect, and an upload before it must not be committed after it.
	letGo = `UPDATE {lethe}condemned SET state = 3,
		due_at = CASE WHEN fence <> 0 AND ?4 > unseen_until THEN ?4 WHEN unseen_until > ?3 THEN unseen_until ELSE ?3 END + ?5,
		fence = 0
		WHERE collection = ?1 AND content {in 2}`
	postpone = `UPDATE {lethe}condemned SET due_at = ?3 WHERE collection = ?1 AND content {in 2}`

	// Conditions on columns other than the keys would make PostgreSQL choose
	// other indexes, and scan their rows for each key: they are evaluated in
	// Go.
	markedRows = `SELECT d.content, d.object, d.attempts, CASE WHEN d.state = 2 AND d.fence = ?3 THEN 1 ELSE 0 END FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.content {in 2} ` + sqldb.Exclusive
	holdContents = `SELECT {c key} FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ORDER BY c.{ckey} {for update}`
	deleteContents = `DELETE FROM {contents} WHERE {ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	// endMarks counts the longest write from the last instant at which the
	// object may have gone: a delete of an earlier attempt may take effect
	// after this one. A CASE hides the selectivity from PostgreSQL, so that it
	// uses the index of the keys.
	endMarks = `UPDATE {lethe}condemned SET state = 3, fence = 0, due_at = CASE WHEN unseen_until > ?3 THEN unseen_until ELSE ?3 END + ?4
		WHERE collection = ?1 AND content {in 2} AND CASE WHEN state = 2 AND fence = ?5 THEN TRUE ELSE FALSE END`
	// stayMarks follows endMarks, for contents that stay.
	stayMarks   = `UPDATE {lethe}condemned SET state = 2, due_at = ?3 WHERE collection = ?1 AND content {in 2}`
	unseenMarks = `UPDATE {lethe}condemned SET unseen_until = CASE WHEN unseen_until > ?3 THEN unseen_until ELSE ?3 END
		WHERE collection = ?1 AND content {in 2}`
	// failMarks returns those to waiting of which certainly nothing was
	// deleted, also where only the mark knows of the object: sort sees by
	// attempts that a deletion was tried.
	failMarks = `UPDATE {lethe}condemned SET state = CASE WHEN t.unseen = 0 AND unseen_until = 0 THEN 1 ELSE state END,
		fence = 0, due_at = t.due_at, error = t.error,
		unseen_until = CASE WHEN t.unseen > unseen_until THEN t.unseen ELSE unseen_until END
		FROM {rows 2: id text, due_at bigint, error text, unseen bigint} WHERE collection = ?1 AND content = t.id`
	overMarks = `DELETE FROM {lethe}condemned WHERE (collection, content) IN (
		SELECT d.collection, d.content FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state = 3 AND d.due_at <= ?2 LIMIT ?3 {locked})`
	overContents = `SELECT d.content, d.object FROM {lethe}condemned d
		WHERE d.collection = ?1 AND d.state = 3 AND d.due_at <= ?2 LIMIT ?3 ` + sqldb.Locked
	// againMarks lets marks that are over wait: only they know of objects that may have come
	// back.
	againMarks   = `UPDATE {lethe}condemned SET state = 1 WHERE collection = ?1 AND content {in 2}`
	countWaiting = `SELECT count(*), coalesce(min(w.due_at), 0) FROM (
		SELECT d.due_at FROM {lethe}condemned d WHERE d.collection = ?1 AND d.state IN (1, 2) AND d.due_at <= ?2 LIMIT ?3) AS w`
	countInGrace = `SELECT count(*), coalesce(min(w.due_at), 0) FROM (
		SELECT d.due_at FROM {lethe}condemned d WHERE d.collection = ?1 AND d.state IN (1, 2) AND d.due_at > ?2 LIMIT ?3) AS w`
)

// busyFor is the delay for contents that the application had locked.
const busyFor = 10 * time.Second

// Find implements adopt.Contents.
func (c *Collection) Find(ctx context.Context, after string, limit int, grace time.Duration) (n int, next string, err error) {
	if c.only != "" {
		return 0, "", nil
	}
	if c.c.Contents == nil {
		return 0, "", nil // the guard records what rows leave behind
	}
	err = c.write(ctx, "find contents", func(t *tx) error {
		looked, err := all(t, scanContent, findContents, after, limit, c.name)
		if err != nil {
			return err
		}
		next = ""
		if len(looked) == limit {
			next = looked[limit-1].Key
		}
		// Instead of a count: whether it is referred to, or recorded already.
		found := slices.DeleteFunc(looked, func(x content) bool { return x.count != 0 })
		n = len(found)
		return c.wait(t, found, grace)
	})
	return n, next, err
}

// condemnedRow is a due row of lethe.condemned.
type condemnedRow struct {
	adopt.Condemned
	state, attempts int
}

// sorted is the decision about contents that are due.
type sorted struct {
	mark, drop, letGo, busy, held []string
	// past have references that bypassed the guard; the counts of drifted are
	// wrong.
	past, drifted []string
	out           adopt.Marked
}

// Mark implements adopt.Contents. Where the description is new it is recorded before.
func (c *Collection) Mark(ctx context.Context, r adopt.MarkRequest) (adopt.Marked, error) {
	out, err := c.markDue(ctx, r)
	if !errors.Is(err, errMeaning) {
		return out, err
	}
	if err := c.write(ctx, "record the description", c.describe); err != nil {
		return out, err
	}
	return c.markDue(ctx, r)
}

func (c *Collection) markDue(ctx context.Context, r adopt.MarkRequest) (out adopt.Marked, err error) {
	err = c.write(ctx, "mark contents", func(t *tx) error {
		out = adopt.Marked{}
		h, err := c.holding(t)
		if err != nil {
			return err
		}
		if wide, err := h.wide(); err != nil || wide.All() != nil {
			return err
		}
		due, err := c.take(t, r.Limit)
		if err != nil || len(due) == 0 {
			return err
		}
		s, err := c.sort(t, h, due)
		if err != nil {
			return err
		}
		if err := c.plausible(t); err != nil {
			return err
		}
		// Not before: reading the tables would prevent removing triggers.
		if err := c.mayMark(t); err != nil {
			return err
		}
		out = s.out
		out.Fence = drawFence()
		return c.mark(t, s, out.Fence, t.now.Add(r.Late))
	})
	return out, err
}

// mayMark returns ErrUnguarded without a guard, unless objects are only moved, and an error if
// two contents may share an object, or if what waits may be of another description.
func (c *Collection) mayMark(t *tx) error {
	if err := c.apartByClass(t); err != nil {
		return err
	}
	if c.c.Guard != adopt.QuarantineGuard {
		guarded, err := c.db.engine.guarded(t, c)
		if err != nil || !guarded {
			return cmp.Or(err, adopt.ErrUnguarded)
		}
	}
	return c.means(t)
}

// take locks up to limit contents that are due: first condemned ones, which are
// to be retried or whose worker is silent.
func (c *Collection) take(t *tx, limit int) (due []condemnedRow, err error) {
	for _, state := range []int{condemned, waiting} {
		if len(due) == limit {
			break
		}
		text, args := takeDue, []any{c.name, state, t.now, limit - len(due)}
		if c.only != "" {
			text, args = takeOnly, append(args, c.only)
		}
		more, err := all(t, func(r *sql.Rows) (x condemnedRow, err error) {
			err = r.Scan(&x.Content, &x.Object, &x.state, &x.attempts)
			return x, err
		}, text, args...)
		if err != nil {
			return nil, err
		}
		due = append(due, more...)
	}
	return due, nil
}

// look is the present state of a content.
type look struct {
	key, object              string
	unreferenced, referenced bool
}

// look reads locked contents by their keys; missing ones are left out.
func (c *Collection) look(t *tx, keys []string) (map[string]look, error) {
	looks, err := all(t, func(r *sql.Rows) (l look, err error) {
		err = r.Scan(&l.key, &l.unreferenced, &l.referenced, &l.object)
		return l, err
	}, c.texts().look, sqldb.JSON(keys))
	t.looked = t.looked || len(looks) > 0 // nothing refers to what is not there
	seen := make(map[string]look, len(looks))
	for _, l := range looks {
		seen[l.key] = l
	}
	return seen, err
}

// keeps returns a function that reports whether a hold keeps one of the
// objects, or something below it.
func (c *Collection) keeps(h holding, objects []string) (func(object string) bool, error) {
	if c.c.Rows.OwnFolders() {
		holds, err := h.all()
		return func(object string) bool { return holds.Folder(object) != nil }, err
	}
	holds, err := h.on(adopt.HoldObject, sqldb.JSON(objects))
	return func(object string) bool { return holds.Object(object) != nil }, err
}

// sort locks the contents that are due, reads them again, and decides.
func (c *Collection) sort(t *tx, h holding, due []condemnedRow) (s sorted, err error) {
	var keys, objects []string
	for _, d := range due {
		keys, objects = append(keys, d.Content), append(objects, d.Object)
	}
	keeps, err := c.keeps(h, objects)
	if err != nil {
		return s, err
	}
	locked, err := all(t, text, c.texts().free, sqldb.JSON(keys))
	if err != nil {
		return s, err
	}
	free := make(map[string]bool, len(locked))
	for _, k := range locked {
		free[k] = true
	}
	seen, err := c.look(t, keys)
	if err != nil {
		return s, err
	}
	for _, d := range due {
		l, exists := seen[d.Content]
		exists = exists && l.object == d.Object // else the key came again
		switch {
		case d.state == waiting && (!exists && d.attempts == 0 || exists && !l.unreferenced):
			// Its row is gone, something refers to it again, or Find finds its new object.
			s.drop = append(s.drop, d.Content)
		case keeps(d.Object):
			// A condemned one stays so: its object may be gone already.
			s.held = append(s.held, d.Content)
		case exists && !free[d.Content]:
			s.busy = append(s.busy, d.Content)
		case !c.c.Reaches(d.Object):
			s.out.Outside = append(s.out.Outside, d.Object)
			if d.state == condemned {
				s.letGo = append(s.letGo, d.Content)
			} else {
				s.drop = append(s.drop, d.Content)
			}
		case !exists || l.unreferenced && !l.referenced:
			s.mark = append(s.mark, d.Content)
			s.out.Contents = append(s.out.Contents, adopt.Condemned{Content: d.Content, Object: d.Object, Again: !exists && c.c.Guard == adopt.QuarantineGuard})
		case d.state == condemned:
			if c.c.Guard != adopt.QuarantineGuard { // a reference that bypassed the guard
				s.out.Drifted = append(s.out.Drifted, d.Content)
				s.past = append(s.past, d.Content)
			}
			s.letGo = append(s.letGo, d.Content)
		default:
			if c.c.Contents != nil && c.c.Contents.Count != "" { // it is 0, and wrong
				s.out.Drifted = append(s.out.Drifted, d.Content)
				s.drifted = append(s.drifted, d.Content)
			}
			s.drop = append(s.drop, d.Content)
		}
	}
	s.out.Kept, s.out.Busy, s.out.Held = len(s.drop)+len(s.letGo), len(s.busy), len(s.held)
	return s, nil
}

// mark records the decision. late is when every delete that was sent until now
// has taken effect.
func (c *Collection) mark(t *tx, s sorted, fence int64, late lethe.Time) error {
	if err := cmp.Or(c.trouble(t, insertMissing, objectGone, s.past), c.trouble(t, insertTroubles, countWrong, s.drifted)); err != nil {
		return err
	}
	for _, step := range []struct {
		contents []string
		text     string
		args     []any
	}{
		{s.mark, markRows, []any{fence, t.now, late}},
		{s.drop, dropMarks, nil},
		{s.letGo, letGo, []any{t.now, late, c.grace.LongestWrite.Microseconds()}},
		{s.busy, postpone, []any{t.now.Add(busyFor)}},
		{s.held, postpone, []any{t.now.Add(adopt.HeldRest)}},
	} {
		if err := c.onKeys(t, step.text, step.contents, step.args...); err != nil {
			return err
		}
	}
	return nil
}

// failure is a deletion to retry.
type failure struct {
	ID     string     `json:"id"`
	Due    lethe.Time `json:"due_at"`
	Error  string     `json:"error"`
	Unseen lethe.Time `json:"unseen"`
}

// Unmark implements adopt.Contents.
func (c *Collection) Unmark(ctx context.Context, limit int) (n int, err error) {
	if c.c.Guard == adopt.QuarantineGuard {
		return c.unmarkMoved(ctx, limit)
	}
	err = c.relaxed(ctx, "end marks", func(t *tx) error {
		rows, err := t.exec(overMarks, c.name, t.now, limit)
		n = int(rows)
		return err
	})
	return n, err
}

// unmarkMoved lets the marks that are over wait, to look for their objects again. The mark of a
// content that has a row ends: where nothing refers to it, Find begins its whole grace.
func (c *Collection) unmarkMoved(ctx context.Context, limit int) (n int, err error) {
	err = c.relaxed(ctx, "look for objects again", func(t *tx) error {
		over, err := all(t, scanEnded, overContents, c.name, t.now, limit)
		if n = len(over); err != nil || n == 0 {
			return err
		}
		keys := make([]string, n)
		for i, o := range over {
			keys[i] = o.Content
		}
		seen, err := c.look(t, keys)
		if err != nil {
			return err
		}
		var back, again []string
		for _, o := range over {
			if l, exists := seen[o.Content]; exists && l.object == o.Object {
				back = append(back, o.Content)
			} else {
				again = append(again, o.Content)
			}
		}
		return cmp.Or(c.onKeys(t, dropMarks, back), c.onKeys(t, againMarks, again))
	})
	return n, err
}

func scanEnded(r *sql.Rows) (c adopt.Condemned, err error) {
	err = r.Scan(&c.Content, &c.Object)
	return c, err
}

// Waiting implements adopt.Contents.
func (c *Collection) Waiting(ctx context.Context) (out adopt.Backlog, err error) {
	err = c.read(ctx, "count contents", func(t *tx) error {
		return t.row(countWaiting, c.name, t.now, adopt.MaxCounted).Scan(&out.Due, &out.Oldest)
	})
	return out, err
}

// InGrace counts contents whose objects are not yet due to be deleted, and
// returns when the first is.
func (c *Collection) InGrace(ctx context.Context) (out adopt.Backlog, err error) {
	err = c.read(ctx, "count contents in their grace", func(t *tx) error {
		return t.row(countInGrace, c.name, t.now, adopt.MaxCounted).Scan(&out.Due, &out.Oldest)
	})
	return out, err
}

// Left counts the objects that are to be deleted and of which only Lethe may
// know: all of them where rows own objects, else those whose deletion was
// begun.
func (c *Collection) Left(ctx context.Context) (n int64, err error) {
	err = c.read(ctx, "count what is left", func(t *tx) error {
		was, err := c.recorded(t)
		if err != nil {
			return err
		}
		least := 1 - ofLethe(cmp.Or(was, c.meaning())) // attempts
		return t.row(`SELECT count(*) FROM {lethe}condemned WHERE collection = ?1 AND state IN (1, 2) AND attempts >= ?2`, c.name, least).Scan(&n)
	})
	return n, err
}
