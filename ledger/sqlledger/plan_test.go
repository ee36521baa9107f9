package sqlledger

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lethe-storage/lethe/internal/receiptdb"
	"github.com/lethe-storage/lethe/internal/sqldb"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger/internal/engine"
)

var parameter = regexp.MustCompile(`(?:\?|\{rows |\{ids |\{in )(\d+)`)

// parameters returns how many a statement has.
func parameters(text string) (n int) {
	for _, m := range parameter.FindAllStringSubmatch(text, -1) {
		i, _ := strconv.Atoi(m[1]) // digits
		n = max(n, i)
	}
	return n
}

// plan returns the lines of a statement's query plan.
func plan(t *testing.T, db *DB, text string) []string {
	t.Helper()
	rows, err := db.engine.File.Pool.Query("EXPLAIN QUERY PLAN "+db.engine.Dialect.Expand(text), make([]any, parameters(text))...)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	lines, err := sqldb.Collect(rows, func(r *sql.Rows) (line string, err error) {
		var id, parent, unused int
		err = r.Scan(&id, &parent, &unused, &line)
		return line, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestNoScans: only the recount, where it does not go by pages, a snapshot and a
// reset of the clock read whole tables of what can grow. Everything else finds what it needs by an index.
func TestNoScans(t *testing.T) {
	db := openMemory(t)
	// anyPromotion ends at the first row; a tally reads what waits, by its index, or up to a bound; the
	// views are an operator's.
	whole := map[string]bool{anyPromotion: true, countLonger: true, tallyOrphans: true, deferredDepth: true, viewTotals: true, readViews: true}
	for _, text := range []string{snapObjects, snapTrash, snapContents, snapBodies, emptyBodies, snapBlobs, snapUploads, snapParts} {
		whole[text] = true
	}
	for _, r := range bookRules {
		whole[r.query] = r.pages == ""
	}
	for _, text := range append(slices.Concat(resetsNow, resetsSoon), resetMoved) {
		whole[text] = true
	}
	grows := regexp.MustCompile(`^SCAN (objects|o|blobs|b|contents|c|digests|d|bodies|y|trash|parts|p|uploads|u|ops|promotions|events|e|f)\b`)
	for _, text := range engine.Statements(db.engine.Dialect) {
		for _, line := range plan(t, db, text) {
			if grows.MatchString(line) && !whole[text] && !strings.Contains(line, "INDEX blobs_claimed") {
				t.Errorf("%s in %s", line, text)
			}
		}
	}
}

// TestEnginePlans: the engine's statements use the index that was made for them,
// read no rows to count, and sort nothing.
func TestEnginePlans(t *testing.T) {
	db := openMemory(t)
	for text, want := range map[string]string{
		dueObjects:           "SEARCH objects USING INDEX objects_due",
		pageDueOf:            "SEARCH o USING INDEX objects_turns ((bucket_id,due_at,size,key)>",
		bucketsDue:           "SEARCH o USING COVERING INDEX objects_turns ((bucket_id,due_at)>",
		bucketsCondemned:     "SEARCH b USING INDEX blobs_turns ((bucket_id,backend,due_at)>",
		turnObjects:          "SEARCH objects USING INDEX objects_turns ((bucket_id,due_at)>",
		claimTurn:            "SEARCH blobs USING INDEX blobs_turns ((bucket_id,backend,due_at)>",
		expireDepth:          "USING COVERING INDEX objects_due",
		expireLater:          "USING COVERING INDEX objects_due",
		expireHeld:           "SEARCH h USING PRIMARY KEY (bucket_id=? AND scope=? AND key=?)",
		deleteDue:            "SEARCH objects USING PRIMARY KEY (bucket_id=? AND key=?)",
		supersededRows.file:  "INDEX promotions_key (bucket_id=? AND key=?)",
		contentWeights:       "SEARCH b USING INDEX blobs_content",
		dropContents:         "SEARCH contents USING PRIMARY KEY (id=?)",
		loseRefs:             "SEARCH contents USING PRIMARY KEY (id=?)",
		condemnLive.file:     "SEARCH blobs USING INDEX blobs_content (content_id=?)",
		anyReplicaPending:    "USING COVERING INDEX blobs_joining",
		condemnReplicas:      "SEARCH blobs USING INDEX blobs_joining (content_id=?)",
		dueTrash:             "SEARCH trash USING INDEX trash_purge",
		purgeDepth:           "USING COVERING INDEX trash_purge",
		receiptdb.NamedPages: "SEARCH p USING PRIMARY KEY (seq=? AND lowest=?)",
		receiptdb.DropPages:  "SEARCH receipt_pages USING PRIMARY KEY (seq>? AND seq<?)",
		deleteTrash:          "SEARCH trash USING PRIMARY KEY (id=?)",
		claimCondemned:       "SEARCH blobs USING INDEX blobs_due (backend=? AND due_at>? AND due_at<?)",
		anyCondemned:         "USING COVERING INDEX blobs_due",
		cleanDue:             "USING COVERING INDEX blobs_due",
		cleanLater:           "USING COVERING INDEX blobs_due",
		claimedRows.file:     "SEARCH b USING PRIMARY KEY (id=?)",
		composeBlobs:         "SEARCH blobs USING PRIMARY KEY (id=?)",
		condemnBlobs:         "SEARCH blobs USING PRIMARY KEY (id=?)",
		removeGone:           "SEARCH blobs USING PRIMARY KEY (id=?)",
		settleRest.file:      "SEARCH blobs USING PRIMARY KEY (id=?)",
		claimSilent:          "SEARCH blobs USING INDEX blobs_pending",
		reapDue:              "USING COVERING INDEX blobs_pending",
		staleClaims:          "USING INDEX blobs_claimed",
		touchedUploads:       "INDEX uploads_touched",
		usedFrom:             "SEARCH o USING PRIMARY KEY (bucket_id=? AND key>?)",
		usedBehind:           "SEARCH o USING PRIMARY KEY (bucket_id=? AND key>?)",
		usedTrash:            "SEARCH e USING INDEX trash_key (bucket=? AND key>?)",
		claimedBlobs:         "USING INDEX blobs_claimed",
		explainEvents:        "SEARCH events USING INDEX events_key (bucket_id=? AND key=?)",
		explainDeadEvents:    "SEARCH events USING INDEX events_dead (bucket_id=? AND key=?)",
		pruneOps:             "INDEX ops_at",
		runsSince:            "SEARCH runs USING INDEX runs_begun (routine=? AND started_at>?)",
		selectDead:           "SEARCH b USING INDEX blobs_dead (id>?)",
		deadByID:             "SEARCH b USING PRIMARY KEY (id=?)",
	} {
		got := strings.Join(plan(t, db, text), "\n")
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the plan of %s:\n%s", want, text, got)
		}
		if strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("sorts: %s:\n%s", text, got)
		}
	}
}

func openMemory(t *testing.T) *DB {
	t.Helper()
	db, err := Open(context.Background(), Memory, ledger.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// TestParametersAreReadOnce: a parameter of many rows is not read anew for each row of a table. SQLite
// does so where an index finds rows by the other conditions, which seem to leave few: hide those from it.
func TestParametersAreReadOnce(t *testing.T) {
	db := openMemory(t)
	again := regexp.MustCompile(`(?m)^SEARCH .*\nSCAN json_each`)
	for _, text := range engine.Statements(db.engine.Dialect) {
		if lines := strings.Join(plan(t, db, text), "\n"); again.MatchString(lines) {
			t.Errorf("%s\nin %s", lines, text)
		}
	}
}
