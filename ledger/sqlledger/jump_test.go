package sqlledger

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/servers"
)

func TestAClockSetForward(t *testing.T) {
	wall, boot := clocktest.New(), clocktest.At(1_000_000)
	db, err := Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"), ledger.Options{Clock: wall, Boot: boot, ClockJump: 5 * time.Minute})
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

// clocked opens ledgers, one after the other, with a clock that ahead sets forward, on a
// start of the machine with an id.
func clocked(t *testing.T, engine string) (open func(boot string) *DB, ahead func(time.Duration)) {
	o := ledger.Options{Boot: lethe.Monotonic{}, ClockJump: 5 * time.Minute}
	if engine == "postgres" {
		server, ahead := servers.NewPostgresOnClock(t)
		url := server.Database()
		return func(boot string) *DB {
			o.BootID = boot
			return openServerAt(t, url, o)
		}, ahead
	}
	wall, path := &clocktest.Ahead{}, filepath.Join(t.TempDir(), "ledger.db")
	o.Clock = wall
	by := time.Duration(0)
	return func(boot string) *DB {
		o.BootID = boot
		db, err := Open(t.Context(), path, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}, func(d time.Duration) { wall.Advance(d - by); by = d }
}

// TestAClockSetForwardMeanwhile: a jump of the clock while the ledger is closed is detected
// at the next open on the same start of the machine, as is one while it is open. Only
// ConfirmClock confirms it, and no process that was ahead, and right again, and ends at once.
func TestAClockSetForwardMeanwhile(t *testing.T) {
	const day = 24 * time.Hour
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			open, ahead := clocked(t, engine)
			db := open("one")
			before := nowOf(t, db)
			stands := func(when string, follows, by time.Duration) {
				t.Helper()
				now := nowOf(t, db)
				if d := now.Sub(before); d < follows || d > follows+time.Hour {
					t.Fatalf("%s: the ledger's clock went on by %s", when, d)
				}
				if d := db.ClockAhead(); d < by-time.Hour || d > by+time.Hour {
					t.Fatalf("%s: the clock is ahead by %s, not %s", when, d, by)
				}
			}
			reopened := func(boot string, meanwhile time.Duration) {
				t.Helper()
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				ahead(meanwhile)
				db = open(boot)
			}
			ahead(day)
			stands("while it is open", 0, day)
			ahead(0)
			stands("set back", 0, 0)
			reopened("one", day)
			stands("while it was closed", 0, day)
			reopened("one", day)
			stands("opened once more", 0, day)
			ahead(0)
			stands("set back again", 0, 0)
			reopened("one", day)
			stands("set forward once more", 0, day)
			if err := db.ConfirmClock(t.Context()); err != nil {
				t.Fatal(err)
			}
			stands("confirmed for the next process", 0, day)
			reopened("one", day)
			stands("opened after that", day, 0)
			reopened("another", 2*day)
			stands("after another start of the machine", 2*day, 0)
		})
	}
}

// TestAClockConfirmedBesideOthers: an instance for which the clock is ahead does not undo what
// another one on its machine confirms.
func TestAClockConfirmedBesideOthers(t *testing.T) {
	open, ahead := clocked(t, "postgres")
	db := open("one")
	nowOf(t, db)
	other := open("one")
	ahead(24 * time.Hour)
	if err := db.ConfirmClock(t.Context()); err != nil {
		t.Fatal(err)
	}
	nowOf(t, other)
	if d := open("one").ClockAhead(); d != 0 {
		t.Errorf("the clock is ahead by %s", d)
	}
}

// TestCorrectionsOfAConfirmedClock: what a process confirms is right for the next, also if the
// clock was corrected by too little for a jump. So corrections do not add up to one.
func TestCorrectionsOfAConfirmedClock(t *testing.T) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			open, ahead := clocked(t, engine)
			for i := range time.Duration(3) {
				db := open("one")
				nowOf(t, db)
				ahead((i + 1) * 4 * time.Minute)
				if err := db.ConfirmClock(t.Context()); err != nil {
					t.Fatal(err)
				}
				if d := db.ClockAhead(); d != 0 {
					t.Errorf("correction %d: the clock is ahead by %s", i+1, d)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
