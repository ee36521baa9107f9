package sqlledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

var (
	anySilent = register(`SELECT 1 FROM blobs
		WHERE state = 1 AND fence = 0 AND beat_at BETWEEN ?1 AND ?2 AND (?3 = '' OR backend = ?3) LIMIT 1`)
	claimSilent = register(`WITH silent AS MATERIALIZED (
			SELECT id FROM blobs
			WHERE state = 1 AND fence = 0 AND beat_at BETWEEN ?1 AND ?2 AND (?3 = '' OR backend = ?3)
			ORDER BY beat_at LIMIT ?4 ` + sqldb.Locked + `)
		UPDATE blobs SET worker = ?5, fence = ?6, claimed_at = ?7 FROM silent
		WHERE blobs.id = silent.id RETURNING ` + qualified("blobs", blobColumns))
	claimedPromotions = register(`SELECT p.blob_id, p.payload FROM ` + sqldb.IDs(1) + ` CROSS JOIN promotions p WHERE p.blob_id = t.id`)
	claimedIntent     = register(`SELECT 1 FROM blobs WHERE id = ?1 AND state = 1 AND fence = ?2 AND fence <> 0`)
	promotionOf       = register(`SELECT bucket_id, payload FROM promotions WHERE blob_id = ?1`)
	releaseIntent     = register(`UPDATE blobs SET worker = '', fence = 0, claimed_at = 0
		WHERE id = ?1 AND state = 1 AND fence = ?2 AND fence <> 0`)
	reapDue = register(`SELECT count(*), coalesce(sum(size), 0), coalesce(min(beat_at), 0) FROM blobs
		WHERE state = 1 AND fence = 0 AND beat_at <= ?1`)
	reapLater = register(countLater(`beat_at`, `blobs WHERE state = 1 AND fence = 0 AND beat_at > ?1`))
)

// ClaimIntents claims pending rows without a heartbeat for MinAge, longest silent first.
// From then on their writers fail (ErrReaped). Backend, if set, restricts it to one backend;
// After skips rows silent since earlier.
func (db *DB) ClaimIntents(ctx context.Context, r ledger.ClaimRequest) (out ledger.ClaimedIntents, err error) {
	err = db.batch(ctx, "claim intents", func(t *tx) error {
		out = ledger.ClaimedIntents{Now: t.Now}
		until := t.Now.Add(-r.MinAge)
		if found, err := t.exists(anySilent, r.After, until, r.Backend); err != nil || !found {
			return err
		}
		if out.Fence, err = t.newFence(); err != nil {
			return err
		}
		blobs, err := t.claimIdle(r, until, out.Fence)
		if err != nil {
			return err
		}
		sortBlobs(blobs, func(b ledger.Blob) lethe.Time { return b.BeatAt })
		out.Intents, err = t.withPromotions(blobs)
		return err
	})
	return out, err
}

func (t *tx) claimIdle(r ledger.ClaimRequest, until lethe.Time, fence int64) ([]ledger.Blob, error) {
	if r.Only != nil {
		return all(t, scanBlob, claimNamedIntents, sqldb.JSON(r.Only), until, r.Backend, bounded(r.Limit), r.Worker, fence, t.Now)
	}
	return all(t, scanBlob, claimSilent, r.After, until, r.Backend, bounded(r.Limit), r.Worker, fence, t.Now)
}

// withPromotions adds to intents their promotions that are still valid.
func (t *tx) withPromotions(blobs []ledger.Blob) ([]ledger.ClaimedIntent, error) {
	found, err := all(t, scanPromotion, claimedPromotions, sqldb.JSON(idsOf(blobs)))
	if err != nil {
		return nil, err
	}
	byBlob := make(map[lethe.ID]*ledger.Promotion, len(found))
	for _, p := range found {
		if p.broken == nil { // an unreadable promotion proves nothing, and must not block others
			byBlob[p.blob] = &p.Promotion
		}
	}
	out := make([]ledger.ClaimedIntent, len(blobs))
	for i, b := range blobs {
		out[i] = ledger.ClaimedIntent{Blob: b, Promotion: byBlob[b.ID]}
	}
	return out, nil
}

// storedPromotion is a row of promotions.
type storedPromotion struct {
	blob lethe.ID
	ledger.Promotion
	broken error // why it cannot be read
}

func scanPromotion(r *sql.Rows) (p storedPromotion, err error) {
	var payload string
	if err = r.Scan(&p.blob, &payload); err == nil {
		p.Promotion, p.broken = decodePromotion(payload)
	}
	return p, err
}

func decodePromotion(payload string) (p ledger.Promotion, err error) {
	if err = json.Unmarshal([]byte(payload), &p); err != nil {
		return p, fmt.Errorf("%w: promotion: %w", lethe.ErrCorrupt, err)
	}
	return p, nil
}

// CondemnIntent condemns a claimed intent that nothing proves. Its writer may still be at
// work, so its bytes are deleted after the late window. ErrFenced if the claim was taken
// over.
func (db *DB) CondemnIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	return db.batch(ctx, "condemn intent "+string(blob), func(t *tx) error {
		if fence == 0 {
			return lethe.ErrFenced
		}
		c, err := t.condemn([]lethe.ID{blob}, lethe.Pending, fence, death{reason: lethe.ReasonUploadOrphan, at: t.Now, silent: true})
		if err == nil && c.blobs != 1 {
			return lethe.ErrFenced
		}
		return err
	})
}

// ReleaseIntent releases a claimed intent for the next tick. ErrFenced if the claim was
// taken over.
func (db *DB) ReleaseIntent(ctx context.Context, fence int64, blob lethe.ID) error {
	return db.batch(ctx, "release intent "+string(blob), func(t *tx) error {
		return t.Must(1, lethe.ErrFenced, releaseIntent, blob, fence)
	})
}

// ReapBacklog counts unclaimed intents: those without a heartbeat for minAge as due, the
// others as later.
func (db *DB) ReapBacklog(ctx context.Context, minAge time.Duration) (b ledger.Backlog, err error) {
	err = db.read(ctx, "reap backlog", func(t *tx) error {
		b, err = t.backlog(reapDue, reapLater, t.Now.Add(-minAge))
		b.CountLater(minAge)
		return err
	})
	return b, err
}

// promotion returns the promotion of a claimed intent. ErrFenced if the claim was taken
// over, ErrPreconditionFailed if the key was written or removed since.
func (t *tx) promotion(fence int64, blob lethe.ID) (bucket lethe.ID, p ledger.Promotion, err error) {
	if ours, err := t.exists(claimedIntent, blob, fence); err != nil || !ours {
		return "", p, cmp.Or(err, lethe.ErrFenced)
	}
	var payload string
	err = t.Row(promotionOf, blob).Scan(&bucket, &payload)
	if errors.Is(err, sql.ErrNoRows) {
		return "", p, fmt.Errorf("the key was written or removed since: %w", lethe.ErrPreconditionFailed)
	}
	if err != nil {
		return "", p, t.Failed(err)
	}
	p, err = decodePromotion(payload)
	return bucket, p, err
}

// supersede removes the promotions of the locked key, that of the write among them. If a
// reaper finishes the write, and the key was written or removed during the wait for the lock,
// that one is gone: ErrPreconditionFailed.
func (w *write) supersede(fence int64) error {
	t, key := w.t, w.c.Object.Key
	if fence == 0 {
		if err := t.forgetPromotions(blobsOf(w.c.Blobs)); err != nil {
			return err
		}
		if !w.under.promotions {
			return nil
		}
		return t.supersede(w.bucket.ID, key)
	}
	gone, err := all(t, sqldb.One[lethe.ID], takePromotions, w.bucket.ID, key)
	if err == nil && !slices.ContainsFunc(w.c.Blobs, func(u ledger.Uploaded) bool { return slices.Contains(gone, u.Blob) }) {
		err = fmt.Errorf("the key was written or removed since: %w", lethe.ErrPreconditionFailed)
	}
	return err
}

// Promote commits a proven intent in its writer's place, by the commit that the writer was
// about to make and under its operation. ErrFenced if the claim was taken over,
// ErrPreconditionFailed if the key was written or removed since, and the errors of Commit.
// The writer may still be sending, so the bytes keep a row until after the late window. The
// sums are those of the bytes read as proof; they are stored if the writer had none.
func (db *DB) Promote(ctx context.Context, fence int64, blob lethe.ID, sums lethe.BlockSums) (out ledger.Committed, err error) {
	var c ledger.Commit
	err = db.batch(ctx, "promote intent "+string(blob), func(t *tx) error {
		bucket, p, err := t.promotion(fence, blob)
		if err != nil {
			return err
		}
		c = p.Commit
		b, err := t.bucket(c.Object.Bucket)
		if err != nil {
			return err
		}
		if b.ID != bucket {
			return fmt.Errorf("bucket %s was deleted and made again: %w", b.Name, lethe.ErrPreconditionFailed)
		}
		c.Proven(sums)
		out, err = t.commit(c, fence)
		return err
	})
	return db.replayed(ctx, c, out, err)
}
