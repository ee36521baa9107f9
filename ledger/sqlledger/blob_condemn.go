package sqlledger

import (
	"database/sql"
	"errors"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// death is why and when blobs were condemned.
type death struct {
	reason lethe.Reason
	at     lethe.Time // when the last reference went
	late   bool       // an upload under the name may still land (docs/protocol.md, rule 9)
	silent bool       // pending, and condemned while its writer may still be at work
}

// condemned counts the blobs that a statement condemned.
type condemned struct {
	blobs int
	bytes int64
}

func (c *condemned) add(o condemned) {
	c.blobs += o.blobs
	c.bytes += o.bytes
}

// setCondemned moves blobs to the queue. Blobs that were live wait for a read grace
// (docs/protocol.md, rule 18), except duplicates, which no reader ever found. Blobs that may
// still be written keep their row until after the late window.
const setCondemned = `UPDATE blobs SET state = 3, worker = '', fence = 0, claimed_at = 0, `

var (
	condemnBlobs = register(setCondemned + `reason = ?2, died_at = ?3, due_at = ?4,
			late_until = CASE WHEN late_until < ?5 THEN ?5 ELSE late_until END
		WHERE id ` + sqldb.In(1) + ` AND state = ?6 AND fence = ?7
		RETURNING id, backend, size, reason`)
	// PostgreSQL looks up the blobs of each content, and then each blob. By old statistics a
	// content has many blobs, and to read all would be faster: it expects ten rows of any array.
	condemnLive = registerBoth(setCondemned+`reason = t.reason, died_at = t.died, bucket_id = t.bucket, due_at = ?2
		FROM `+sqldb.Rows(1, "id text", "died bigint", "reason text", "bucket text")+`
		WHERE blobs.content_id = t.id AND blobs.state = 2
		RETURNING blobs.id, blobs.backend, blobs.size, blobs.reason`,
		setCondemned+`reason = l.reason, died_at = l.died, bucket_id = l.bucket, due_at = ?2
		FROM unnest(ARRAY(SELECT ROW(b.id, t.died, t.reason, t.bucket) FROM `+sqldb.Rows(1, "id text", "died bigint", "reason text", "bucket text")+`
			CROSS JOIN LATERAL (SELECT id FROM blobs WHERE content_id = t.id AND state = 2 OFFSET 0) AS b)) AS l(id text, died bigint, reason text, bucket text)
		WHERE blobs.id = l.id AND blobs.state = 2
		RETURNING blobs.id, blobs.backend, blobs.size, blobs.reason`)
	// This query has a partial index of its own, which is mostly empty.
	anyReplicaPending = register(`SELECT 1 FROM blobs WHERE state = 1 AND content_id IS NOT NULL LIMIT 1`)
	condemnReplicas   = register(setCondemned + `reason = t.reason, died_at = t.died, bucket_id = t.bucket, due_at = ?2,
			late_until = CASE WHEN late_until < ?2 THEN ?2 ELSE late_until END
		FROM ` + sqldb.Rows(1, "id text", "died bigint", "reason text", "bucket text") + `
		WHERE blobs.content_id = t.id AND blobs.state = 1
		RETURNING blobs.id, blobs.backend, blobs.size, blobs.reason`)
	forgetPromotions = register(`DELETE FROM promotions WHERE blob_id ` + sqldb.In(1))
	forgetPromotion  = register(`DELETE FROM promotions WHERE blob_id = ?1`)
)

// condemn condemns the blobs that are in state from and carry the fence (0: unclaimed). The
// caller compares the number with what it expects, and rolls back unless all pending ones went.
func (t *tx) condemn(blobs []lethe.ID, from lethe.State, fence int64, d death) (condemned, error) {
	if len(blobs) == 0 {
		return condemned{}, nil
	}
	due, late := t.Now, lethe.Time(0)
	if from == lethe.Live && d.reason != lethe.ReasonDuplicate {
		due = t.Now.Add(t.db.o.ReadGrace)
	}
	if d.late || d.silent {
		late = t.Now.Add(t.db.o.LateWindow)
	}
	if d.silent {
		due = late
	}
	if from == lethe.Pending {
		if err := t.forgetPromotions(blobs); err != nil {
			return condemned{}, err
		}
	}
	return t.condemnBy(from, condemnBlobs, sqldb.JSON(blobs), d.reason, d.at, due, late, from, fence)
}

// forgetPromotions removes the promotions of blobs, before these are locked.
func (t *tx) forgetPromotions(blobs []lethe.ID) (err error) {
	switch len(blobs) {
	case 0:
	case 1:
		// Nearly every write has one blob, and for one row a list parameter costs too much.
		_, err = t.Send(forgetPromotion, blobs[0])
	default:
		_, err = t.Send(forgetPromotions, sqldb.JSON(blobs))
	}
	return err
}

// condemnBy runs a statement that condemns blobs in state from and returns their ids,
// backends, sizes and reasons.
func (t *tx) condemnBy(from lethe.State, query string, args ...any) (out condemned, err error) {
	list, err := all(t, func(r *sql.Rows) (d CondemnedBlob, err error) {
		var reason lethe.Reason
		if err = r.Scan(&d.ID, &d.Backend, &d.Size, &reason); err == nil {
			t.counts.move(ledger.Move{Backend: d.Backend, From: from, To: lethe.Condemned, Reason: reason, Blobs: 1, Bytes: d.Size})
			out.add(condemned{1, d.Size})
		}
		return d, err
	}, query, args...)
	t.condemned = append(t.condemned, list...)
	return out, err
}

// condemnContents condemns the live blobs of contents on backends, and the copies under way of
// all, which are gone or lie in the ledger now, with the reason and time of each. Live blobs
// stay for the grace. pending is the answer of anyReplicaPending, asked after the contents were
// locked: no copy of them begins any more.
func (t *tx) condemnContents(onBackends, all []lossRow, pending sqldb.Scanner, grace time.Duration) (out condemned, err error) {
	if len(onBackends) > 0 {
		out, err = t.condemnBy(lethe.Live, condemnLive.of(t), sqldb.JSON(onBackends), t.Now.Add(grace))
		if err != nil {
			return out, err
		}
	}
	if err := pending.Scan(new(int64)); errors.Is(err, sql.ErrNoRows) {
		return out, nil
	} else if err != nil {
		return out, t.Failed(err)
	}
	replicas, err := t.condemnBy(lethe.Pending, condemnReplicas, sqldb.JSON(all), t.Now.Add(t.db.o.LateWindow))
	out.add(replicas)
	return out, err
}
