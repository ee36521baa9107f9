package memledger

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// misplaced is a row of placement's queue.
type misplaced struct {
	ledger.Subject
	due      lethe.Time
	worker   string // of the last claim
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

// place queues a content, due now; a worker that has claimed it must look again.
func (db *DB) place(content lethe.ID) {
	if m := db.places.rows[content]; m != nil {
		m.attempts = 0
		db.places.set(m, db.now, 0)
		return
	}
	db.places.add(&misplaced{Subject: ledger.Subject{ID: content}, due: db.now})
}

// ClaimPlacements claims due subjects, longest due first.
func (db *DB) ClaimPlacements(ctx context.Context, r ledger.PlacementClaim) (ledger.Placements, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Placements{}, err
	}
	defer db.mu.Unlock()
	out := ledger.Placements{Now: db.now}
	due := slices.Clone(db.places.due.until(func(m *misplaced) bool { return m.due > db.now }))
	if len(due) == 0 {
		return out, nil
	}
	out.Fence = db.newFence()
	if r.Only != nil {
		due = slices.DeleteFunc(due, func(m *misplaced) bool { return !slices.Contains(r.Only, m.ID) })
	}
	for _, m := range first(due, r.Limit) {
		m.worker = r.Worker
		db.places.set(m, db.now.Add(r.Lease), out.Fence)
		out.Items = append(out.Items, db.placed(m.Subject, m.attempts))
	}
	slices.SortFunc(out.Items, func(a, b ledger.Placement) int { return compareIDs(a.ID, b.ID) })
	return out, nil
}

// QueuedPlacements returns a page of the queue, and claims nothing.
func (db *DB) QueuedPlacements(ctx context.Context, q ledger.PlacementQuery) (list []ledger.QueuedPlacement, err error) {
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
		list = append(list, ledger.QueuedPlacement{Subject: m.Subject, Attempts: m.attempts, DueAt: m.due, Fence: m.fence})
	}
	if q.Only == nil {
		list = first(list, q.Limit)
	}
	return list, nil
}

// placed returns where a subject's bytes are.
func (db *DB) placed(s ledger.Subject, attempts int) ledger.Placement {
	p := ledger.Placement{Subject: s, Attempts: attempts}
	if s.Part {
		if b := db.byID[s.ID]; b != nil && b.State == lethe.Live && b.UploadID != "" {
			p.Blobs = []ledger.Blob{b.Blob}
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

// contentOf returns a content, nil if it is gone.
func (db *DB) contentOf(id lethe.ID) *content {
	rows := db.contents.from(func(c *content) bool { return c.ID >= id })
	if len(rows) == 0 || rows[0].ID != id {
		return nil
	}
	return rows[0]
}

// PlacedContents returns a page of the contents on backends after an id.
func (db *DB) PlacedContents(ctx context.Context, after lethe.ID, limit int) ([]ledger.Placement, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Placement
	for _, c := range db.contents.from(func(c *content) bool { return c.ID > after }) {
		if limit > 0 && len(out) == limit {
			break
		}
		if !c.Inline {
			out = append(out, db.placed(ledger.Subject{ID: c.ID}, 0))
		}
	}
	return out, nil
}

// Placed returns where the bytes of subjects are.
func (db *DB) Placed(ctx context.Context, subjects []ledger.Subject) ([]ledger.Placement, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	out := make([]ledger.Placement, len(subjects))
	for i, s := range subjects {
		out[i] = db.placed(s, 0)
	}
	return out, nil
}

// QueuePlacements queues subjects, due now; it returns how many it added.
func (db *DB) QueuePlacements(ctx context.Context, subjects []ledger.Subject) (int, error) {
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

// SettlePlacements records the results of a claimed batch.
func (db *DB) SettlePlacements(ctx context.Context, fence int64, results []ledger.PlacementResult) (int, error) {
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

// KeepPlacement restarts the lease of a claimed subject: ErrFenced.
func (db *DB) KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	return db.keepSubject(ledger.Blob{ContentID: subject}, fence, lease)
}

// PlaceBacklog counts the subjects that are due.
func (db *DB) PlaceBacklog(ctx context.Context) (ledger.Backlog, error) {
	if err := db.enter(ctx); err != nil {
		return ledger.Backlog{}, err
	}
	defer db.mu.Unlock()
	return backlog(db.places.due.rows, db.now, func(m *misplaced) (lethe.Time, int64) { return m.due, 0 }), nil
}
