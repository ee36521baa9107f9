package meta

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-storage/lethe/internal/clocktest"
)

func TestAClockSetForward(t *testing.T) {
	wall, boot := clocktest.New(), clocktest.At(1_000_000)
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), Options{Clock: wall, Boot: boot, ClockJump: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	pass := func(d time.Duration) { wall.Advance(d); boot.Advance(d) }
	pass(time.Hour)
	before := nowOf(t, db)
	wall.Advance(4 * time.Minute)
	if now := nowOf(t, db); now.Sub(before) != 4*time.Minute || db.ClockAhead() != 0 {
		t.Errorf("a clock that was corrected: %s later, ahead by %s", now.Sub(before), db.ClockAhead())
	}
	wall.Advance(24 * time.Hour)
	pass(time.Minute)
	now := nowOf(t, db)
	if d := db.ClockAhead(); d < 24*time.Hour {
		t.Errorf("a clock that was set forward by a day is ahead by %s", d)
	}
	if now.Sub(before) > 10*time.Minute {
		t.Errorf("the ledger followed a clock that was set forward: %s", now.Sub(before))
	}
	wall.Advance(-24 * time.Hour)
	if d := db.ClockAhead(); d != 0 || db.ClockBehind() != 0 {
		t.Errorf("a clock that was set back again is ahead by %s, behind by %s", d, db.ClockBehind())
	}
}
