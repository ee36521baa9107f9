package memadopt

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// due reports whether a row has expired and is not claimed.
func (r *Row) due(now lethe.Time) bool { return r.Status == Live && r.expired(now) }

func (r *Row) expired(now lethe.Time) bool { return r.End != 0 && r.End <= now }

func (r *Row) end() lethe.Time { return r.End }

func (r *Row) giveBack() { r.Status, r.At = Live, 0 }

// Claim implements adopt.Records.
func (db *DB) Claim(_ context.Context, limit int) (adopt.Claim, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	return db.claim(limit), nil
}

func (db *DB) claim(limit int) (out adopt.Claim) {
	now, holds := db.o.Clock.Now(), db.holds.standing()
	due := dueFirst(db.rows, func(r *Row) bool { return r.due(now) && holds.Row(r.Key) == nil }, (*Row).end)
	for _, r := range up(due, limit) {
		r.Status, r.At = Claimed, db.kept(now)
		out.At = now
		out.Rows = append(out.Rows, adopt.Row{Key: r.Key, Copies: db.copies(r)})
	}
	return out
}

// kept returns the time of a claim as its column keeps it.
func (db *DB) kept(at lethe.Time) lethe.Time {
	if db.o.Unit == 0 {
		return at
	}
	return at - at%lethe.Time(db.o.Unit/time.Microsecond)
}

func (db *DB) copies(r *Row) []string {
	if db.o.Copies == nil {
		return nil
	}
	return db.o.Copies(*r)
}

// claimed returns the rows that still carry a claim.
func (db *DB) claimed(c adopt.Claim) (out []*Row) {
	for _, r := range c.Rows {
		if have := db.rows[r.Key]; have != nil && have.Status == Claimed && have.At == db.kept(c.At) {
			out = append(out, have)
		}
	}
	return out
}

// Settle implements adopt.Records. It fails if the application has a content locked.
func (db *DB) Settle(_ context.Context, c adopt.Claim, after time.Duration) (adopt.Settled, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	out, _, err := db.settle(c, after)
	return out, err
}

// End implements adopt.Ender. It fails as Settle does.
func (db *DB) End(_ context.Context, c adopt.Claim, r adopt.EndRequest) (out adopt.Settled, marked adopt.Marked, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	out, zero, err := db.settle(c, r.Again)
	now, holds := db.o.Clock.Now(), db.holds.standing()
	if err != nil || db.unguarded || db.o.Quarantine {
		return out, marked, err
	}
	db.fence++
	marked.Fence = db.fence
	for _, content := range zero {
		m := db.marks[content]
		if m.State != Waiting || db.referenced(content) || holds.Object(m.Object) != nil {
			continue
		}
		m.Object = db.contents[content].Object
		m.mark(marked.Fence, now.Add(r.Late))
		delete(db.contents, content)
		marked.Contents = append(marked.Contents, m.Condemned)
	}
	return out, marked, nil
}

// settle also returns the contents that lost their last reference.
func (db *DB) settle(c adopt.Claim, after time.Duration) (out adopt.Settled, zero []string, err error) {
	now, holds := db.o.Clock.Now(), db.holds.standing()
	rows := db.claimed(c)
	for _, r := range rows {
		if db.locked[r.Content] > 0 && r.expired(now) {
			return out, nil, fmt.Errorf("memadopt: content %s is locked: %w", r.Content, lethe.ErrUnavailable)
		}
	}
	if slices.ContainsFunc(rows, func(r *Row) bool {
		return !db.o.Shared && db.pinned[r.Key] && r.expired(now) && holds.Row(r.Key) == nil && !db.o.Keep
	}) {
		return out, nil, &adopt.Refusal{Rows: c.Rows, Err: errPinned}
	}
	out.Lost = len(c.Rows) - len(rows)
	had := map[string][]string{}
	for _, r := range c.Rows {
		had[r.Key] = r.Copies
	}
	var keys, fresh []string // copies under the claim's keys, and under the present ones
	references := map[string]int64{}
	var order []string
	for _, r := range rows {
		if holds.Row(r.Key) != nil {
			r.giveBack()
			out.Held++
			continue
		}
		if !r.expired(now) {
			r.giveBack()
			out.Returned++
			continue
		}
		out.Gone++
		keys = append(keys, had[r.Key]...)
		fresh = append(fresh, slices.DeleteFunc(db.copies(r), func(k string) bool { return slices.Contains(had[r.Key], k) })...)
		if references[r.Content]++; references[r.Content] == 1 {
			order = append(order, r.Content)
		}
		db.remove(r)
	}
	for _, content := range order {
		had := out.Unreferenced
		if db.countDown(content, references[content], &out); out.Unreferenced > had {
			zero = append(zero, content)
		}
	}
	if after > 0 { // these were not dropped
		db.dropLater(0, fresh)
	}
	db.dropLater(after, append(keys, fresh...))
	return out, zero, nil
}

func (db *DB) dropLater(after time.Duration, keys []string) {
	if len(keys) == 0 {
		return
	}
	db.ids++
	db.again = append(db.again, again{adopt.Again{ID: db.ids, Keys: keys}, db.o.Clock.Now().Add(after)})
}

func (db *DB) remove(r *Row) {
	if db.o.Keep {
		r.Status, r.Content = Deleted, ""
		return
	}
	db.leave(db.owns.of(r), nil)
	delete(db.rows, r.Key)
}

// countDown removes references of removed rows from a content.
func (db *DB) countDown(content string, n int64, out *adopt.Settled) {
	c := db.contents[content]
	switch {
	case c == nil:
	case db.o.Uncounted: // other references are looked up before it is condemned
		out.Unreferenced++
		db.wait(c, db.o.Grace.Unreferenced)
	case c.Count < n:
		c.Count = 0
		out.Drifted = append(out.Drifted, content)
		db.troubles.drifted[content] = db.o.Clock.Now()
	default:
		c.Count -= n
		if c.Count == 0 {
			out.Unreferenced++
			db.wait(c, db.o.Grace.Unreferenced)
		}
	}
}

// wait records a content to be condemned after the grace, unless a mark of it stands.
// It begins anew with one that waits: it was referenced in between. An object that was
// moved is looked for once more first.
func (db *DB) wait(c *Content, grace time.Duration) {
	now := db.o.Clock.Now()
	if m := db.marks[c.Key]; m == nil || m.State == Waiting || m.ended(now) && !db.o.Quarantine {
		db.marks[c.Key] = &Mark{Condemned: adopt.Condemned{Content: c.Key, Object: c.Object}, State: Waiting, Due: now.Add(grace)}
	}
}

var errPinned = errors.New("memadopt: a row of another table refers to it")

// Release implements adopt.Records.
func (db *DB) Release(_ context.Context, c adopt.Claim) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	rows := db.claimed(c)
	for _, r := range rows {
		r.giveBack()
	}
	return len(rows), nil
}

// Recover implements adopt.Records.
func (db *DB) Recover(_ context.Context, age time.Duration, limit int) (int, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	before := db.kept(db.o.Clock.Now().Add(-age))
	stuck := dueFirst(db.rows, func(r *Row) bool { return r.Status == Claimed && r.At <= before }, func(r *Row) lethe.Time { return r.At })
	stuck = up(stuck, limit)
	for _, r := range stuck {
		r.giveBack()
	}
	return len(stuck), nil
}

// Due implements adopt.Records.
func (db *DB) Due(context.Context) (out adopt.Backlog, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	due := dueFirst(db.rows, func(r *Row) bool { return r.due(now) }, (*Row).end)
	if len(due) > 0 {
		out = adopt.Backlog{Due: int64(len(due)), Oldest: due[0].End}
	}
	return out, nil
}

// DropAgain implements adopt.Cached.
func (db *DB) DropAgain(_ context.Context, limit int) (out []adopt.Again, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	for _, a := range db.again { // in due order, except for ties
		if a.due <= now && len(out) < limit {
			out = append(out, a.Again)
		}
	}
	return out, nil
}

// Dropped implements adopt.Cached.
func (db *DB) Dropped(_ context.Context, ids []int64) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	rest := db.again[:0]
	for _, a := range db.again {
		if !slices.Contains(ids, a.ID) {
			rest = append(rest, a)
		}
	}
	db.again = rest
	return nil
}
