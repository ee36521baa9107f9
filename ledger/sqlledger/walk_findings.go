package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

const findingColumns = `backend, key, kind, size, detail, content_id, segment, first_at, last_at, first_walk, last_walk`

var (
	countFindings = register(`SELECT count(*) FROM findings WHERE backend = ?1`)
	// A change of kind restarts the finding's first sighting. The backend depends on the parameter's rows:
	// by itself SQLite would read all its findings, and the parameter for each.
	seeFindings = register(`UPDATE findings SET kind = t.kind, size = t.size, detail = t.detail,
			content_id = t.content_id, segment = t.segment, last_at = ?3, last_walk = ?4,
			first_at = CASE WHEN findings.kind = t.kind THEN first_at ELSE ?3 END,
			first_walk = CASE WHEN findings.kind = t.kind THEN first_walk ELSE ?4 END
		FROM ` + findingRows + `
		WHERE findings.backend = CASE WHEN t.key IS NOT NULL THEN ?2 END AND findings.key = t.key
		RETURNING findings.key`)
	insertFindings = register(`INSERT INTO findings (` + findingColumns + `)
		SELECT ?2, t.key, t.kind, t.size, t.detail, t.content_id, t.segment, ?3, ?3, ?4, ?4
		FROM ` + findingRows + ` WHERE true ON CONFLICT DO NOTHING`)
	pageFindings = register(`SELECT ` + findingColumns + ` FROM findings
		WHERE (backend > ?1 OR backend = ?1 AND key > ?2) AND (?3 = '' OR backend = ?3) AND (?4 = '' OR kind = ?4)
		ORDER BY backend, key LIMIT ?5`)
	unseenSound = register(`SELECT count(*) FROM findings f WHERE f.backend = ?1 AND f.last_walk <> ?2
		AND f.kind IN ('missing', 'size') AND f.content_id <> '' AND EXISTS (
			SELECT 1 FROM blobs b WHERE b.content_id = f.content_id AND b.segment = f.segment AND b.state = 2 AND b.suspect = 0)`)
	forgetFindings = register(`DELETE FROM findings WHERE backend = ?1 AND last_walk <> ?2`)
	forgetBackend  = []string{
		register(`DELETE FROM findings WHERE backend = ?1`),
		register(`DELETE FROM walks WHERE backend = ?1`),
	}
)

var findingRows = sqldb.Rows(1, "key text", "kind text", "size bigint", "detail text", "content_id text", "segment bigint")

// findingRow is a finding as a parameter.
type findingRow struct {
	Key     string             `json:"key"`
	Kind    ledger.FindingKind `json:"kind"`
	Size    int64              `json:"size"`
	Detail  string             `json:"detail"`
	Content lethe.ID           `json:"content_id"`
	Segment int                `json:"segment"`
}

// Sight records the findings of a walk. A known finding is marked as seen again. It returns
// how many are recorded; beyond the limit it adds none. ErrFenced if the walk has ended.
func (db *DB) Sight(ctx context.Context, s ledger.Sighting) (recorded int, err error) {
	byKey := make(map[string]findingRow, len(s.Findings))
	for _, f := range s.Findings {
		key := cleanText(f.Key)
		byKey[key] = findingRow{key, f.Kind, f.Size, cleanText(f.Detail), f.Content, f.Segment}
	}
	err = db.write(ctx, "record findings", func(t *tx) error {
		recorded = 0
		w, err := t.lockWalk(s.Walk)
		if err != nil {
			return err
		}
		recorded, err = t.sight(w, byKey, s)
		return err
	})
	return recorded, err
}

func (t *tx) sight(w *ledger.Walk, byKey map[string]findingRow, s ledger.Sighting) (int, error) {
	if len(s.Findings) == 0 {
		return 0, nil
	}
	known := make([]findingRow, 0, len(byKey))
	for _, f := range s.Findings {
		known = append(known, byKey[cleanText(f.Key)])
	}
	seen, err := all(t, sqldb.One[string], seeFindings, sqldb.JSON(known), w.Backend, t.Now, w.ID)
	if err != nil {
		return 0, err
	}
	old := make(map[string]bool, len(seen))
	for _, key := range seen {
		old[key] = true
	}
	var have int
	if err := t.Row(countFindings, w.Backend).Scan(&have); err != nil {
		return 0, t.Failed(err)
	}
	var fresh []findingRow
	for _, f := range known {
		if !old[f.Key] && (s.Limit <= 0 || have+len(fresh) < s.Limit) {
			old[f.Key] = true
			fresh = append(fresh, f)
		}
	}
	if len(fresh) == 0 {
		return len(seen), nil
	}
	n, err := t.Exec(insertFindings, sqldb.JSON(fresh), w.Backend, t.Now, w.ID)
	return len(seen) + int(n), err
}

// Findings returns a page of what walks have found.
func (db *DB) Findings(ctx context.Context, q ledger.FindingQuery) (out []ledger.Finding, err error) {
	err = db.read(ctx, "findings", func(t *tx) error {
		out, err = all(t, scanFinding, pageFindings, q.AfterBackend, q.AfterKey, q.Backend, q.Kind, bounded(q.Limit))
		return err
	})
	return out, err
}

func scanFinding(r *sql.Rows) (f ledger.Finding, err error) {
	err = r.Scan(&f.Backend, &f.Key, &f.Kind, &f.Size, &f.Detail, &f.Content, &f.Segment,
		&f.FirstAt, &f.LastAt, &f.FirstWalk, &f.LastWalk)
	return f, err
}

// FinishWalk ends a walk: ErrFenced if it has ended already. If the walk compared
// everything, findings that it did not see again are removed.
func (db *DB) FinishWalk(ctx context.Context, e ledger.WalkEnd) (out ledger.WalkEnded, err error) {
	err = db.write(ctx, "finish walk "+string(e.ID), func(t *tx) error {
		out = ledger.WalkEnded{}
		w, err := t.lockWalk(e.ID)
		if err != nil {
			return err
		}
		if w.Place == ledger.WalkDone {
			if err := t.Row(unseenSound, w.Backend, w.ID).Scan(&out.Healed); err != nil {
				return t.Failed(err)
			}
			n, err := t.Exec(forgetFindings, w.Backend, w.ID)
			if err != nil {
				return err
			}
			out.Gone = int(n) - out.Healed
		}
		counts := map[string]int64{}
		for k, n := range e.Counts {
			counts[k] = n
		}
		if out.Healed > 0 {
			counts["healed"] = int64(out.Healed)
		}
		if err := t.Must(1, lethe.ErrFenced, endWalk, w.ID, t.Now, cleanText(e.Outcome), sqldb.JSON(counts)); err != nil {
			return err
		}
		_, err = t.Send(oldWalks, w.Backend, walksKept)
		return err
	})
	return out, err
}

// forgetWalks removes the walks and findings of a backend that is removed.
func (t *tx) forgetWalks(backend string) error {
	for _, query := range forgetBackend {
		if _, err := t.Send(query, backend); err != nil {
			return err
		}
	}
	return nil
}

var (
	standingCopies = register(`SELECT count(*) FROM blobs WHERE content_id = ?1 AND segment = ?2 AND id <> ?3 AND state = 2 AND suspect = 0`)
	// The first objects that refer to a content, then trash entries.
	standingObjects = register(`SELECT coalesce(b.name, '') || '/' || o.key FROM objects o JOIN buckets b ON b.id = o.bucket_id
		WHERE o.content_id = ?1 ORDER BY o.bucket_id, o.key LIMIT ?2`)
	standingTrash  = register(`SELECT bucket || '/' || key || ' (in the trash)' FROM trash WHERE content_id = ?1 ORDER BY id LIMIT ?2`)
	standingUpload = register(`SELECT coalesce(b.name, '') || '/' || u.key || ' (an upload under way)' FROM uploads u JOIN buckets b ON b.id = u.bucket_id
		WHERE u.id = ?1 LIMIT ?2`)
)

// Standings returns what depends on each of the blobs that are live: at most limit objects
// each.
func (db *DB) Standings(ctx context.Context, blobs []lethe.ID, limit int) (out []ledger.Standing, err error) {
	if limit <= 0 {
		return nil, fmt.Errorf("ledger: standings: the limit must be above zero, not %d", limit)
	}
	err = db.read(ctx, "standing of blobs", func(t *tx) error {
		list, err := all(t, scanBlob, blobsByID, sqldb.JSON(blobs))
		if err != nil {
			return err
		}
		sortBlobs(list, func(ledger.Blob) lethe.Time { return 0 })
		out = nil
		for _, b := range list {
			if b.State != lethe.Live {
				continue
			}
			s, err := t.standing(b, limit)
			if err != nil {
				return err
			}
			out = append(out, s)
		}
		return nil
	})
	return out, err
}

func (t *tx) standing(b ledger.Blob, limit int) (ledger.Standing, error) {
	s := ledger.Standing{Blob: b}
	queries, id := []string{standingUpload}, b.UploadID
	if b.ContentID != "" {
		queries, id = []string{standingObjects, standingTrash}, b.ContentID
		if err := t.Row(standingCopies, b.ContentID, b.Segment, b.ID).Scan(&s.Copies); err != nil {
			return s, t.Failed(err)
		}
	}
	for _, query := range queries {
		names, err := all(t, sqldb.One[string], query, id, limit+1-len(s.Objects))
		if err != nil {
			return s, err
		}
		s.Objects = append(s.Objects, names...)
	}
	if s.More = len(s.Objects) > limit; s.More {
		s.Objects = s.Objects[:limit]
	}
	for i, name := range s.Objects {
		s.Objects[i] = strings.TrimPrefix(name, "/") // of a deleted bucket
	}
	return s, nil
}
