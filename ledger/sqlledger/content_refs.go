package sqlledger

import (
	"cmp"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// refs collects a transaction's changes of references, by content (docs/protocol.md, rules 3
// and 16). settleRefs writes the net change of each.
type refs map[lethe.ID]change

// change is what happened to one content.
type change struct {
	net int64
	end end // of the last reference lost
}

// end is when, why and in which bucket a reference was lost.
type end struct {
	at     lethe.Time
	reason lethe.Reason
	bucket lethe.ID // empty: not known
}

// after orders the ends within one transaction.
func (e end) after(o end) bool {
	return cmp.Or(cmp.Compare(e.at, o.at), cmp.Compare(e.reason, o.reason), cmp.Compare(e.bucket, o.bucket)) > 0
}

// gain notes one more reference.
func (r refs) gain(content lethe.ID) {
	if content == "" {
		return
	}
	c := r[content]
	c.net++
	r[content] = c
}

// lose notes one lost reference. Zero bytes have no content and need no note.
func (r refs) lose(content lethe.ID, e end) {
	if content == "" {
		return
	}
	c := r[content]
	c.net--
	if e.after(c.end) {
		c.end = e
	}
	r[content] = c
}

// dropped is what was lost with the last references.
type dropped struct {
	contents []lethe.ID // in order of id
	condemned
	freed freed
}

// droppedContent is a content whose row was deleted.
type droppedContent struct {
	id   lethe.ID
	body int64 // number of its inline bytes; 0: none
	size int64 // bytes
}

func scanDropped(r *sql.Rows) (c droppedContent, err error) {
	err = r.Scan(&c.id, &c.body, &c.size)
	return c, err
}

// lossRow is a loss as a parameter row.
type lossRow struct {
	ID     lethe.ID     `json:"id"`
	N      int64        `json:"n"`
	Died   lethe.Time   `json:"died"`
	Reason lethe.Reason `json:"reason"`
	Bucket lethe.ID     `json:"bucket"`
}

var (
	gainRef = register(`UPDATE contents SET refs = refs + ?2,
			closed = CASE WHEN refs + ?2 >= ?3 THEN 1 ELSE closed END
		WHERE id = ?1`)
	dropContents = register(`DELETE FROM contents WHERE id ` + sqldb.In(1) + ` AND refs = ?2 RETURNING id, body_no, size`)
	loseRefs     = register(`UPDATE contents SET refs = refs - ?2 WHERE id ` + sqldb.In(1))
)

// settleRefs applies the net changes: it adds gains, closes contents that have reached
// MaxRefs, and subtracts losses. Contents without references are deleted, and all their
// blobs condemned, at once (docs/protocol.md, rule 4). The rows that referred to them must
// be gone already.
func (t *tx) settleRefs(r refs) (out dropped, err error) {
	var losses []lossRow
	for _, id := range slices.Sorted(maps.Keys(r)) {
		switch c := r[id]; {
		case c.net > 0:
			missing := fmt.Errorf("content %s is gone: %w", id, lethe.ErrCorrupt)
			if err := t.Must(1, missing, gainRef, id, c.net, t.db.o.MaxRefs); err != nil {
				return out, err
			}
		case c.net < 0:
			losses = append(losses, lossRow{id, -c.net, c.end.at, c.end.reason, c.end.bucket})
		}
	}
	if len(losses) == 0 {
		return out, nil
	}
	return t.deref(losses)
}

// deref subtracts losses. Contents that reach zero go first, so that the others can be
// updated unconditionally.
func (t *tx) deref(losses []lossRow) (out dropped, err error) {
	names := make([]lethe.ID, len(losses))
	for i, l := range losses {
		names[i] = l.ID
	}
	if err := t.lockContents("", names...); err != nil {
		return out, err
	}
	pending := t.Ask(anyReplicaPending)
	gone, err := t.dropAtZero(losses)
	if err != nil {
		return out, err
	}
	inline := map[lethe.ID]bool{} // by contents that are gone
	for _, c := range gone {
		out.contents = append(out.contents, c.id)
		inline[c.id] = c.body != 0
	}
	stays := func(l lossRow) bool { _, dead := inline[l.ID]; return !dead }
	if err := t.loseSome(slices.DeleteFunc(slices.Clone(losses), func(l lossRow) bool { return !stays(l) })); err != nil {
		return out, err
	}
	if len(gone) == 0 {
		return out, nil
	}
	if out.freed, err = t.dropBodies(gone, losses); err != nil {
		return out, err
	}
	losses = slices.DeleteFunc(losses, stays)
	onBackends := slices.DeleteFunc(slices.Clone(losses), func(l lossRow) bool { return inline[l.ID] })
	// Copies under way are also those of inline contents that leave the ledger.
	out.condemned, err = t.condemnContents(onBackends, losses, pending, t.db.o.ReadGrace)
	return out, err
}

// byLoss calls fn with the contents that lose n references, for each n. Most lose one: looking
// up ids by number of losses is cheaper than comparing each row with its own.
func byLoss(losses []lossRow, fn func(n int64, ids []lethe.ID) error) error {
	ids := map[int64][]lethe.ID{}
	for _, l := range losses {
		ids[l.N] = append(ids[l.N], l.ID)
	}
	for _, n := range slices.Sorted(maps.Keys(ids)) {
		if err := fn(n, ids[n]); err != nil {
			return err
		}
	}
	return nil
}

// loseSome subtracts losses of contents that keep other references.
func (t *tx) loseSome(losses []lossRow) error {
	return byLoss(losses, func(n int64, ids []lethe.ID) error {
		missing := fmt.Errorf("of %d contents that had references not all are there: %w", len(ids), lethe.ErrCorrupt)
		return t.Must(int64(len(ids)), missing, loseRefs, sqldb.JSON(ids), n)
	})
}

// dropAtZero deletes the contents that lose their last reference, and returns them in order.
func (t *tx) dropAtZero(losses []lossRow) (gone []droppedContent, err error) {
	err = t.KeepChecks(len(losses), func() error {
		return byLoss(losses, func(n int64, ids []lethe.ID) error {
			list, err := all(t, scanDropped, dropContents, sqldb.JSON(ids), n)
			gone = append(gone, list...)
			return err
		})
	})
	slices.SortFunc(gone, func(a, b droppedContent) int { return cmp.Compare(a.id, b.id) })
	return gone, err
}
