package sqladopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/adopt"
)

// Rows that were written after the check, with a zero that stands for never or in another
// unit, stay in whatever way rows end.
func TestEndsBefore1990RemoveNothing(t *testing.T) {
	const tables = `CREATE TABLE pastes (code varchar(40) NOT NULL PRIMARY KEY, expires_at bigint,
		status varchar(20) NOT NULL DEFAULT 'live', claimed_at bigint);
	CREATE INDEX ends ON pastes (expires_at)`
	onEngines(t, tables, func(t *testing.T, db *DB) {
		ctx := t.Context()
		plain := adopt.Rows{Table: "pastes", Key: "code", End: "expires_at", Unit: "ms"}
		claiming := plain
		claiming.Initiated, claiming.Status = "claimed_at", &adopt.Status{Column: "status", Live: "live", Claimed: "claimed"}
		taken, err := db.Collection(ctx, "taken", adopt.Collection{Rows: plain})
		if err != nil {
			t.Fatal(err)
		}
		claimed, err := db.Collection(ctx, "claimed", adopt.Collection{Rows: claiming})
		if err != nil {
			t.Fatal(err)
		}
		script(t, db, `INSERT INTO pastes (code, expires_at) VALUES ('never', 0), ('seconds', 1600000000), ('past', 1600000000000), ('late', 1600000000001)`)
		claim, err := claimed.Claim(ctx, 9)
		if err != nil || len(claim.Rows) != 2 {
			t.Fatalf("claimed %+v, %v: want past and late", claim.Rows, err)
		}
		script(t, db, "UPDATE pastes SET expires_at = 0 WHERE code = 'late'")
		if out, err := claimed.Settle(ctx, claim, 0); err != nil || out.Gone != 1 || out.Returned != 1 {
			t.Fatalf("settled %+v, %v: want past gone, and late given back", out, err)
		}
		if out, err := taken.Take(ctx, 9, 0); err != nil || out.Gone != 0 {
			t.Errorf("took %+v, %v", out, err)
		}
		if due, err := taken.Due(ctx); err != nil || due.Due != 0 {
			t.Errorf("due: %+v, %v", due, err)
		}
		facts, err := taken.Explain(ctx, "never")
		if err != nil || !strings.Contains(fmt.Sprint(facts), "before 1990") {
			t.Errorf("explained: %v, %v", facts, err)
		}
		found, err := taken.Check(ctx)
		if err != nil || !slices.ContainsFunc(found, func(f adopt.Finding) bool { return f.Problem && strings.Contains(f.What, "1990") }) {
			t.Errorf("check: %+v, %v", found, err)
		}
	})
}

// While the clocks of a zone are about to be set back, an end in the hour that comes again has
// not passed.
func TestEndsInARepeatedHourStay(t *testing.T) {
	at := func(hour, minute int) lethe.Time {
		return lethe.FromTime(time.Date(2031, time.October, 26, hour, minute, 0, 0, time.UTC))
	}
	c := &Collection{c: adopt.Collection{Rows: adopt.Rows{Zone: "Europe/Berlin"}}}
	if end := c.end(&tx{now: at(0, 30)}); end >= at(0, 0) {
		t.Errorf("ends up to %v have passed", end)
	}
	if end := c.end(&tx{now: at(1, 0)}); end != at(1, 0) {
		t.Errorf("ends up to %v have passed", end)
	}
}
