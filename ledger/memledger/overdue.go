package memledger

import (
	"context"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// weigh returns what an open upload stores, and whether it is held.
func (db *DB) weigh(u *upload) ledger.OverdueUpload {
	out := ledger.OverdueUpload{Upload: u.out(), Held: u.bucket.held(u.Key) != nil}
	for _, p := range u.parts.rows {
		if b := db.byID[p.BlobID]; b != nil {
			out.Backends = append(out.Backends, b.backend.ID)
			out.Blobs++
			out.Bytes += b.Size
		}
	}
	slices.Sort(out.Backends)
	out.Backends = slices.Compact(out.Backends)
	return out
}

// left returns since when an open upload counts as abandoned.
func (db *DB) left(u *upload, s ledger.Stale) ledger.OverdueUpload {
	out := db.weigh(u)
	out.Stale, out.By = s.Of(out.Backends)
	out.At = u.TouchedAt.Add(out.Stale)
	return out
}

// StaleUploads lists abandoned uploads that no hold keeps, longest untouched first.
func (db *DB) StaleUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.OverdueUpload
	for _, u := range db.touched.rows {
		if o := db.left(u, q.Stale); o.At <= db.now && (q.Held || !o.Held) {
			out = append(out, o)
		}
	}
	return first(out, q.Limit), nil
}

// OpenUploads is Uploads with what each stores and whether it is held: ErrNoSuchBucket.
func (db *DB) OpenUploads(ctx context.Context, q ledger.UploadQuery) ([]ledger.OverdueUpload, error) {
	list, err := db.Uploads(ctx, q)
	if err != nil {
		return nil, err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	var out []ledger.OverdueUpload
	for _, u := range list {
		if row := db.uploads[u.ID]; row != nil {
			out = append(out, db.weigh(row))
		}
	}
	return out, nil
}

// AbortStale aborts an abandoned upload: ErrNoSuchUpload, ErrHeld.
func (db *DB) AbortStale(ctx context.Context, id lethe.ID, s ledger.Stale) error {
	if err := db.enter(ctx); err != nil {
		return err
	}
	defer db.mu.Unlock()
	u := db.uploads[id]
	if u == nil || db.left(u, s).At > db.now {
		return fmt.Errorf("memledger: abort stale upload %s: %w", id, lethe.ErrNoSuchUpload)
	}
	return db.abortOpen(u)
}

// abortOpen ends an upload that no client asked to end, unless it is held: ErrHeld.
func (db *DB) abortOpen(u *upload) error {
	if err := u.bucket.held(u.Key); err != nil {
		return fmt.Errorf("memledger: abort upload %s: %w", u.ID, err)
	}
	db.end(u)
	return nil
}

// UploadBacklog counts the open uploads, abandoned and later.
func (db *DB) UploadBacklog(ctx context.Context, s ledger.Stale) (b ledger.Backlog, err error) {
	if err := db.enter(ctx); err != nil {
		return b, err
	}
	defer db.mu.Unlock()
	for _, u := range db.touched.rows {
		switch o := db.left(u, s); {
		case o.At > db.now:
			b.Scheduled++
			if b.NextDue == 0 || o.At < b.NextDue {
				b.NextDue = o.At
			}
		case o.Held:
			b.Held++
			b.HeldBytes += o.Bytes
		default:
			b.Count++
			b.Bytes += o.Bytes
			if b.Oldest == 0 || o.At < b.Oldest {
				b.Oldest = o.At
			}
		}
	}
	b.Scheduled = min(b.Scheduled, ledger.MaxScheduled)
	return b, nil
}

// RuledUploads lists open uploads that their bucket's rules abort now and that no hold
// keeps.
func (db *DB) RuledUploads(ctx context.Context, q ledger.OverdueQuery) ([]ledger.OverdueUpload, error) {
	if err := db.enter(ctx); err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	var out []ledger.OverdueUpload
	for _, b := range db.names.rows {
		for _, u := range b.uploads.rows {
			r, at := b.rules.Aborts(u.Key, u.CreatedAt)
			if r == nil || at > db.now {
				continue
			}
			o := db.weigh(u)
			o.Rule, o.At, o.Upload.Bucket = r.ID, at, b.Name
			if q.Held || !o.Held {
				out = append(out, o)
			}
		}
	}
	return first(out, q.Limit), nil
}

// AbortRuled aborts an upload if a rule in force aborts it now: ErrNoSuchUpload otherwise,
// ErrHeld.
func (db *DB) AbortRuled(ctx context.Context, id lethe.ID) (string, error) {
	if err := db.enter(ctx); err != nil {
		return "", err
	}
	defer db.mu.Unlock()
	u := db.uploads[id]
	if u == nil {
		return "", fmt.Errorf("memledger: abort upload %s by a rule: %w", id, lethe.ErrNoSuchUpload)
	}
	r, at := u.bucket.rules.Aborts(u.Key, u.CreatedAt)
	if r == nil || at > db.now {
		return "", fmt.Errorf("memledger: no rule aborts upload %s now: %w", id, lethe.ErrNoSuchUpload)
	}
	if err := db.abortOpen(u); err != nil {
		return "", err
	}
	return r.ID, nil
}
