package memadopt

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Find implements adopt.Contents.
func (db *DB) Find(_ context.Context, after string, limit int, grace time.Duration) (found int, next string, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	looked := 0
	for _, key := range slices.Sorted(maps.Keys(db.contents)) {
		c := db.contents[key]
		if key <= after || c.Count != 0 {
			continue
		}
		if db.marks[key] == nil && !db.referenced(key) {
			db.wait(c, grace)
			found++
		}
		if looked++; looked == limit {
			return found, key, nil
		}
	}
	return found, "", nil
}

// busyFor is the delay for contents that the application has locked.
const busyFor = 10 * time.Second

// Mark implements adopt.Contents.
func (db *DB) Mark(_ context.Context, r adopt.MarkRequest) (out adopt.Marked, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now, holds := db.o.Clock.Now(), db.holds.standing()
	due := db.take(now, r.Limit)
	if len(due) == 0 || holds.All() != nil {
		return out, nil
	}
	db.fence++
	out.Fence = db.fence
	takeover := now.Add(r.Late)
	for _, m := range due {
		c := db.content(m)
		referenced := c != nil && db.referenced(m.Content)
		switch {
		case m.State == Waiting && c == nil && m.Attempts == 0, m.State == Waiting && c != nil && c.Count != 0:
			delete(db.marks, m.Content)
			out.Kept++
		case holds.Object(m.Object) != nil:
			m.Due = now.Add(adopt.HeldRest)
			out.Held++
		case c != nil && db.locked[m.Content] > 0:
			m.Due = now.Add(busyFor)
			out.Busy++
		case !db.reaches(m.Object):
			out.Outside = append(out.Outside, m.Object)
			db.spare(m, takeover)
			out.Kept++
		case c != nil && (referenced || c.Count != 0):
			switch {
			case m.State == Condemned && !db.o.Quarantine: // past the guard
				out.Drifted = append(out.Drifted, m.Content)
				db.troubles.missing[m.Object] = true
			case m.State == Waiting && !db.o.Uncounted:
				out.Drifted = append(out.Drifted, m.Content)
				db.troubles.drifted[m.Content] = now
			}
			db.spare(m, takeover)
			out.Kept++
		default:
			m.mark(out.Fence, takeover)
			x := m.Condemned
			x.Again = db.o.Quarantine && c == nil
			out.Contents = append(out.Contents, x)
		}
	}
	return out, nil
}

// take returns up to limit contents that are due: first the condemned ones.
func (db *DB) take(now lethe.Time, limit int) (due []*Mark) {
	for _, state := range []State{Condemned, Waiting} {
		more := dueFirst(db.marks, func(m *Mark) bool { return m.State == state && m.Due <= now }, func(m *Mark) lethe.Time { return m.Due })
		due = append(due, up(more, limit-len(due))...)
	}
	return due
}

// mark condemns a content. A silent worker that had it before may have sent a
// delete recently.
func (m *Mark) mark(fence int64, takeover lethe.Time) {
	if m.Fence != 0 {
		m.Unseen = takeover
	}
	m.State, m.Fence, m.Due = Condemned, fence, takeover
	m.Attempts++
}

// spare releases a content that rows refer to. The mark of a condemned one
// stays until no delete can be in flight.
func (db *DB) spare(m *Mark, takeover lethe.Time) {
	if m.State == Waiting {
		delete(db.marks, m.Content)
		return
	}
	if m.Fence != 0 {
		m.Unseen = takeover
	}
	m.over(max(db.o.Clock.Now(), m.Unseen), db.o.Grace.LongestWrite)
}

// ended reports whether a mark is over.
func (m *Mark) ended(now lethe.Time) bool { return m.State == Gone && m.Due <= now }

// over ends a mark: it stays for the longest write after the last instant at
// which the object may have gone.
func (m *Mark) over(last lethe.Time, longest time.Duration) {
	m.State, m.Fence, m.Due = Gone, 0, last.Add(longest)
}

// Confirm implements adopt.Contents.
func (db *DB) Confirm(_ context.Context, fence int64, outcomes []adopt.Outcome, g adopt.Grace) (out adopt.Confirmed, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	for _, o := range outcomes {
		m := db.marks[o.Content]
		switch {
		case m == nil || m.State != Condemned || m.Fence != fence:
			out.Lost++
		case o.Failed == "" && o.Again && db.contents[o.Content] == nil:
			delete(db.marks, o.Content)
		case o.Failed == "":
			out.Gone++
			m.unseen(o, now.Add(g.Late))
			if !db.drop(o.Content) {
				out.Broken = append(out.Broken, o.Content)
				db.troubles.missing[m.Object] = true
			}
			m.over(max(now, m.Unseen), db.lasts(g))
		default:
			out.Failed++
			m.Fence, m.Due = 0, now.Add(backoff(m.Attempts))
			m.unseen(o, now.Add(g.Late))
			if m.Unseen == 0 {
				m.State = Waiting // no delete can have had an effect
			}
		}
	}
	return out, nil
}

// lasts returns how long a mark stays after its object is gone.
func (db *DB) lasts(g adopt.Grace) time.Duration {
	if db.o.Quarantine {
		return g.LooksAgain()
	}
	return g.LongestWrite
}

// unseen notes until when a delete may yet take effect.
func (m *Mark) unseen(o adopt.Outcome, until lethe.Time) {
	if o.Unseen {
		m.Unseen = max(m.Unseen, until)
	}
}

// drop removes a content without references; it reports whether it is gone.
func (db *DB) drop(content string) bool {
	if db.owns.any() {
		return !db.referenced(content)
	}
	c := db.contents[content]
	if c != nil && (c.Count != 0 || db.referenced(content)) {
		return false
	}
	delete(db.contents, content)
	return true
}

// backoff returns the delay of a deletion after some attempts.
func backoff(attempts int) time.Duration {
	return lethe.Backoff(30*time.Second, time.Hour, attempts-1)
}

// Unmark implements adopt.Contents.
func (db *DB) Unmark(_ context.Context, limit int) (n int, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.o.Clock.Now()
	for _, m := range up(dueFirst(db.marks, func(m *Mark) bool { return m.ended(now) }, func(m *Mark) lethe.Time { return m.Due }), limit) {
		if n++; db.o.Quarantine && db.content(m) == nil {
			m.State = Waiting
			continue
		}
		delete(db.marks, m.Content) // of one with a row too: Find begins its whole grace
	}
	return n, nil
}

// Waiting implements adopt.Contents.
func (db *DB) Waiting(context.Context) (out adopt.Backlog, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	due := db.take(db.o.Clock.Now(), len(db.marks))
	out.Due = int64(len(due))
	for _, m := range due {
		if out.Oldest == 0 || m.Due < out.Oldest {
			out.Oldest = m.Due
		}
	}
	return out, nil
}
