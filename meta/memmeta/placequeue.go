package memmeta

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/meta"
)

// misplaced is a row of placement's queue.
type misplaced struct {
	meta.Subject
	due      lethe.Time
	fence    int64
	attempts int
}

func misplacedByDue(a, b *misplaced) int {
	return cmp.Or(cmp.Compare(a.due, b.due), compareIDs(a.ID, b.ID))
}

// placements is placement's queue.
type placements struct {
	rows map[lethe.ID]*misplaced
	due  table[*misplaced]
}

// set moves a row in the queue.
func (q *placements) set(m *misplaced, due lethe.Time, fence int64) {
	q.due.drop(m)
	m.due, m.fence = due, fence
	q.due.put(m)
}

func (q *placements) add(m *misplaced) {
	if q.rows == nil {
		q.rows, q.due.order = map[lethe.ID]*misplaced{}, misplacedByDue
	}
	q.rows[m.ID] = m
	q.due.put(m)
}

// place has a content looked at now; whoever looks already has to look again.
func (db *DB) place(content lethe.ID) {
	if m := db.places.rows[content]; m != nil {
		m.attempts = 0
		db.places.set(m, db.now, 0)
		return
	}
	db.places.add(&misplaced{Subject: meta.Subject{ID: content}, due: db.now})
}

// ClaimPlacements stamps subjects that are due, the longest due first.
func (db *DB) ClaimPlacements(ctx context.Context, r meta.PlacementClaim) (meta.Placements, error) {
	if err := db.enter(ctx); err != nil {
		return meta.Placements{}, err
	}
	defer db.mu.Unlock()
	out := meta.Placements{Now: db.now}
	due := slices.Clone(db.places.due.until(func(m *misplaced) bool { return m.due > db.now }))
	if len(due) == 0 {
		return out, nil
	}
	out.Fence = db.newFence()
	if r.Only != nil {
		due = slices.DeleteFunc(due, func(m *misplaced) bool { return !slices.Contains(r.Only, m.ID) })
	}
	for _, m := range first(due, r.Limit) {
		db.places.set(m, db.now.Add(r.Lease), out.Fence)
		out.Items = append(out.Items, db.placed(m.Subject, m.attempts))
	}
	slices.SortFunc(out.Items, func(a, b meta.Placement) int { return compareIDs(a.ID, b.ID) })
	return out, nil
}

// QueuedPlacements answers what is queued, and claims nothing.
func (db *DB) QueuedPlacements(ctx context.Context, q meta.PlacementQuery) (list []meta.QueuedPlacement, err error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	rows := db.places.due.until(func(m *misplaced) bool { return q.Only == nil && m.due > db.now })
	for _, m := range rows {
		after := cmp.Or(cmp.Compare(m.due, q.After.Due), compareIDs(m.ID, lethe.ID(q.After.Name))) > 0
		if q.Only == nil && !after || q.Only != nil && !slices.Contains(q.Only, m.ID) {
			continue
		}
		list = append(list, meta.QueuedPlacement{Subject: m.Subject, Attempts: m.attempts, DueAt: m.due, Fence: m.fence})
	}
	if q.Only == nil {
		list = first(list, q.Limit)
	}
	return list, nil
}

// placed says where a subject's bytes lie.
func (db *DB) placed(s meta.Subject, attempts int) meta.Placement {
	p := meta.Placement{Subject: s, Attempts: attempts}
	if s.Part {
		if b := db.byID[s.ID]; b != nil && b.State == lethe.Live && b.UploadID != "" {
			p.Blobs = []meta.Blob{b.Blob}
		}
		return p
	}
	if c := db.contentOf(s.ID); c != nil {
		p.Content = c.Content
	}
	if q := db.byContent[s.ID]; q != nil {
		for _, b := range q.rows {
			if b.State == lethe.Live || b.State == lethe.Pending {
				p.Blobs = append(p.Blobs, b.Blob)
			}
		}
	}
	return p
}

// contentOf finds a content, nil if it is gone.
func (db *DB) contentOf(id lethe.ID) *content {
	rows := db.contents.from(func(c *content) bool { return c.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

// PlacedContents answers a page of all contents after an id.
func (db *DB) PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]meta.Placement, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []meta.Placement
	for _, c := range first(db.contents.from(func(c *content) bool { return c.ID > after }), limit) {
		out = append(out, db.placed(meta.Subject{ID: c.ID}, 0))
	}
	return out, nil
}

// Placed answers where the bytes of subjects lie.
func (db *DB) Placed(ctx context.Context, subjects []meta.Subject) ([]meta.Placement, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	out := make([]meta.Placement, len(subjects))
	for i, s := range subjects {
		out[i] = db.placed(s, 0)
	}
	return out, nil
}

// Misplace queues subjects to be looked at now; it returns how many were not
// queued yet.
func (db *DB) Misplace(ctx context.Context, subjects []meta.Subject) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	n := 0
	for _, s := range subjects {
		if db.places.rows[s.ID] == nil {
			db.places.add(&misplaced{Subject: s, due: db.now})
			n++
		}
	}
	return n, nil
}

// SettlePlacements records how looking after a claimed batch ended.
func (db *DB) SettlePlacements(ctx context.Context, fence int64, results []meta.PlacementResult) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	fenced := 0
	for _, r := range results {
		m := db.places.rows[r.ID]
		switch {
		case m == nil || fence == 0 || m.fence != fence:
			fenced++
			continue
		case r.Done:
			db.places.due.drop(m)
			delete(db.places.rows, r.ID)
			continue
		case r.Error != "":
			m.attempts++
		}
		db.places.set(m, r.RetryAt, 0)
	}
	return fenced, nil
}

// KeepPlacement begins the lease of a claimed subject anew: ErrFenced.
func (db *DB) KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	return db.holdSubject(meta.Blob{ContentID: subject}, fence, lease)
}

// PlaceBacklog counts the subjects that are due.
func (db *DB) PlaceBacklog(ctx context.Context) (meta.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return meta.Backlog{}, err
	}
	defer db.mu.Unlock()
	return backlog(db.places.due.rows, db.now, func(m *misplaced) (lethe.Time, int64) { return m.due, 0 }), nil
}
