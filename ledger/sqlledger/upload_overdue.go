package sqlledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	touchedUploads = register(`SELECT ` + uploadColumns + uploadTables + `WHERE u.touched_at <= ?1
		AND u.touched_at >= ?2 AND (u.touched_at > ?2 OR u.id > ?3) ORDER BY u.touched_at, u.id LIMIT ?4`)
	// CROSS JOIN makes SQLite read the parameter first, and then look each upload up.
	storedByUploads = register(`SELECT p.upload_id, l.backend, count(*), sum(l.size) FROM ` + sqldb.IDs(1) + ` CROSS JOIN parts p
		JOIN blobs l ON l.id = p.blob_id WHERE p.upload_id = t.id GROUP BY p.upload_id, l.backend`)
	uploadsLater = register(countLater(`touched_at`, `uploads WHERE touched_at > ?1`))
)

// StaleUploads lists up to a limit of abandoned uploads that no hold keeps, longest
// untouched first. It reads all uploads untouched for the shortest of the times.
func (db *DB) StaleUploads(ctx context.Context, q ledger.OverdueQuery) (list []ledger.OverdueUpload, err error) {
	err = db.read(ctx, "stale uploads", func(t *tx) error {
		list = nil
		return t.untouched(q.Stale, t.Now.Add(-q.Stale.Shortest()), func(u ledger.OverdueUpload) bool {
			if u.At <= t.Now && (q.Held || !u.Held) {
				list = append(list, u)
			}
			return int64(len(list)) < bounded(q.Limit)
		})
	})
	return list, err
}

// UploadBacklog counts uploads, abandoned and later, with the bytes of their stored parts.
// Held ones are counted separately.
func (db *DB) UploadBacklog(ctx context.Context, s ledger.Stale) (b ledger.Backlog, err error) {
	err = db.read(ctx, "upload backlog", func(t *tx) error {
		b = ledger.Backlog{}
		may, older, first := t.Now.Add(-s.Shortest()), int64(0), lethe.Time(0)
		err := t.untouched(s, lethe.Forever, func(u ledger.OverdueUpload) bool {
			b.CountUpload(u, t.Now)
			if u.Upload.TouchedAt <= may {
				older++
				return true
			}
			// Uploads touched later are neither due nor due before the next one.
			return u.Upload.TouchedAt.Add(s.Shortest()) < b.NextDue
		})
		if err != nil {
			return err
		}
		err = t.Row(uploadsLater, may).Scan(&b.Scheduled, &first)
		b.Scheduled = min(b.Scheduled+older-b.Count-b.Held, ledger.MaxScheduled)
		return t.Failed(err)
	})
	return b, err
}

// untouched passes the open uploads that were not touched after an instant to fn, longest
// untouched first, with the time when each is overdue. It stops when fn returns false.
func (t *tx) untouched(s ledger.Stale, since lethe.Time, fn func(ledger.OverdueUpload) (more bool)) error {
	for after := (ledger.Upload{}); ; {
		page, err := all(t, scanUpload, touchedUploads, since, after.TouchedAt, after.ID, maxPage)
		if err != nil {
			return err
		}
		list, err := t.weighUploads(page)
		if err != nil {
			return err
		}
		for i := range list {
			if list[i].SetStale(s); !fn(list[i]) {
				return nil
			}
		}
		if len(page) < maxPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// weighUploads returns what uploads store, and which are held.
func (t *tx) weighUploads(list []ledger.Upload) ([]ledger.OverdueUpload, error) {
	out, err := t.uploadsStore(list)
	if err != nil {
		return nil, err
	}
	keys := make([]dueRow, len(list))
	for i, u := range list {
		keys[i] = dueRow{Bucket: u.BucketID, Key: u.Key}
	}
	held, err := t.heldBy(keys)
	for i, u := range list {
		_, out[i].Held = held[spot{u.BucketID, u.Key}]
	}
	return out, err
}

// uploadsStore returns what uploads store.
func (t *tx) uploadsStore(list []ledger.Upload) ([]ledger.OverdueUpload, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out, at := make([]ledger.OverdueUpload, len(list)), make(map[lethe.ID]int, len(list))
	names := make([]lethe.ID, len(list))
	for i, u := range list {
		out[i].Upload, names[i], at[u.ID] = u, u.ID, i
	}
	_, err := all(t, func(r *sql.Rows) (none struct{}, err error) {
		var id lethe.ID
		var backend string
		var blobs, bytes int64
		if err = r.Scan(&id, &backend, &blobs, &bytes); err == nil {
			u := &out[at[id]]
			u.Backends = inOrder(u.Backends, backend)
			u.Blobs += blobs
			u.Bytes += bytes
		}
		return none, err
	}, storedByUploads, sqldb.JSON(names))
	return out, err
}

// inOrder inserts a string into a sorted list, unless it is there.
func inOrder(list []string, s string) []string {
	at, _ := slices.BinarySearch(list, s)
	return slices.Insert(list, at, s)
}

// OpenUploads is Uploads with what each stores and whether it is held. It leaves out when
// they are overdue.
func (db *DB) OpenUploads(ctx context.Context, q ledger.UploadQuery) (list []ledger.OverdueUpload, err error) {
	err = db.read(ctx, "open uploads of "+q.Bucket, func(t *tx) error {
		page, err := t.uploads(q)
		if err == nil {
			list, err = t.weighUploads(page)
		}
		return err
	})
	return list, err
}

// AbortStale aborts an abandoned upload: ErrNoSuchUpload if it is gone or was touched
// meanwhile, ErrHeld while a hold keeps it.
func (db *DB) AbortStale(ctx context.Context, upload lethe.ID, s ledger.Stale) error {
	return db.batch(ctx, "abort stale upload "+string(upload), func(t *tx) error {
		u, _, err := t.lockOpen(upload)
		if err != nil {
			return err
		}
		list, err := t.uploadsStore([]ledger.Upload{u})
		if err != nil {
			return err
		}
		if list[0].SetStale(s); list[0].At > t.Now {
			return fmt.Errorf("it is not abandoned before %s: %w", list[0].At, lethe.ErrNoSuchUpload)
		}
		return t.abortOpen(u)
	})
}

// lockOpen returns an open upload with the rules and holds of its bucket, all locked until
// the transaction ends: ErrNoSuchUpload.
func (t *tx) lockOpen(id lethe.ID) (u ledger.Upload, b namedRules, err error) {
	if u, err = t.uploadByID(id); err != nil {
		return u, b, err
	}
	byID, err := t.rulesByID([]lethe.ID{u.BucketID})
	if err != nil {
		return u, b, err
	}
	if err := t.lockUpload(id); err != nil {
		return u, b, err
	}
	if t.concurrentWriters() {
		u, err = t.uploadByID(id) // it may have changed before it was locked
	}
	return u, byID[u.BucketID], err
}

// abortOpen ends an upload that no client asked to end, unless it is held: ErrHeld. Its
// bucket is locked (docs/protocol.md, rule 21).
func (t *tx) abortOpen(u ledger.Upload) error {
	held, err := t.heldBy([]dueRow{{Bucket: u.BucketID, Key: u.Key}})
	if err != nil {
		return err
	}
	if h, is := held[spot{u.BucketID, u.Key}]; is {
		return h.Refusal(u.Key)
	}
	return t.endUpload(u.ID, nil)
}
