package sqladopt

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/internal/sqldb"
	wording "github.com/lethe-storage/lethe/internal/words"
	"github.com/lethe-storage/lethe/receipt"
)

// Fact is one fact about a key. At is 0 if it holds now.
type Fact struct {
	At   lethe.Time
	What string
}

const (
	explainRow = `SELECT coalesce({content}, ''), coalesce({end text}, 'never'),
		CASE WHEN {r end} <= {as end}?2{close end} THEN 1 ELSE 0 END, CASE WHEN {r end} <= {earliest end} THEN 1 ELSE 0 END, coalesce({state}, 'NULL'), CASE WHEN {is known} THEN 1 ELSE 0 END
		FROM {rows} r WHERE r.{key} IN (SELECT {key of id} FROM {ids 1})`
	explainContent = `SELECT {object}, {c count}, {references}
		FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	explainObjects = `SELECT {object} FROM {contents} c WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})
		UNION SELECT object FROM {lethe}condemned WHERE collection = ?2 AND content = ?3`
	explainNamed  = `SELECT {c key} FROM {contents} c WHERE {object} IN (SELECT id FROM {ids 1})`
	explainObject = explainNamed + `
		UNION SELECT content FROM {lethe}condemned WHERE collection = ?2 AND object = ?3`
	explainMark = `SELECT state, due_at, attempts, error FROM {lethe}condemned WHERE collection = ?1 AND content = ?2`
	// explainReceipts reads all unsealed receipts of the collection: it is run
	// seldom.
	explainReceipts = `SELECT at, kind FROM {lethe}receipts WHERE collection = ?1 AND ` + receiptNames + ` ORDER BY at`
	receiptNames    = `CAST("keys" AS JSONB) @> CAST(?2 AS JSONB)`
)

var (
	uuidText  = regexp.MustCompile(`^\{?([0-9a-fA-F]{4}-?){8}\}?$`)
	byteaText = regexp.MustCompile(`^\\x([0-9a-fA-F]{2})*$`)
	bits      = map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "integer": 32, "bigint": 64}
)

// spelled returns a key as a list, which is empty if no value of the column has
// this text. A database rejects such a text, or converts it to another value.
func (c column) spelled(key string) []string {
	ok := true
	switch size := bits[c.base]; {
	case c.base == "uuid":
		ok = uuidText.MatchString(key)
	case c.base == "bytea":
		ok = byteaText.MatchString(key)
	case size > 0 && strings.Contains(c.kind, "unsigned"):
		_, err := strconv.ParseUint(key, 10, size)
		ok = err == nil
	case size > 0:
		_, err := strconv.ParseInt(key, 10, size)
		ok = err == nil
	}
	if !ok {
		return []string{}
	}
	return []string{key}
}

// Explain returns the facts about the key of a row, of a content, or of an
// object.
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
		about := c.explainOwned
		if c.c.Contents != nil {
			about = c.explainContent
		}
		more, err := about(t, content)
		if err == nil && len(found)+len(more) == 0 && c.c.Contents != nil {
			if more, keys, err = c.explainByObject(t, key); len(keys) > 1 {
				content = keys[0]
			}
		}
		if err != nil {
			return err
		}
		facts = append(facts, more...)
		held, err := c.explainHolds(t, key, content)
		if err != nil {
			return err
		}
		facts = append(facts, held...)
		for _, k := range keys {
			gone, err := c.receipts(t, k, false)
			if err != nil {
				return err
			}
			for _, f := range gone {
				facts = append(facts, c.described(f, k))
			}
		}
		return nil
	})
	return facts, err
}

// described returns a fact of a receipt, described for the collection.
func (c *Collection) described(f Fact, key string) Fact {
	switch st := c.c.Rows.Status; {
	case f.What == meaning(receipt.Object, key) && c.c.Guard == adopt.QuarantineGuard:
		f.What = "the object of content " + adopt.Brief(key) + " left its place: it was moved into quarantine, or deleted before the file had one"
	case f.What == meaning(receipt.Row, key) && st != nil && st.Deleted != "":
		f.What = "row " + adopt.Brief(key) + " ended; it is kept as " + st.Deleted
	case f.What == meaning(receipt.Object, key) && c.c.Contents == nil:
		f.What = "object " + adopt.Brief(key) + " was deleted"
	}
	return f
}

// explainHolds returns the holds on a row, and on the object of a content.
func (c *Collection) explainHolds(t *tx, row, content string) (facts []Fact, err error) {
	holds, err := t.holds(c.db.engine, c.name)
	if err != nil || len(holds) == 0 {
		return nil, err
	}
	by := []*adopt.Hold{holds.Row(row)}
	objects := []string{content}
	if c.c.Contents != nil {
		if objects, err = all(t, text, explainObjects, sqldb.JSON(c.s.contents.columns[c.c.Contents.Key].spelled(content)), c.name, content); err != nil {
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

// movements are the kinds of receipts of moves into quarantine and back.
var movements = []receipt.Kind{receipt.Quarantined, receipt.Restored, receipt.Purged}

// receipts returns the receipts of a key that is gone or was moved.
func (s scope) receipts(t *tx, key string, moves bool) (facts []Fact, err error) {
	if installed, err := s.installed(t); err != nil || !installed {
		return nil, err
	}
	list, err := t.chain().Find(receipt.OfAdopted(s.name, key))
	if err != nil {
		return nil, err
	}
	fresh, err := all(t, func(r *sql.Rows) (x receipt.Receipt, err error) {
		var kind string
		err = r.Scan(&x.At, &kind)
		x.Kind, x.Collection, x.Key = kinds[kind], s.name, key
		return x, err
	}, explainReceipts, s.name, sqldb.JSON([]string{key}))
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(append(list, fresh...), func(r receipt.Receipt) bool { return r.Collection != s.name || r.Key != key })
	receipt.Sort(list)
	before := receipt.Instant(0)
	for _, r := range list {
		if slices.Contains(movements, r.Kind) != moves {
			continue
		}
		what := meaning(r.Kind, key)
		moved := func(m receipt.Receipt) bool { return m.Kind == receipt.Quarantined && m.At > before && m.At <= r.At }
		if r.Kind == receipt.Orphan && slices.ContainsFunc(list, moved) {
			what = "object " + adopt.Brief(key) + " left its place, as no row named it: it was moved to quarantine"
		}
		facts = append(facts, Fact{lethe.Time(r.At), what})
		before = r.At
	}
	return facts, nil
}

// meaning describes a receipt.
func meaning(kind receipt.Kind, key string) string {
	key = adopt.Brief(key)
	switch kind {
	case receipt.Object:
		return "the object of content " + key + " was deleted"
	case receipt.Folder:
		return "folder " + key + " was removed"
	case receipt.Orphan:
		return "object " + key + " was deleted, as no row named it"
	case receipt.Unconfirmed:
		return "the delete of object " + key + ", which no row named, was allowed, and its end was not seen"
	case receipt.Quarantined:
		return "object " + key + " was moved into quarantine"
	case receipt.Restored:
		return "object " + key + " was copied back from quarantine"
	case receipt.Purged:
		return "the copy of object " + key + " in quarantine was deleted"
	}
	return "row " + key + " was removed"
}

func (c *Collection) explainRow(t *tx, key string) (content string, facts []Fact, err error) {
	facts, err = all(t, func(r *sql.Rows) (f Fact, err error) {
		var end, state string
		var expired, early, known bool
		if err := r.Scan(&content, &end, &expired, &early, &state, &known); err != nil {
			return f, err
		}
		f.What = "row " + adopt.Brief(key) + " ends at " + end
		if end == "never" {
			f.What = "row " + adopt.Brief(key) + " never ends"
		}
		switch {
		case early:
			f.What += ", which is before 1990 and may stand for never, so that it stays"
		case expired:
			f.What += ", which is past"
		}
		if state != "" {
			f.What += "; its state is " + state
		}
		if !known {
			f.What += ", which the description does not name, so that it stays"
		}
		if content != "" {
			f.What += "; it refers to content " + adopt.Brief(content)
		}
		return f, nil
	}, explainRow, sqldb.JSON(c.s.rows.columns[c.c.Rows.Key].spelled(key)), c.end(t))
	return content, facts, err
}

func (c *Collection) explainContent(t *tx, content string) ([]Fact, error) {
	facts, err := all(t, func(r *sql.Rows) (f Fact, err error) {
		var object string
		var count sql.NullInt64
		var rows int64
		err = r.Scan(&object, &count, &rows)
		f.What = fmt.Sprintf("content %s is object %s; %s to it", adopt.Brief(content), adopt.Brief(object), wording.Plural(rows, "row refers", "rows refer"))
		switch {
		case c.c.Contents.Count == "":
		case !count.Valid:
			f.What += ", its count is NULL"
		default:
			f.What += fmt.Sprintf(", its count is %d", count.Int64)
		}
		f.What += c.stays(object)
		return f, err
	}, explainContent, sqldb.JSON(c.s.contents.columns[c.c.Contents.Key].spelled(content)))
	if err != nil {
		return nil, err
	}
	marks, err := recorded(t, c.scope, c.scanMark, explainMark, c.name, content)
	return append(facts, marks...), err
}

// explainByObject describes the contents whose object has a key. It returns
// their keys for the receipts; the object's key is the last.
func (c *Collection) explainByObject(t *tx, object string) (facts []Fact, keys []string, err error) {
	if err := c.db.engine.allow(t, 0); err != nil { // no index need fit a template
		return nil, nil, err
	}
	installed, err := c.installed(t)
	if err != nil {
		return nil, nil, err
	}
	query, args := explainNamed, []any{sqldb.JSON([]string{object})}
	if installed {
		query, args = explainObject, append(args, c.name, object)
	}
	contents, err := all(t, text, query, args...)
	if err != nil {
		return nil, nil, err
	}
	for _, content := range contents {
		more, err := c.explainContent(t, content)
		if err != nil {
			return nil, nil, err
		}
		facts = append(facts, more...)
	}
	return facts, append(contents, object), nil
}

// explainOwned describes an object that rows own.
func (c *Collection) explainOwned(t *tx, object string) (facts []Fact, err error) {
	if len(c.c.Rows.Objects) > 0 {
		seen, err := c.look(t, []string{object})
		if err != nil {
			return nil, err
		}
		if seen[object].referenced {
			facts = append(facts, Fact{What: "a row owns object " + adopt.Brief(object) + c.stays(object)})
		}
	}
	marks, err := recorded(t, c.scope, c.scanMark, explainMark, c.name, object)
	return append(facts, marks...), err
}

// stays returns why an object is never deleted, empty if it may be.
func (s scope) stays(object string) string {
	switch {
	case s.prefix != "" && object == s.prefix:
		return "; its key is the prefix itself, so that it stays"
	case object == "" || !strings.HasPrefix(object, s.prefix):
		return fmt.Sprintf("; its key lies outside of the prefix %s, so that it stays", s.prefix)
	}
	if err := blob.CheckForeign(object); err != nil {
		return fmt.Sprintf("; services read its key in different ways, so that it stays until it is renamed (%v)", err)
	}
	return ""
}

// scanMark scans a mark as a fact. Only triggers refuse references to what is marked.
func (c *Collection) scanMark(r *sql.Rows) (f Fact, err error) {
	var state, attempts int
	var due lethe.Time
	var failed string
	if err := r.Scan(&state, &due, &attempts, &failed); err != nil {
		return f, err
	}
	moves := c.c.Guard == adopt.QuarantineGuard
	switch {
	case state == waiting && moves:
		f.What = "nobody refers to it: it may be moved into quarantine from " + due.String() + " on"
	case state == waiting:
		f.What = "nobody refers to it: it may be deleted from " + due.String() + " on"
	case state == condemned && moves:
		f.What = fmt.Sprintf("it is being moved into quarantine, attempt %d; if something refers to it again, it is copied back", attempts)
	case state == condemned:
		f.What = fmt.Sprintf("it is being deleted, attempt %d; nothing may refer to it", attempts)
	case state == gone && moves:
		f.What = "it left its place, which is looked at once more after " + due.String() + "; if something refers to it again, it is copied back"
	case state == gone:
		f.What = "it was deleted; nothing may refer to it until " + due.String()
	}
	if failed != "" && state != gone {
		f.What += "; the last delete failed: " + failed
	}
	return f, nil
}

// Explain returns the facts about the key of an object that was moved.
func (q *Quarantine) Explain(ctx context.Context, key string) (facts []Fact, err error) {
	err = q.read(ctx, "explain a key in quarantine", func(t *tx) error {
		facts, err = q.receipts(t, key, true)
		if err != nil {
			return err
		}
		if installed, err := q.installed(t); err != nil || !installed {
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
