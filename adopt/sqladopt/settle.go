package sqladopt

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lethe-storage/lethe/adopt"
	"github.com/lethe-storage/lethe/internal/sqldb"
)

var (
	// claimedRows locks the rows of a claim as their removal does: with contents
	// locked it must not wait. That they still carry the claim is not a
	// condition: PostgreSQL would scan all rows in progress for each of them.
	claimedRows = `SELECT {r key}, {content}, CASE WHEN {is past} AND {r end} > {earliest end} THEN 1 ELSE 0 END,
		CASE WHEN {is claimed} AND r.{initiated} = {as initiated}?3{close initiated} THEN 1 ELSE 0 END{copies}
		FROM {rows} r WHERE r.{key} IN (SELECT {key of id} FROM {ids 2}) ORDER BY r.{key} {for update}`
	// claimedKept lets rows that refer to those of a claim be inserted: they stay.
	claimedKept = strings.Replace(claimedRows, "{for update}", sqldb.Exclusive, 1)
	deleteRows  = `DELETE FROM {rows} WHERE {key} IN (SELECT {key of id} FROM {ids 1})`
	keepRows    = `UPDATE {rows} SET {deleted} WHERE {key} IN (SELECT {key of id} FROM {ids 1})`

	lockContents = `SELECT {c key}, {object}, coalesce(c.{count}, 0) FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ORDER BY c.{ckey} ` + sqldb.Exclusive
	// lockFree locks contents as freeContents does, and counts them as well.
	lockFree = `SELECT {c key}, {object}, coalesce(c.{count}, 0) FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1}) ` + sqldb.Locked
	namedContents = `SELECT {c key}, {object}, 0 FROM {contents} c
		WHERE c.{ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	countDown = `UPDATE {contents} SET {count} = {count} - ?2
		WHERE {ckey} IN (SELECT {ckey of id} FROM {ids 1})`
	countZero = `UPDATE {contents} SET {count} = 0
		WHERE {ckey} IN (SELECT {ckey of id} FROM {ids 1})`

	// insertWaiting begins anew with one that waits already, as it was referenced in
	// between, and with one whose mark was over at ?4. A mark by which alone Lethe knows of an
	// object stays as it is.
	insertWaiting = `INSERT INTO {lethe}condemned AS d (collection, content, object, state, due_at)
		SELECT ?2, t.content, t.object, 1, ?3 FROM ` + sqldb.Rows(1, "content text", "object text") + ` WHERE TRUE
		ON CONFLICT (collection, content) DO UPDATE SET object = excluded.object, state = 1, due_at = excluded.due_at,
			attempts = 0, unseen_until = 0
		WHERE d.state = 1 AND (d.attempts = 0 OR d.object = excluded.object) OR d.state = 3 AND d.due_at <= ?4`
	insertAgain   = `INSERT INTO {lethe}cache_due (collection, due_at, "keys") VALUES (?1, ?2, ?3)`
	insertReceipt = `INSERT INTO {lethe}receipts (collection, kind, at, "keys") VALUES (?1, ?2, ?3, ?4)`
)

// claimed is a row of a claim.
type claimed struct {
	key     string
	content string // empty if there is none
	expired bool
	ours    bool     // it still carries the claim
	copies  []string // the keys under which the application caches it now
}

// listed returns a refusal of a row whose content has a key that cannot be listed.
func (h claimed) listed() error {
	if err := listable(h.content); err != nil {
		return &adopt.Refusal{Rows: []adopt.Row{{Key: h.key}}, Err: err}
	}
	return nil
}

// claimed returns the rows that still carry a claim, locked, in key order.
func (c *Collection) claimed(t *tx, claim adopt.Claim) ([]claimed, error) {
	rows, err := all(t, func(r *sql.Rows) (h claimed, err error) {
		var content sql.NullString
		h.copies, err = c.scanCopies(r, &h.key, &content, &h.expired, &h.ours)
		h.content = content.String
		return h, cmp.Or(err, h.listed())
	}, c.claimedText(), c.end(t), keysOf(claim.Rows), claim.At)
	if err != nil {
		return nil, err
	}
	ours := make(map[string]bool, len(claim.Rows))
	for _, r := range claim.Rows {
		ours[r.Key] = true
	}
	rows = slices.DeleteFunc(rows, func(h claimed) bool { return !h.ours || !ours[h.key] })
	if c.c.Contents != nil && c.s.variants(c.c) {
		err = c.lookUp(t, rows)
	}
	return rows, err
}

// lookUp reads which contents the locked rows name: what was read with the lock
// may be older.
func (c *Collection) lookUp(t *tx, rows []claimed) error {
	keys := make([]string, len(rows))
	for i, r := range rows {
		keys[i] = r.key
	}
	named, err := all(t, c.scanNaming, contentsOf, c.end(t), sqldb.JSON(keys))
	contents := make(map[string]string, len(named))
	for _, n := range named {
		contents[n.key] = n.content
	}
	for i := range rows {
		rows[i].content = contents[rows[i].key]
	}
	return err
}

// Settle implements adopt.Records.
func (c *Collection) Settle(ctx context.Context, claim adopt.Claim, again time.Duration) (out adopt.Settled, err error) {
	return c.settle(ctx, claim, again, nil)
}

// settle ends contents with the rows unless end is nil. It fails with
// errMarked.
func (c *Collection) settle(ctx context.Context, claim adopt.Claim, again time.Duration, end *contentEnd) (out adopt.Settled, err error) {
	err = c.write(ctx, "settle rows", func(t *tx) error {
		h, err := c.removing(t)
		if err != nil {
			return err
		}
		if end != nil {
			end.holds, end.atOnce = h, c.c.Contents.Count != ""
		}
		rows, err := c.claimed(t, claim)
		if err != nil {
			return err
		}
		holds, err := h.on(adopt.HoldRow, keysOf(claim.Rows))
		if err != nil {
			return err
		}
		out = adopt.Settled{Lost: len(claim.Rows) - len(rows)}
		var ended []claimed
		var back []string
		for _, r := range rows {
			switch {
			case holds.Row(r.key) != nil || h.allBelow():
				out.Held++
				back = append(back, r.key)
			case r.expired:
				out.Gone++
				ended = append(ended, r)
			default:
				out.Returned++
				back = append(back, r.key)
			}
		}
		if err := c.giveBack(t, back); err != nil || len(ended) == 0 {
			return err
		}
		return c.remove(t, removal{claim, ended, again, end, h}, &out)
	})
	if err != nil {
		out = adopt.Settled{} // it may be COMMIT that failed
	}
	return out, objected(claim.Rows, err)
}

// errKept reports that rows are still there that were removed. Nothing was done.
var errKept = errors.New("a trigger or rule of the table kept rows that were to go: let it pass such statements, " +
	"or describe the column that it sets in their place (rows.end: deleted_at)")

// objected returns a refusal for an error by which the database, or a hold, objects to
// removing rows.
func objected(rows []adopt.Row, err error) error {
	if len(rows) == 0 || errors.Is(err, adopt.ErrChanged) {
		return err // no row is to blame
	}
	if errors.Is(err, errKept) || errors.Is(err, errHeldBelow) || errors.Is(err, errNotFound) {
		return &adopt.Refusal{Rows: rows, Err: Reason(err)}
	}
	if text, ok := sqldb.Objection(err); ok {
		return &adopt.Refusal{Rows: rows, Err: errors.New(text)}
	}
	return err
}

// removal is locked rows to remove.
type removal struct {
	claim adopt.Claim // whose copies were dropped already
	rows  []claimed
	again time.Duration // after which copies are dropped once more
	end   *contentEnd   // nil if contents wait to be marked
	holds holding       // whose below must not go with them
}

// remove removes rows and everything that depends on them.
func (c *Collection) remove(t *tx, r removal, out *adopt.Settled) error {
	keys := make([]string, len(r.rows))
	for i, h := range r.rows {
		keys[i] = h.key
	}
	contents, err := c.removeRows(t, r, sqldb.JSON(keys))
	if err != nil {
		return err
	}
	if err := c.countDown(t, r, contents, out); err != nil {
		return err
	}
	copies, fresh := r.copies()
	if r.again > 0 {
		if err := c.dropLater(t, 0, fresh); err != nil {
			return err
		}
	}
	if err := c.dropLater(t, r.again, copies); err != nil {
		return err
	}
	return t.send(insertReceipt, c.name, "rows", t.now, sqldb.JSON(keys))
}

// removeRows removes rows and returns their contents, locked. They are locked before the rows
// go only if a trigger may count: what cascades may wait for a transaction that needs them.
func (c *Collection) removeRows(t *tx, r removal, keys any) (contents []content, err error) {
	before, err := c.mayBeCounted(t)
	if err != nil {
		return nil, err
	}
	if before {
		if contents, err = c.lockContents(t, r.end, referencesOf(r.rows)); err != nil {
			return nil, err
		}
	}
	if err := c.endAll(t, r, keys); err != nil {
		return nil, err
	}
	if before {
		return contents, c.unmoved(t, contents)
	}
	return c.lockContents(t, r.end, referencesOf(r.rows))
}

// referencesOf counts the references of rows to each content.
func referencesOf(rows []claimed) map[string]int64 {
	references := map[string]int64{}
	for _, row := range rows {
		if row.content != "" {
			references[row.content]++
		}
	}
	return references
}

// copies returns the keys of the rows' copies: those of the claim, and fresh
// ones, which the application has made since then and which were not dropped.
func (r removal) copies() (all, fresh []string) {
	claimed := make(map[string][]string, len(r.claim.Rows))
	for _, row := range r.claim.Rows {
		claimed[row.Key] = row.Copies
	}
	for _, row := range r.rows {
		had := claimed[row.key]
		all = append(all, had...)
		for _, k := range row.copies {
			if !slices.Contains(had, k) {
				fresh = append(fresh, k)
			}
		}
	}
	return append(all, fresh...), fresh
}

// dropLater records copies to be dropped.
func (c *Collection) dropLater(t *tx, after time.Duration, copies []string) error {
	if len(copies) == 0 {
		return nil
	}
	return t.send(insertAgain, c.name, t.now.Add(after), sqldb.JSON(copies))
}

// endRows returns the statement by which rows end: removed, or kept as deleted.
func (c *Collection) endRows() string {
	if st := c.c.Rows.Status; st != nil && st.Deleted != "" {
		return keepRows
	}
	return deleteRows
}

// claimedText returns the statement that locks rows, as endRows does.
func (c *Collection) claimedText() string {
	if c.endRows() == keepRows {
		return claimedKept
	}
	return claimedRows
}

// content is a row of the table of contents.
type content struct {
	Key    string `json:"content"`
	Object string `json:"object"`
	count  int64
}

func scanContent(r *sql.Rows) (c content, err error) {
	err = r.Scan(&c.Key, &c.Object, &c.count)
	return c, cmp.Or(err, listable(c.Key), listable(c.Object))
}

// countDown removes the references of removed rows from their contents, and
// records those that have none left.
func (c *Collection) countDown(t *tx, r removal, contents []content, out *adopt.Settled) error {
	if len(contents) == 0 {
		return nil
	}
	references := referencesOf(r.rows)
	var zero []content
	for _, x := range contents {
		// Without counts, other references are looked up before it is
		// condemned.
		if c.c.Contents.Count == "" || x.count == references[x.Key] {
			zero = append(zero, x)
		}
	}
	ended, err := c.endContents(t, r.end, zero)
	if err != nil {
		return err
	}
	isEnded := func(x content) bool { return ended[x.Key] }
	if c.c.Contents.Count != "" {
		if err := c.count(t, slices.DeleteFunc(contents, isEnded), references, out); err != nil {
			return err
		}
	}
	out.Unreferenced = len(zero)
	return c.wait(t, slices.DeleteFunc(zero, isEnded), c.grace.Unreferenced)
}

// lockContents locks the contents of rows if they are counted, with end against
// every reference if none is locked. Otherwise it releases them first: to wait
// with others locked that a transaction of the application needs would be a
// deadlock.
func (c *Collection) lockContents(t *tx, end *contentEnd, references map[string]int64) ([]content, error) {
	if len(references) == 0 {
		return nil, nil
	}
	list := slices.Sorted(maps.Keys(references))
	keys := sqldb.JSON(list)
	if c.c.Contents.Count == "" {
		return all(t, scanContent, namedContents, keys)
	}
	if end == nil {
		return all(t, scanContent, lockContents, keys)
	}
	if err := t.send("SAVEPOINT contents"); err != nil {
		return nil, err
	}
	free, err := all(t, scanContent, lockFree, keys)
	if err != nil || len(free) == len(list) {
		return free, err
	}
	end.atOnce = false
	if _, err := t.exec("ROLLBACK TO SAVEPOINT contents"); err != nil {
		return nil, err
	}
	return all(t, scanContent, lockContents, keys)
}

// count decrements the counts of locked contents.
func (c *Collection) count(t *tx, contents []content, references map[string]int64, out *adopt.Settled) error {
	by := map[int64][]string{}
	for _, x := range contents {
		n := references[x.Key]
		if x.count < n {
			out.Drifted = append(out.Drifted, x.Key)
			continue
		}
		by[n] = append(by[n], x.Key)
	}
	for _, n := range slices.Sorted(maps.Keys(by)) {
		if _, err := t.exec(countDown, sqldb.JSON(by[n]), n); err != nil {
			return err
		}
	}
	if len(out.Drifted) == 0 {
		return nil
	}
	if _, err := t.exec(countZero, sqldb.JSON(out.Drifted)); err != nil {
		return err
	}
	return c.trouble(t, insertTroubles, countWrong, out.Drifted)
}

// wait records contents to be condemned after the grace.
func (c *Collection) wait(t *tx, contents []content, grace time.Duration) error {
	if len(contents) == 0 {
		return nil
	}
	over := t.now
	if c.c.Guard == adopt.QuarantineGuard {
		over = 0 // its object is looked for once more first
	}
	_, err := t.exec(insertWaiting, sqldb.JSON(contents), c.name, t.now.Add(grace), over)
	return err
}
