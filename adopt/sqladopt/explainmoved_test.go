package sqladopt

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/adopt"
)

// What was moved into quarantine was not deleted.
func TestExplainMoved(t *testing.T) {
	onEngines(t, twoKeys, func(t *testing.T, db *DB) {
		ctx := context.WithoutCancel(t.Context())
		c := byKey(t, db, "hash", adopt.QuarantineGuard)
		if _, _, err := c.Find(ctx, "", 9, 0); err != nil {
			t.Fatal(err)
		}
		m, err := c.Mark(ctx, adopt.MarkRequest{Limit: 9, Late: time.Hour})
		if err != nil || len(m.Contents) != 1 {
			t.Fatalf("marked %+v, %v", m, err)
		}
		if _, err := c.Confirm(ctx, m.Fence, []adopt.Outcome{{Content: "h"}}, adopt.DefaultGrace); err != nil {
			t.Fatal(err)
		}
		facts, err := c.Explain(ctx, "h")
		var text string
		for _, f := range facts {
			text += f.What + "\n"
		}
		if err != nil || !strings.Contains(text, "the object of content h left its place: it was moved into quarantine") || strings.Contains(text, "was deleted") {
			t.Errorf("%s, %v", text, err)
		}
	})
}
