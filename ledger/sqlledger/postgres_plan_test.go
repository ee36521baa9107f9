package sqlledger

import (
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/internal/receiptdb"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

// manyRowsSQL fills a ledger with what lives, and a few rows that are due: as if
// millions had gone through the queues before.
const manyRowsSQL = `
INSERT INTO contents SELECT to_char(i, 'FM000000000'), 'alice', 'whole', md5(i::text), 100, 1, 0, 1 FROM generate_series(1, %[1]d) AS i;
INSERT INTO objects (bucket_id, key, id, content_id, size, etag, modified_at, ttl_at, rule_at, due_at, attrs, tags)
	SELECT (SELECT id FROM buckets), 'k' || i, i::text, to_char(i, 'FM000000000'), 100, 'e', 1, %[2]d + i, 0, %[2]d + i, '{}', '{}'
	FROM generate_series(1, %[1]d) AS i;
INSERT INTO blobs (id, backend, state, size, digest, content_id, segment, replica, part, created_at, beat_at, died_at, reason,
		due_at, late_until, attempts, last_error, suspect, verified_at, worker, fence, claimed_at)
	SELECT 'b' || to_char(i, 'FM000000000'), 'disk', CASE WHEN i %% 100 = 0 THEN 3 WHEN i %% 100 = 1 THEN 1 ELSE 2 END, 100, '',
		to_char(i, 'FM000000000'), 0, 0, 0, 1, i, 0, CASE WHEN i %% 100 = 0 THEN 'x' ELSE '' END, i, 0, 0, '', 0, 0, '', 0, 0
	FROM generate_series(1, %[1]d) AS i;
INSERT INTO receipt_seals SELECT i, i, 1, i, i, i, '', '', '', 0 FROM generate_series(1, %[1]d / 10) AS i;
INSERT INTO receipt_pages SELECT i / 10 + 1, hashint8extended(i, 0), i %% 10, 200, decode(repeat(md5(i::text), 20), 'hex') FROM generate_series(1, %[1]d) AS i;
ANALYZE contents; ANALYZE objects; ANALYZE blobs; ANALYZE receipt_seals; ANALYZE receipt_pages;`

// TestPostgresPlans: on tables of many rows the engine's statements, planned for
// their very parameters, use the indexes that were made for them and read no table
// whole.
func TestPostgresPlans(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	const rows = 40_000
	now := lethe.SystemClock{}.Now()
	conn, err := db.engine.Server.Runners[engine.Batch].Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Give()
	if _, err := conn.Script(t.Context(), fmt.Sprintf(manyRowsSQL, rows, now.Add(-time.Millisecond))); err != nil {
		t.Fatal(err)
	}
	contents, names, blobs, keys := make([]lossRow, 1000), make([]lethe.ID, 1000), make([]lethe.ID, 1000), make([]dueRow, 1000)
	for i := range contents {
		id := lethe.ID(fmt.Sprintf("%09d", 7*i+1))
		contents[i], names[i], blobs[i], keys[i] = lossRow{ID: id, N: 1}, id, "b"+id, dueRow{Bucket: "x", Key: fmt.Sprint("k", i)}
	}
	whole := regexp.MustCompile(`Seq Scan on (objects|contents|blobs|receipt_pages)\b`)
	for _, c := range append(evictionPlans(keys, now), []planned{
		{dueObjects, "Index Scan using objects_due", []any{0, now, 1000}},
		{expireDepth, "objects_due", []any{1000, now}},
		{bucketsDue, "objects_turns", []any{`[{"id":"x","past":0}]`, now}},
		{bucketsCondemned, "blobs_turns", []any{`[{"id":"","past":0}]`, now, "disk"}},
		{turnObjects, "Index Scan using objects_turns", []any{"x", 0, now, 100}},
		{claimTurn, "Index Scan using blobs_turns", []any{"disk", 0, now, 100, "w", 1, "", 0}},
		{deleteDue, "objects_pkey", []any{sqldb.JSON(keys), now}},
		{deleteDue, "objects_pkey", []any{sqldb.JSON(keys), 1}}, // by the statistics nothing is due
		{dueNamed, "objects_pkey", []any{sqldb.JSON(keys), 1}},
		{contentWeights, "contents_pkey", []any{sqldb.JSON(contents)}},
		{lockedContents, "contents_pkey", []any{sqldb.JSON(names), ""}},
		{dropContents, "contents_pkey", []any{sqldb.JSON(names), 1}},
		{loseRefs, "contents_pkey", []any{sqldb.JSON(names), 1}},
		{condemnLive.server, "blobs_content", []any{sqldb.JSON(contents), now}},
		{anyReplicaPending, "", nil},
		{claimCondemned, "Index Scan using blobs_due", []any{"disk", 0, now, 100, "w", 1, 0}},
		{anyCondemned, "blobs_due", []any{"disk", 0, now}},
		{cleanDue, "blobs_due", []any{"disk", now}},
		{claimedRows.server, "blobs_", []any{sqldb.JSON(blobs), 1}},
		{removeGone, "blobs_pkey", []any{sqldb.JSON(blobs), 1}},
		{claimSilent, "blobs_pending", []any{0, 100, "", 100, "w", 1, now}},
		{reapDue, "blobs_pending", []any{100}},
		{usedBehind, "objects_pkey", []any{"x", "k1", "", 1000}},
		{usedFrom, "objects_pkey", []any{"x", "k1", "k2", 1000}},
		{staleClaims, "blobs_claimed", []any{now, 100}},
		{receiptdb.NamedPages, "receipt_pages_pkey", []any{4711}},
		{receiptdb.PagesOf, "receipt_pages_pkey", []any{17}},
		{receiptdb.DropPages, "receipt_pages_pkey", []any{3, 19}},
	}...) {
		got := serverPlan(t, db, conn, c.text, c.args)
		if !strings.Contains(got, c.want) || whole.MatchString(got) {
			t.Errorf("want %q and no whole table in the plan of %s:\n%s", c.want, c.text, got)
		}
	}
}

// planned is a statement, and what its plan has.
type planned struct {
	text, want string
	args       []any
}

// evictionPlans are of a bucket that begins to evict: by the statistics no object has been used.
func evictionPlans(keys []dueRow, now lethe.Time) []planned {
	return []planned{
		{oldestUsed, "objects_used", []any{"x", now, 1000, "", "", 0, "", true}},
		{usedEarlier, "objects_used", []any{"x", now, "k1", 1000}},
		{deleteUsed, "objects_pkey", []any{sqldb.JSON(keys), now}},
		{usedNamed, "objects_pkey", []any{"x", now, sqldb.JSON(keys)}},
		{lockUsed, "objects_pkey", []any{sqldb.JSON(keys)}},
		{readNoted, "objects_pkey", []any{sqldb.JSON(keys)}},
		{noteReads, "objects_pkey", []any{sqldb.JSON(keys)}},
		{orderObjects, "objects_pkey", []any{"x", "k1", "k2", true}},
	}
}

// serverPlan returns the plan of a statement for parameters.
func serverPlan(t *testing.T, db *DB, s *sqldb.Session, text string, args []any) string {
	t.Helper()
	plain, err := sqldb.PlainArgs(text, args)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.Conn.QueryContext(t.Context(), "EXPLAIN "+db.engine.Dialect.Expand(text), plain...)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	lines, err := sqldb.Collect(rows, func(r *sql.Rows) (line string, err error) {
		err = r.Scan(&line)
		return line, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPostgresPlansByOldStatistics: the statements of deletes, and of settling them, look their
// rows up, and read no table, if that is small or was analysed when it was empty: the plans that
// connections keep, and those for their very parameters.
func TestPostgresPlansByOldStatistics(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	conn, err := db.engine.Server.Runners[engine.Request].Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Discard()
	const rows = 5000
	now := lethe.SystemClock{}.Now()
	fill, analyse, _ := strings.Cut(fmt.Sprintf(manyRowsSQL, rows, now.Add(time.Hour)), "ANALYZE")
	fill += fmt.Sprintf("INSERT INTO bodies (crc32c, head, tail) SELECT 0, '', '' FROM generate_series(1, %d)", rows)
	for _, table := range []string{"objects", "contents", "bodies", "blobs"} {
		fill = "ALTER TABLE " + table + " SET (autovacuum_enabled = off); " + fill
	}
	if _, err := conn.Script(t.Context(), "ANALYZE "+analyse+fill); err != nil {
		t.Fatal(err)
	}
	var contents []lossRow
	var names, blobs []lethe.ID
	var keys []string
	var bodies []bodyRow
	for i := range 100 {
		id := lethe.ID(fmt.Sprintf("%09d", 7*i+1))
		contents, names, blobs = append(contents, lossRow{ID: id, N: 1}), append(names, id), append(blobs, "b"+id)
		keys, bodies = append(keys, fmt.Sprint("k", i)), append(bodies, bodyRow{int64(i)})
	}
	for _, c := range []planned{
		{findVisible.server, `Index Cond"?: "?\(\(bucket_id = .* AND \(key = t.id\)`, []any{sqldb.JSON(keys), "x", now}},
		{visibleKeys.server, `Index Cond"?: "?\(\(bucket_id = .* AND \(key = t.id\)`, []any{sqldb.JSON(keys), "x", now}},
		{deleteKeys.server, `TID Cond"?: "?\(ctid = ANY`, []any{sqldb.JSON(keys), "x"}},
		{lockedContents, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(names), ""}},
		{dropContents, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(names), 1}},
		{loseRefs, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(names), 1}},
		{deleteBodies.server, `Index Cond"?: "?\(no = ANY`, []any{sqldb.JSON(bodies)}},
		{condemnLive.server, `Index Cond"?: "?\(content_id = t.id`, []any{sqldb.JSON(contents), now}},
		{condemnBlobs, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(blobs), "delete", now, now, now, 2, 0}},
		{claimedRows.server, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(blobs), 1}},
		{removeGone, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(blobs), 1}},
		{settleRest.server, `Index Cond"?: "?\(id = ANY`, []any{sqldb.JSON(contents), 1}},
		{binKeys.server, `Index Cond"?: "?\(\(bucket_id = .* AND \(key = t.key\)`, []any{sqldb.JSON(contents), "x", "x", now, now, "delete", "op", ""}},
	} {
		kept := keptPlan(t, db, conn, c.text, len(c.args))
		byIndex := regexp.MustCompile(c.want)
		for _, got := range []string{kept, serverPlan(t, db, conn, c.text, c.args)} {
			if !byIndex.MatchString(got) || strings.Contains(got, "Seq Scan") {
				t.Errorf("not %s: %s\n%s", c.want, c.text, got)
			}
		}
	}
}

// keptPlan returns the plan of a statement for any parameters.
func keptPlan(t *testing.T, db *DB, s *sqldb.Session, text string, params int) string {
	t.Helper()
	nulls := strings.TrimSuffix(strings.Repeat("NULL, ", params), ", ")
	if _, err := s.Script(t.Context(), "SET plan_cache_mode = force_generic_plan; PREPARE kept AS "+db.engine.Dialect.Expand(text)); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	plan, err := s.Script(t.Context(), "EXPLAIN (FORMAT JSON) EXECUTE kept("+nulls+")")
	if err == nil {
		_, err = s.Script(t.Context(), "DEALLOCATE kept")
	}
	if err != nil {
		t.Fatal(err)
	}
	return plan[0]
}

// TestPostgresPlansOfNewLedger: the plans that connections keep from when the ledger was new
// look up each row of a put or a get by all columns of its index.
func TestPostgresPlansOfNewLedger(t *testing.T) {
	db := openServer(t, ledger.Options{})
	setUp(t, db)
	conn, err := db.engine.Server.Runners[engine.Request].Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Give()
	if _, err := conn.Script(t.Context(), "SET enable_seqscan = off"); err != nil {
		t.Fatal(err)
	}
	defer conn.Discard()
	for _, c := range []struct {
		query string
		args  int
		want  []string // in the plan
	}{
		{knownContent.server, 4, []string{`"Index Cond": "((domain = `}},
		{openContent, 4, []string{`"Index Cond": "((domain = `}},
		{takeObject, 2, []string{`"Index Cond": "((bucket_id = `}},
		{statObject, 2, []string{`"Index Cond": "((bucket_id = `}},
		{resolveObject, 2, []string{`"Index Cond": "((bucket_id = `, `"Index Cond": "((content_id = `}},
	} {
		plan := keptPlan(t, db, conn, c.query, c.args)
		for _, want := range c.want {
			if !strings.Contains(plan, want) {
				t.Errorf("%s: not by %q\n%s", c.query, want, plan)
			}
		}
	}
}
