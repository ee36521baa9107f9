package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"maps"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	// A worker that has claimed the subject must look again, so its fence is cleared.
	placeNow = register(`INSERT INTO placements (id, part, leave, due_at, worker, fence, attempts, last_error)
		VALUES (?1, 0, '', ?2, '', 0, 0, '')
		ON CONFLICT (id) DO UPDATE SET due_at = excluded.due_at, worker = '', fence = 0, attempts = 0`)
	placeOnce = register(`INSERT INTO placements (id, part, leave, due_at, worker, fence, attempts, last_error)
		VALUES (?1, ?2, ?3, ?4, '', 0, 0, '') ON CONFLICT (id) DO NOTHING`)
	anyPlacement    = register(`SELECT 1 FROM placements WHERE due_at <= ?1 LIMIT 1`)
	claimPlacements = register(`WITH due AS MATERIALIZED (
			SELECT id FROM placements WHERE due_at <= ?1 ORDER BY due_at LIMIT ?2 ` + sqldb.Locked + `)
		UPDATE placements SET worker = ?3, fence = ?4, due_at = ?5 FROM due
		WHERE placements.id = due.id RETURNING placements.id, placements.part, placements.leave, placements.attempts`)
	claimNamedPlacements = register(`WITH due AS MATERIALIZED (
			SELECT p.id FROM ` + sqldb.IDs(6) + ` CROSS JOIN placements p WHERE p.id = t.id AND p.due_at <= ?1
			ORDER BY p.due_at, p.id LIMIT ?2 ` + sqldb.Locked + `)
		UPDATE placements SET worker = ?3, fence = ?4, due_at = ?5 FROM due
		WHERE placements.id = due.id RETURNING placements.id, placements.part, placements.leave, placements.attempts`)
	queuedPlacements = register(`SELECT id, part, leave, attempts, due_at, fence FROM placements
		WHERE due_at <= ?1 AND due_at >= ?2 AND (due_at, id) > (?2, ?3) ORDER BY due_at, id LIMIT ?4`)
	namedPlacements = register(`SELECT p.id, p.part, p.leave, p.attempts, p.due_at, p.fence
		FROM ` + sqldb.IDs(1) + ` CROSS JOIN placements p WHERE p.id = t.id`)
	placedContents = register(`SELECT ` + qualified("c", contentColumns) + `
		FROM ` + sqldb.IDs(1) + ` CROSS JOIN contents c WHERE c.id = t.id`)
	placedBlobs = register(`SELECT ` + qualified("b", blobColumns) + `
		FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b WHERE b.content_id = t.id AND b.state IN (1, 2)
		ORDER BY b.content_id, b.segment, b.replica, b.id`)
	placedParts = register(`SELECT ` + qualified("b", blobColumns) + `
		FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b WHERE b.id = t.id AND b.state = 2 AND b.upload_id IS NOT NULL`)
	pageContents  = register(`SELECT id FROM contents WHERE id > ?1 AND id <= ?2 AND body_no = 0 ORDER BY id LIMIT ?3`)
	placementDone = register(`DELETE FROM placements WHERE id = ?1 AND fence = ?2 AND fence <> 0`)
	placementKept = register(`UPDATE placements SET due_at = ?3, attempts = attempts + ?4, last_error = ?5, worker = '', fence = 0
		WHERE id = ?1 AND fence = ?2 AND fence <> 0`)
	keepPlacement = register(`UPDATE placements SET due_at = ?3 WHERE id = ?1 AND fence = ?2 AND fence <> 0`)
	placeDue      = register(`SELECT count(*), 0, coalesce(min(due_at), 0) FROM placements WHERE due_at <= ?1`)
	placeLater    = register(countLater(`due_at`, `placements WHERE due_at > ?1`))
)

// place notes that placement must look at a content. flush writes that, after the blobs and
// before the counters.
func (c *counters) place(content lethe.ID) {
	if c.places == nil {
		c.places = map[lethe.ID]bool{}
	}
	c.places[content] = true
}

// replicate queues a new content, if it needs more than one copy.
func (t *tx) replicate(content lethe.ID) {
	if t.db.o.Replicas > 1 {
		t.counts.place(content)
	}
}

func (c *counters) flushPlaces(t *tx) error {
	for _, id := range slices.Sorted(maps.Keys(c.places)) {
		if _, err := t.Send(placeNow, id, t.Now); err != nil {
			return err
		}
	}
	c.places = nil
	return nil
}

// ClaimPlacements claims due subjects, longest due first, and returns where their bytes are.
// A claim that has ended is taken over like a subject without one.
func (db *DB) ClaimPlacements(ctx context.Context, r ledger.PlacementClaim) (out ledger.Placements, err error) {
	err = db.batch(ctx, "claim placements", func(t *tx) error {
		out = ledger.Placements{Now: t.Now}
		if found, err := t.exists(anyPlacement, t.Now); err != nil || !found {
			return err
		}
		if out.Fence, err = t.newFence(); err != nil {
			return err
		}
		args := []any{t.Now, bounded(r.Limit), r.Worker, out.Fence, t.Now.Add(r.Lease)}
		claim := claimPlacements
		if r.Only != nil {
			claim, args = claimNamedPlacements, append(args, sqldb.JSON(r.Only))
		}
		out.Items, err = all(t, scanPlacement, claim, args...)
		if err != nil {
			return err
		}
		slices.SortFunc(out.Items, func(a, b ledger.Placement) int { return cmp.Compare(a.ID, b.ID) })
		return t.placed(out.Items)
	})
	return out, err
}

// QueuedPlacements returns a page of the queue, and claims nothing.
func (db *DB) QueuedPlacements(ctx context.Context, q ledger.PlacementQuery) (list []ledger.QueuedPlacement, err error) {
	err = db.read(ctx, "queued placements", func(t *tx) error {
		if q.Only != nil {
			list, err = all(t, scanQueued, namedPlacements, sqldb.JSON(q.Only))
			return err
		}
		list, err = all(t, scanQueued, queuedPlacements, t.Now, q.After.Due, q.After.Name, bounded(q.Limit))
		return err
	})
	return list, err
}

func scanQueued(r *sql.Rows) (p ledger.QueuedPlacement, err error) {
	err = r.Scan(&p.ID, &p.Part, &p.Leave, &p.Attempts, &p.DueAt, &p.Fence)
	return p, err
}

func scanPlacement(r *sql.Rows) (p ledger.Placement, err error) {
	err = r.Scan(&p.ID, &p.Part, &p.Leave, &p.Attempts)
	return p, err
}

// placed fills in where the subjects' bytes are.
func (t *tx) placed(items []ledger.Placement) error {
	byID := make(map[lethe.ID]*ledger.Placement, len(items))
	var contents, parts []lethe.ID
	for i := range items {
		byID[items[i].ID] = &items[i]
		if items[i].Part {
			parts = append(parts, items[i].ID)
		} else {
			contents = append(contents, items[i].ID)
		}
	}
	list, err := all(t, scanContent, placedContents, sqldb.JSON(contents))
	for _, c := range list {
		byID[c.ID].Content = c
	}
	if err != nil {
		return err
	}
	blobs, err := all(t, scanBlob, placedBlobs, sqldb.JSON(contents))
	for _, b := range blobs {
		byID[b.ContentID].Blobs = append(byID[b.ContentID].Blobs, b)
	}
	if err != nil || len(parts) == 0 {
		return err
	}
	blobs, err = all(t, scanBlob, placedParts, sqldb.JSON(parts))
	for _, b := range blobs {
		byID[b.ID].Blobs = []ledger.Blob{b}
	}
	return err
}

// PlacedContents returns a page of the contents on backends after an id, in order of id, for
// the walk that finds what is missing in the queue. Any number of inline contents may lie
// between two of them: each transaction passes a page at most.
func (db *DB) PlacedContents(ctx context.Context, after lethe.ID, limit int) (out []ledger.Placement, err error) {
	for left := bounded(limit); left > 0; left = bounded(limit) - int64(len(out)) {
		var page []ledger.Placement
		var last lethe.ID
		err = db.read(ctx, "page of placed contents", func(t *tx) error {
			page, last, err = t.placedContents(after, left)
			return err
		})
		if err != nil {
			return nil, err
		}
		out = append(out, page...)
		if after = last; after == "" {
			break
		}
	}
	return out, nil
}

// placedContents returns up to n contents on backends of the page of contents after an id,
// and the last id of the page; "" if there is none.
func (t *tx) placedContents(after lethe.ID, n int64) (out []ledger.Placement, last lethe.ID, err error) {
	if err := t.Row(contentPages, after, cmp.Or(t.db.recountPage, 10_000)).Scan(&last); err != nil {
		return nil, "", t.Failed(err)
	}
	names, err := all(t, sqldb.One[lethe.ID], pageContents, after, last, n)
	if err != nil {
		return nil, "", err
	}
	out = make([]ledger.Placement, len(names))
	for i, id := range names {
		out[i].ID = id
	}
	return out, last, t.placed(out)
}

// Placed returns where the bytes of subjects are, each named once, in their order.
func (db *DB) Placed(ctx context.Context, subjects []ledger.Subject) (out []ledger.Placement, err error) {
	err = db.read(ctx, "where subjects lie", func(t *tx) error {
		out = make([]ledger.Placement, len(subjects))
		for i, s := range subjects {
			out[i].Subject = s
		}
		return t.placed(out)
	})
	return out, err
}

// QueuePlacements queues subjects, due now, and returns how many it added. Subjects in the queue
// already stay as they are.
func (db *DB) QueuePlacements(ctx context.Context, subjects []ledger.Subject) (n int, err error) {
	err = db.batch(ctx, "queue placements", func(t *tx) error {
		n = 0
		sorted := slices.SortedFunc(slices.Values(subjects), func(a, b ledger.Subject) int { return cmp.Compare(a.ID, b.ID) })
		for _, s := range sorted {
			got, err := t.Exec(placeOnce, s.ID, flag(s.Part), s.Leave, t.Now)
			if err != nil {
				return err
			}
			n += int(got)
		}
		return nil
	})
	return n, err
}

// SettlePlacements records the results of a claimed batch. Subjects that were taken over, or
// queued again, are left alone and counted as fenced.
func (db *DB) SettlePlacements(ctx context.Context, fence int64, results []ledger.PlacementResult) (fenced int, err error) {
	err = db.batch(ctx, "settle placements", func(t *tx) error {
		fenced = 0
		for _, r := range slices.SortedFunc(slices.Values(results), func(a, b ledger.PlacementResult) int { return cmp.Compare(a.ID, b.ID) }) {
			n, err := t.settlePlacement(fence, r)
			if err != nil {
				return err
			}
			fenced += 1 - int(n)
		}
		return nil
	})
	return fenced, err
}

func (t *tx) settlePlacement(fence int64, r ledger.PlacementResult) (int64, error) {
	if r.Done {
		return t.Exec(placementDone, r.ID, fence)
	}
	return t.Exec(placementKept, r.ID, fence, r.RetryAt, flag(r.Error != ""), cleanText(r.Error))
}

// KeepPlacement restarts the lease of a claimed subject, for long work: ErrFenced if the
// claim was taken over.
func (db *DB) KeepPlacement(ctx context.Context, subject lethe.ID, fence int64, lease time.Duration) error {
	return db.batch(ctx, "keep placement of "+string(subject), func(t *tx) error {
		return t.Must(1, lethe.ErrFenced, keepPlacement, subject, fence, t.Now.Add(lease))
	})
}

// PlaceBacklog counts the due subjects. Those under a claim that has not ended count as
// scheduled.
func (db *DB) PlaceBacklog(ctx context.Context) (b ledger.Backlog, err error) {
	err = db.read(ctx, "placement backlog", func(t *tx) error {
		b, err = t.backlog(placeDue, placeLater, t.Now)
		return err
	})
	return b, err
}
