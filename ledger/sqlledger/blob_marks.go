package sqlledger

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	markSuspect = register(`UPDATE blobs SET suspect = 1, last_error = ?2
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND state = 2`)
	markSound = register(`UPDATE blobs SET suspect = 0, last_error = '', verified_at = CASE WHEN verified_at > ?2 THEN verified_at ELSE ?2 END
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `) AND state = 2`)
	markedBlobs = register(`SELECT coalesce(b.content_id, ''), b.suspect FROM ` + sqldb.IDs(1) + ` CROSS JOIN blobs b
		WHERE b.id = t.id AND b.state = 2 ` + sqldb.ExclusiveBy("b.id"))
	pageBlobs = register(`SELECT ` + blobColumns + ` FROM blobs
		WHERE id > ?1 AND (?2 = '' OR backend = ?2) AND state IN (?3, ?4, ?5, ?6)
		ORDER BY id LIMIT ?7`)
	blobsByID = register(`SELECT ` + blobColumns + ` FROM blobs
		WHERE id IN (SELECT id FROM ` + sqldb.IDs(1) + `)`)
)

// MarkSuspect marks live blobs that were found missing or damaged, with the reason. It
// returns how many rows it changed; rows that are not live are left alone.
func (db *DB) MarkSuspect(ctx context.Context, blobs []lethe.ID, why string) (int, error) {
	return db.mark(ctx, blobs, true, func(t *tx) (int64, error) { return t.Exec(markSuspect, sqldb.JSON(blobs), cleanText(why)) })
}

// MarkSound records that live blobs were found sound by reads that began ago: they count as
// verified since then. It returns how many rows it changed; rows that are not live are left
// alone.
func (db *DB) MarkSound(ctx context.Context, blobs []lethe.ID, ago time.Duration) (int, error) {
	return db.mark(ctx, blobs, false, func(t *tx) (int64, error) { return t.Exec(markSound, sqldb.JSON(blobs), t.Now.Add(-ago)) })
}

func (db *DB) mark(ctx context.Context, blobs []lethe.ID, suspect bool, change func(*tx) (int64, error)) (int, error) {
	var n int64
	err := db.write(ctx, "mark blobs", func(t *tx) (err error) {
		if err := t.lockContentsOf(blobs); err != nil {
			return err
		}
		if err := t.placeChanged(blobs, suspect); err != nil {
			return err
		}
		n, err = change(t)
		return err
	})
	return int(n), err
}

// placeChanged queues the contents of blobs for placement that become suspect or cease to
// be. The blobs are locked first, so that none joins a content from then on. One that did so
// since the contents were locked has its content queued again.
func (t *tx) placeChanged(blobs []lethe.ID, suspect bool) error {
	type marked struct {
		content lethe.ID
		suspect bool
	}
	list, err := all(t, func(r *sql.Rows) (m marked, err error) {
		err = r.Scan(&m.content, &m.suspect)
		return m, err
	}, markedBlobs, sqldb.JSON(blobs))
	if err != nil {
		return err
	}
	for _, m := range list {
		switch {
		case m.content == "":
		case t.concurrentWriters() && !t.locked[m.content]:
			return sqldb.ErrAgain
		case m.suspect != suspect:
			t.counts.place(m.content)
		}
	}
	return nil
}

// Blobs pages through all blobs in the order of their ids.
func (db *DB) Blobs(ctx context.Context, q ledger.BlobQuery) (blobs []ledger.Blob, err error) {
	err = db.read(ctx, "blobs", func(t *tx) error {
		s := stateSlots(q.States)
		blobs, err = all(t, scanBlob, pageBlobs, q.After, q.Backend, s[0], s[1], s[2], s[3], bounded(q.Limit))
		return err
	})
	return blobs, err
}

// stateSlots spreads the wanted states over as many slots as there are states; none means
// all.
func stateSlots(want []lethe.State) (slots [4]lethe.State) {
	if len(want) == 0 {
		want = lethe.States
	}
	for _, s := range want {
		if s >= lethe.Pending && s <= lethe.Dead {
			slots[s-1] = s
		}
	}
	return slots
}

// BlobsByID returns those of the blobs that exist, in any order.
func (db *DB) BlobsByID(ctx context.Context, blobs []lethe.ID) (out []ledger.Blob, err error) {
	err = db.read(ctx, "blobs by id", func(t *tx) error {
		out, err = all(t, scanBlob, blobsByID, sqldb.JSON(blobs))
		return err
	})
	return out, err
}

// bounded returns n for LIMIT; no limit if n is 0 or less.
func bounded(n int) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return int64(n)
}
