package interleave_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/lethe-storage/lethe/receipt"
	"github.com/lethe-storage/lethe/test/interleave/stepwise"
)

// summed are tables of counters, with the columns by which their slots are added up.
var summed = map[string]string{"blob_counters": "backend, state", "bucket_counters": "bucket_id"}

// keep remembers what the tables hold, to return to it.
func (w *world) keep() {
	w.Helper()
	rows, err := w.direct.Query(w.ctx, `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = 'lethe' AND table_type = 'BASE TABLE' ORDER BY 1`)
	if err != nil {
		w.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		w.Fatal(err)
	}
	var tables []stepwise.Table
	for _, name := range names {
		t := stepwise.Table{Name: "lethe." + name}
		switch by := summed[name]; {
		case by != "":
			t.From = "(SELECT " + by + ", sum(n) AS n, sum(bytes) AS bytes FROM " + t.Name + " GROUP BY " + by + ") t WHERE n <> 0 OR bytes <> 0"
			t.Blurred = true // the slots
		case name == "receipts":
			t.Row, t.Read = "n || ' ' || encode(body, 'hex')", receipts
			t.Blurred = true // the batches
		case name == "bodies":
			t.Row = "crc32c || ' ' || encode(head || tail, 'hex')"
			t.Blurred = true // their numbers, which come from a sequence
		case name == "contents":
			t.Read = func(rows string) (string, error) { return bodyNumbers.ReplaceAllString(rows, `"body_no": its`), nil }
		}
		tables = append(tables, t)
	}
	if w.kept, err = stepwise.Keep(w.ctx, w.direct, tables); err != nil {
		w.Fatal(err)
	}
}

// bodyNumbers are those of inline contents.
var bodyNumbers = regexp.MustCompile(`"body_no": [1-9]\d*`)

// look answers what each table holds.
func (w *world) look() map[string]string {
	w.Helper()
	have, err := w.kept.Look(w.ctx)
	if err != nil {
		w.Fatal(err)
	}
	return have
}

// receipts takes rows of receipts apart: how many transactions wrote them, and in which
// order, is not to be seen.
func receipts(rows string) (string, error) {
	var lines []string
	for row := range strings.Lines(rows) {
		n, text, _ := strings.Cut(strings.TrimSpace(row), " ")
		body, err := hex.DecodeString(text)
		if err != nil {
			return "", err
		}
		list, err := receipt.Decode(body)
		if err != nil || strconv.Itoa(len(list)) != n {
			return "", fmt.Errorf("a row of %s receipts has %d: %v", n, len(list), err)
		}
		for _, r := range list {
			line, err := json.Marshal(r)
			if err != nil {
				return "", err
			}
			lines = append(lines, string(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), nil
}

// reset returns to what was kept, given what the tables hold.
func (w *world) reset(have map[string]string) {
	w.Helper()
	if err := w.kept.Reset(w.ctx, have); err != nil {
		w.Fatal(err)
	}
}

// closed is the column that says so of a content.
var closed = regexp.MustCompile(`"closed": \d, `)

// claims says which actor made which claim. Fences come from a sequence, which leaves
// gaps, so that their numbers tell nothing.
type claims struct {
	fixture int64 // the last fence of the fixture
	mu      sync.Mutex
	by      map[int64]int // the actor
}

func (c *claims) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = map[int64]int{}
}

func (c *claims) note(fence int64, actor int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[fence] = actor
}

var fences = regexp.MustCompile(`(?i)"fence": ?(\d+)`)

// named puts whose claim it is in the place of each fence that is younger than the
// fixture.
func (c *claims) named(text string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fences.ReplaceAllStringFunc(text, func(field string) string {
		fence, err := strconv.ParseInt(fences.FindStringSubmatch(field)[1], 10, 64)
		actor, known := c.by[fence]
		switch {
		case err == nil && fence <= c.fixture:
			return field
		case known:
			return fmt.Sprintf(`"fence": actor %d's`, actor)
		}
		return `"fence": nobody's`
	})
}
