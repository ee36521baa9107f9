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
)

// table is a table of the ledger, with the query that answers what it holds.
type table struct{ name, holds string }

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
	list := "CREATE SCHEMA saved;"
	for _, name := range names {
		from, row := "lethe."+name+" t", "to_jsonb(t)::text"
		switch by := summed[name]; {
		case by != "":
			from = "(SELECT " + by + ", sum(n) AS n, sum(bytes) AS bytes FROM " + from + " GROUP BY " + by + ") t WHERE n <> 0 OR bytes <> 0"
		case name == "receipts":
			row = "n || ' ' || encode(body, 'hex')"
		}
		w.tables = append(w.tables, table{name, "SELECT '" + name + "' AS name, coalesce(string_agg(r, E'\\n' ORDER BY r), '') FROM (SELECT " + row + " AS r FROM " + from + ") x"})
		list += "CREATE TABLE saved." + name + " AS TABLE lethe." + name + ";"
	}
	w.execute(list)
	w.names = "lethe." + strings.Join(names, ", lethe.")
	w.before = w.look()
}

func (w *world) execute(list string) {
	w.Helper()
	if _, err := w.direct.PgConn().Exec(w.ctx, list).ReadAll(); err != nil {
		w.Fatal(err)
	}
}

// look answers what each table holds.
func (w *world) look() map[string]string {
	w.Helper()
	queries := make([]string, len(w.tables))
	for i, t := range w.tables {
		queries[i] = t.holds
	}
	rows, err := w.direct.Query(w.ctx, strings.Join(queries, " UNION ALL "))
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	var name, text string
	if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		out[name] = text
		return nil
	}); err != nil {
		w.Fatal(err)
	}
	out["receipts"] = w.receipts(out["receipts"])
	return out
}

// receipts takes rows of receipts apart: how many transactions wrote them, and in which
// order, is not to be seen.
func (w *world) receipts(rows string) string {
	w.Helper()
	var lines []string
	for row := range strings.Lines(rows) {
		n, text, _ := strings.Cut(strings.TrimSpace(row), " ")
		body, err := hex.DecodeString(text)
		if err != nil {
			w.Fatal(err)
		}
		list, err := receipt.Decode(body)
		if err != nil || strconv.Itoa(len(list)) != n {
			w.Fatalf("a row of %s receipts has %d: %v", n, len(list), err)
		}
		for _, r := range list {
			line, err := json.Marshal(r)
			if err != nil {
				w.Fatal(err)
			}
			lines = append(lines, string(line))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// reset returns to what was kept, given what the tables hold. Rows that look the same
// may lie in other slots, and in other batches.
func (w *world) reset(have map[string]string) {
	w.Helper()
	list := "SET session_replication_role = replica;" // foreign keys need no order
	for _, t := range w.tables {
		if have[t.name] != w.before[t.name] || summed[t.name] != "" || t.name == "receipts" {
			list += "DELETE FROM lethe." + t.name + "; INSERT INTO lethe." + t.name + " SELECT * FROM saved." + t.name + ";"
		}
	}
	w.execute(list)
	if w.resets++; w.resets%swept == 0 {
		w.execute("VACUUM " + w.names)
	}
}

// swept is after how many returns the rows that are gone are swept out, which every look
// has to pass by until then.
const swept = 20

// closed is the column that says so of a content.
var closed = regexp.MustCompile(`"closed": \d, `)

// text is how a state differs from that before, table by table: rows that are new,
// and rows that are gone. What leaveOut matches is left out, unless it is nil.
func (w *world) text(have map[string]string, leaveOut *regexp.Regexp) string {
	var out []string
	for _, t := range w.tables {
		if have[t.name] == w.before[t.name] {
			continue
		}
		now, then := have[t.name], w.before[t.name]
		if leaveOut != nil {
			now, then = leaveOut.ReplaceAllString(now, ""), leaveOut.ReplaceAllString(then, "")
		}
		is, was := strings.Split(now, "\n"), strings.Split(then, "\n")
		for _, row := range is {
			if !slices.Contains(was, row) {
				out = append(out, t.name+" has "+w.claims.named(row))
			}
		}
		for _, row := range was {
			if !slices.Contains(is, row) {
				out = append(out, t.name+" lacks "+row)
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

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
