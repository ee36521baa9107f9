package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

// Fact is one thing that is known of a key. At is 0 for what is so now.
type Fact struct {
	At   lethe.Time
	What string
}

const (
	explainRow = `SELECT coalesce({content}, ''), coalesce({end text}, 'never'),
		CASE WHEN {r end} <= {as end}?2{close end} THEN 1 ELSE 0 END, {state}
		FROM {rows} r WHERE r.{key} IN (SELECT {key of id} FROM {ids 1})`
	explainContent = `SELECT {object}, c.{count}, (SELECT count(*) FROM {rows} r WHERE r.{content column} = c.{ckey})
		FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	explainObjects = `SELECT {object} FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})
		UNION SELECT object FROM {lethe}condemned WHERE collection = ?2 AND content = ?3`
	explainMark = `SELECT state, due_at, attempts, error FROM {lethe}condemned WHERE collection = ?1 AND content = ?2`
	// These read what was kept of the collection: they are asked seldom.
	explainMoves = `SELECT at, kind FROM {lethe}receipts WHERE collection = ?1 AND kind IN ('quarantined', 'restored', 'purged')
		AND ` + receiptNames + ` ORDER BY at`
	explainReceipts = `SELECT at, kind FROM {lethe}receipts WHERE collection = ?1 AND kind IN ('rows', 'objects', 'folders', 'orphans', 'unconfirmed') AND ` + receiptNames + ` ORDER BY at`
	receiptNames    = `CAST("keys" AS JSONB) @> CAST(?2 AS JSONB)`
)

// Explain returns what is known of the key of a row, or of a content.
func (c *Collection) Explain(ctx context.Context, key string) (facts []Fact, err error) {
	err = c.read(ctx, "explain a key", func(t *tx) error {
		content, found, err := c.explainRow(t, key)
		if err != nil {
			return err
		}
		facts = found
		keys := []string{key}
		if content == "" {
			content = key
		} else {
			keys = append(keys, content)
		}
		if c.c.Contents != nil {
			more, err := c.explainContent(t, content)
			if err != nil {
				return err
			}
			facts = append(facts, more...)
		}
		held, err := c.explainHolds(t, key, content)
		if err != nil {
			return err
		}
		facts = append(facts, held...)
		for _, k := range keys {
			gone, err := c.receipts(t, k)
			if err != nil {
				return err
			}
			facts = append(facts, gone...)
		}
		return nil
	})
	return facts, err
}

// explainHolds tells what keeps a row, and the object of a content.
func (c *Collection) explainHolds(t *tx, row, content string) (facts []Fact, err error) {
	holds, err := t.holds(c.db.engine, c.name)
	if err != nil || len(holds) == 0 {
		return nil, err
	}
	by := []*adopt.Hold{holds.Row(row)}
	objects := []string{content}
	if c.c.Contents != nil {
		if objects, err = all(t, text, explainObjects, sqldb.JSON(objects), c.name, content); err != nil {
			return nil, err
		}
	}
	for _, object := range objects {
		by = append(by, holds.Object(object))
	}
	for _, h := range by {
		if h != nil && !slices.Contains(facts, Fact{What: h.Why()}) {
			facts = append(facts, Fact{What: h.Why()})
		}
	}
	return facts, nil
}

// receipt is that something went, and when.
type receipt struct {
	at   lethe.Time
	kind string
}

func scanReceipt(r *sql.Rows) (out receipt, err error) {
	err = r.Scan(&out.at, &out.kind)
	return out, err
}

// receipts tells what is kept of a key that went.
func (s scope) receipts(t *tx, key string) (facts []Fact, err error) {
	gone, err := all(t, scanReceipt, explainReceipts, s.name, sqldb.JSON([]string{key}))
	if err != nil || len(gone) == 0 {
		return nil, err
	}
	moves, err := all(t, scanReceipt, explainMoves, s.name, sqldb.JSON([]string{key}))
	before := lethe.Time(0)
	for _, r := range gone {
		what := told(r.kind, key)
		moved := func(m receipt) bool { return m.kind == "quarantined" && m.at > before && m.at <= r.at }
		if r.kind == "orphans" && slices.ContainsFunc(moves, moved) {
			what = "object " + key + " left its place, as no row named it: it was moved to quarantine"
		}
		facts = append(facts, Fact{r.at, what})
		before = r.at
	}
	return facts, err
}

// told says what a receipt means.
func told(kind, key string) string {
	switch kind {
	case "objects":
		return "the object of content " + key + " was deleted"
	case "folders":
		return "folder " + key + " was removed"
	case "orphans":
		return "object " + key + " was deleted, as no row named it"
	case "unconfirmed":
		return "the delete of object " + key + ", which no row named, was allowed, and its end was not seen"
	case "quarantined":
		return "object " + key + " was moved into quarantine"
	case "restored":
		return "object " + key + " was copied back from quarantine"
	case "purged":
		return "the copy of object " + key + " in quarantine was deleted"
	}
	return "row " + key + " was removed"
}

func (c *Collection) explainRow(t *tx, key string) (content string, facts []Fact, err error) {
	facts, err = all(t, func(r *sql.Rows) (f Fact, err error) {
		var end, state string
		var expired bool
		if err := r.Scan(&content, &end, &expired, &state); err != nil {
			return f, err
		}
		f.What = "row " + key + " ends at " + end
		if expired {
			f.What += ", which is past"
		}
		if state != "" {
			f.What += "; its state is " + state
		}
		if content != "" {
			f.What += "; it refers to content " + content
		}
		return f, nil
	}, explainRow, sqldb.JSON([]string{key}), c.end(t))
	return content, facts, err
}

func (c *Collection) explainContent(t *tx, content string) ([]Fact, error) {
	facts, err := all(t, func(r *sql.Rows) (f Fact, err error) {
		var object string
		var count, rows int64
		err = r.Scan(&object, &count, &rows)
		f.What = fmt.Sprintf("content %s is object %s; %d rows refer to it", content, object, rows)
		if c.c.Contents.Count != "" {
			f.What += fmt.Sprintf(", its count is %d", count)
		}
		return f, err
	}, explainContent, sqldb.JSON([]string{content}))
	if err != nil {
		return nil, err
	}
	marks, err := all(t, scanMark, explainMark, c.name, content)
	return append(facts, marks...), err
}

func scanMark(r *sql.Rows) (f Fact, err error) {
	var state, attempts int
	var due lethe.Time
	var failed string
	if err := r.Scan(&state, &due, &attempts, &failed); err != nil {
		return f, err
	}
	switch state {
	case waiting:
		f.What = "nobody refers to it: it may be deleted from " + due.String() + " on"
	case condemned:
		f.What = fmt.Sprintf("it is being deleted, attempt %d; nothing may refer to it", attempts)
		if failed != "" {
			f.What += "; the last one failed: " + failed
		}
	case gone:
		f.What = "it was deleted; nothing may refer to it until " + due.String()
	}
	return f, nil
}

// Explain returns what is known of the key of an object that was moved.
func (q *Quarantine) Explain(ctx context.Context, key string) (facts []Fact, err error) {
	err = q.read(ctx, "explain a key in quarantine", func(t *tx) error {
		facts, err = all(t, func(r *sql.Rows) (f Fact, err error) {
			var kind string
			err = r.Scan(&f.At, &kind)
			f.What = told(kind, key)
			return f, err
		}, explainMoves, q.name, sqldb.JSON([]string{key}))
		if err != nil {
			return err
		}
		held, err := q.held(t, heldOne, key)
		for _, h := range held {
			facts = append(facts, Fact{What: h.String()})
		}
		return err
	})
	return facts, err
}
