package sqlledger

import (
	flags "flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/lifecycle"
)

var (
	ruledFew  = flags.Int("ledger.few", 20_000, "objects of the smaller ledger that lifecycle rules are counted on")
	ruledMany = flags.Int("ledger.many", 200_000, "objects of the larger one")
	ruledDue  = flags.Int("ledger.due", 2_000, "objects of each that rules end")
)

// fillRuled inserts objects directly: live ones that a rule ends in a year, and some that
// are due by another.
const fillRuled = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?3)
	INSERT INTO objects (bucket_id, key, id, content_id, size, etag, modified_at, ttl_at, rule_at, due_at, attrs, tags, rule_no)
	SELECT ?1, ?2 || printf('%09d', i), printf('%s%09d', ?2, i), NULL, 0, 'etag', ?4, 0, ?5, ?5, '{}', '{}', ?6 FROM n`

// ruledLedger returns a ledger of so many objects, due of them by a rule.
func ruledLedger(t *testing.T, objects, due int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	db, err := Open(t.Context(), path, ledger.Options{}, NoSync())
	check(t, err)
	b, err := db.CreateBucket(t.Context(), ledger.Bucket{Name: "bucket", Owner: "o"})
	check(t, err)
	_, err = db.SetRules(t.Context(), ledger.RulesChange{Bucket: "bucket", By: "operator", Rules: lifecycle.Rules{
		{ID: "tmp", Prefix: "tmp/", Days: 1}, {ID: "live", Prefix: "live/", Days: 400},
	}})
	check(t, err)
	_, err = db.ReapplyRules(t.Context(), 1)
	check(t, err)
	now := lethe.SystemClock{}.Now()
	for _, f := range []struct {
		prefix string
		n      int
		at     lethe.Time
		rule   int
	}{{"tmp/", due, now.Add(-time.Hour), 1}, {"live/", objects - due, now.Add(365 * 24 * time.Hour), 2}} {
		_, err = db.engine.File.Pool.Exec(fillRuled, string(b.ID), f.prefix, f.n, int64(now.Add(-72*time.Hour)), int64(f.at), f.rule)
		check(t, err)
	}
	_, err = db.engine.File.Pool.Exec(`INSERT INTO bucket_counters (bucket_id, slot, n, bytes) VALUES (?1, 0, ?2, 0)`, string(b.ID), objects)
	check(t, err)
	check(t, db.Close())
	return path
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readSoFar returns how many bytes this process has read, including cached files.
func readSoFar(t *testing.T) (n int64) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Skip("bytes are counted through /proc")
	}
	if _, err := fmt.Sscanf(string(text[strings.Index(string(text), "rchar"):]), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// expireAll runs expire to its end on a ledger just opened, and returns how many
// pages of 4 KiB it read.
func expireAll(t *testing.T, path string, want int) int64 {
	t.Helper()
	db, err := Open(t.Context(), path, ledger.Options{}, NoSync())
	check(t, err)
	defer db.Close()
	before, began, done := readSoFar(t), lethe.Monotonic{}.Now(), 0
	for b := (ledger.Batch{Limit: 1000}); ; {
		r, err := db.Expire(t.Context(), b)
		check(t, err)
		if r.Reapplied != 0 || r.ByRules() != r.Objects {
			t.Fatalf("expired %+v, want all of it by the rule", r)
		}
		if done, b.After = done+r.Objects, r.LastDue; !r.More {
			break
		}
	}
	pages := (readSoFar(t) - before) / 4096
	t.Logf("%d objects expired by a rule: %d pages read, %s", done, pages, lethe.Monotonic{}.Now().Sub(began))
	if done != want {
		t.Fatalf("%d objects expired, want %d", done, want)
	}
	return pages
}

// TestARulesPassCostsWhatExpires: the same number of due objects among ten times as many
// takes the same reads.
func TestARulesPassCostsWhatExpires(t *testing.T) {
	few := expireAll(t, ruledLedger(t, *ruledFew, *ruledDue), *ruledDue)
	many := expireAll(t, ruledLedger(t, *ruledMany, *ruledDue), *ruledDue)
	if most := few + few/5 + 50; many > most {
		t.Errorf("%d pages were read for %d due among %d objects, %d among %d: want at most %d",
			many, *ruledDue, *ruledMany, few, *ruledFew, most)
	}
}
