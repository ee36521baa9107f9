package memledger

import (
	"context"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// MarkSuspect marks live blobs that were found missing or damaged; it returns how many
// rows it changed.
func (db *DB) MarkSuspect(ctx context.Context, ids []lethe.ID, why string) (int, error) {
	return db.mark(ctx, ids, func(b *ledger.Blob) { b.Suspect, b.LastError = true, why })
}

// MarkSound records that live blobs were found sound by reads that began ago; it returns how
// many rows it changed.
func (db *DB) MarkSound(ctx context.Context, ids []lethe.ID, ago time.Duration) (int, error) {
	return db.mark(ctx, ids, func(b *ledger.Blob) {
		b.Suspect, b.LastError, b.VerifiedAt = false, "", max(b.VerifiedAt, db.now.Add(-ago))
	})
}

func (db *DB) mark(ctx context.Context, ids []lethe.ID, change func(*ledger.Blob)) (int, error) {
	if err := db.enter(ctx); err != nil {
		return 0, err
	}
	defer db.mu.Unlock()
	n := 0
	for i, id := range ids {
		b := db.byID[id]
		if b == nil || b.State != lethe.Live || slices.Contains(ids[:i], id) {
			continue
		}
		next := b.Blob
		change(&next)
		if b.Suspect != next.Suspect && b.ContentID != "" {
			db.place(b.ContentID)
		}
		db.set(b, next)
		n++
	}
	return n, nil
}

// Blobs pages through all blobs by id.
func (db *DB) Blobs(ctx context.Context, q ledger.BlobQuery) ([]ledger.Blob, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Blob
	for _, b := range db.blobs.from(func(b *blob) bool { return b.ID > q.After }) {
		if q.Backend != "" && b.Backend != q.Backend || len(q.States) > 0 && !slices.Contains(q.States, b.State) {
			continue
		}
		if out = append(out, b.Blob); len(out) == q.Limit {
			break
		}
	}
	return out, nil
}

// BlobsByID returns the rows that exist.
func (db *DB) BlobsByID(ctx context.Context, ids []lethe.ID) ([]ledger.Blob, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.Blob
	for i, id := range ids {
		if b := db.byID[id]; b != nil && !slices.Contains(ids[:i], id) {
			out = append(out, b.Blob)
		}
	}
	return out, nil
}
