package sqlledger

import (
	"cmp"
	"database/sql"
	"fmt"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
)

// trusted selects blobs b that were written, or read to the end and found whole, after ?2,
// and since their backend was last in doubt.
var trusted = `(b.created_at > ?2 OR b.verified_at > ?2) AND ` + sinceDoubt("b")

// sinceDoubt selects blobs that were written, or read to the end and found whole, since their
// backend was last in doubt.
func sinceDoubt(blobs string) string {
	return `CASE WHEN ` + blobs + `.created_at > ` + blobs + `.verified_at THEN ` + blobs + `.created_at ELSE ` + blobs + `.verified_at END
		> (SELECT k.trusted_since FROM backends k WHERE k.id = ` + blobs + `.backend)`
}

var (
	distrust   = register(`UPDATE backends SET trusted_since = ?2 WHERE ?1 = '' OR id = ?1`)
	liveCopies = register(`SELECT ` + qualified("b", blobColumns) + `, CASE WHEN ` + trusted + ` THEN 1 ELSE 0 END
		FROM blobs b WHERE b.content_id = ?1 AND b.state = 2`)
)

// trusted reports whether every segment of a content has a live copy that is not suspect and
// was written or verified within the trust window, on a backend within reach; without names,
// on any backend.
func (t *tx) trusted(content lethe.ID, reach []string) (bool, error) {
	var segments, covered int
	query, args := contentTrusted, []any{content, t.db.o.TrustedSince(t.Now)}
	if len(reach) > 0 {
		query, args = contentWithin, append(args, sqldb.JSON(reach))
	}
	err := t.Row(query, args...).Scan(&segments, &covered)
	return segments > 0 && segments == covered, t.Failed(err)
}

// verified returns ErrContentGone, and possibly ErrUnverified, for a content that is not
// trusted.
func (t *tx) verified(content lethe.ID) error {
	ok, err := t.trusted(content, nil)
	if err != nil || ok {
		return err
	}
	live, err := t.liveCopies(content)
	return cmp.Or(err, t.db.o.Unverified(live))
}

func (t *tx) liveCopies(content lethe.ID) ([]ledger.Copy, error) {
	return all(t, func(r *sql.Rows) (c ledger.Copy, err error) {
		c.Blob, err = scanBlobRow(r, &c.Trusted)
		return c, err
	}, liveCopies, content, t.db.o.TrustedSince(t.Now))
}

// lately returns ReadSince for the transaction.
func (t *tx) lately() lethe.Time { return t.db.o.ReadSince(t.Now) }

// takeOver condemns the older copies of a locked content that the added copy replaces.
func (w *write) takeOver(content lethe.ID, replica int, since lethe.Time) error {
	t := w.t
	live, err := t.liveCopies(content)
	if err != nil {
		return err
	}
	gone, rest := ledger.Renewal{Live: live, Replica: replica, Since: since, Reach: w.c.Reach, Wanted: t.db.o.Replicas}.Replaced()
	if rest {
		t.counts.place(content)
	}
	c, err := t.condemn(gone, lethe.Live, 0, death{reason: lethe.ReasonUnverified, at: t.Now})
	if err == nil && c.blobs != len(gone) {
		err = fmt.Errorf("%d of %d older copies of content %s are live: %w", c.blobs, len(gone), content, lethe.ErrCorrupt)
	}
	return err
}
