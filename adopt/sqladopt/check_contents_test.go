package sqladopt

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// misnamed are pastes whose column hash is not the one that names contents: that is body.
func misnamed() string {
	var b strings.Builder
	b.WriteString(`CREATE TABLE content (hash varchar(40) NOT NULL PRIMARY KEY, ref_count bigint);
		CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, hash varchar(40), body varchar(40), expires_at bigint);
		CREATE INDEX named ON pastes (hash)`)
	for i := range 2 * provesNothing {
		fmt.Fprintf(&b, "; INSERT INTO content VALUES ('h%02d', 1); INSERT INTO pastes VALUES ('p%02[1]d', 'x%02[1]d', 'h%02[1]d', NULL)", i)
	}
	return b.String()
}

// A column that does not name contents is a problem, and nothing is condemned by it. Rows
// whose contents are gone do not stop a run.
func TestWrongContentColumn(t *testing.T) {
	onEngines(t, misnamed(), func(t *testing.T, db *DB) {
		ctx, c := t.Context(), countedBy(t, db, "")
		c.c.Guard = adopt.TriggerGuard
		if err := c.InstallGuard(ctx); err != nil {
			t.Fatal(err)
		}
		problem := func() string {
			found, err := c.Check(ctx)
			if err != nil || adopt.Problems(found) != strings.Contains(findings(found), "hash of pastes does not name contents of content") {
				t.Errorf("found %s, %v", findings(found), err)
			}
			return findings(found)
		}
		if text := problem(); !strings.Contains(text, "keys of contents are 0 of 20 values in the first and last rows") {
			t.Errorf("found %s", text)
		}
		if n, _, err := c.Find(ctx, "", 99, 0); err != nil || n != 20 {
			t.Fatalf("found %d, %v", n, err)
		}
		mark := func() (adopt.Marked, error) { return c.Mark(ctx, adopt.MarkRequest{Limit: 99, Late: time.Hour}) }
		if m, err := mark(); !errors.Is(err, adopt.ErrFewRows) {
			t.Errorf("marked %+v, %v", m, err)
		}
		script(t, db, "UPDATE pastes SET hash = body WHERE code <> 'p00'")
		if text := problem(); strings.Contains(text, "does not name") {
			t.Errorf("found %s", text)
		}
		if m, err := mark(); err != nil || len(m.Contents) != 1 || m.Contents[0].Content != "h00" {
			t.Errorf("marked %+v, %v", m, err)
		}
		script(t, db, "DELETE FROM pastes WHERE code <> 'p00'")
		if text := problem(); !strings.Contains(text, "0 of 1 value ") {
			t.Errorf("found %s", text)
		}
		if n, _, err := c.Find(ctx, "", 99, 0); err != nil || n != 19 {
			t.Fatalf("found %d, %v", n, err)
		}
		if m, err := mark(); err != nil || len(m.Contents) != 19 {
			t.Errorf("of the last ones it marked %+v, %v", m, err)
		}
	})
}
