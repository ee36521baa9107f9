package sqlledger

import (
	"testing"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// TestTallyFinds: a counter that is wrong differs from the rows, in its state and
// by its amount only.
func TestTallyFinds(t *testing.T) {
	for damage, want := range map[string]ledger.Tally{
		`UPDATE blob_counters SET bytes = bytes + 5 WHERE state = 3`: {State: lethe.Condemned, Rows: 1, Counted: 1},
		`UPDATE blob_counters SET n = n - 1 WHERE state = 3`:         {State: lethe.Condemned, Rows: 1},
		`DELETE FROM blob_counters WHERE state = 3`:                  {State: lethe.Condemned, Rows: 1},
	} {
		db := openTest(t, Memory, ledger.Options{Clock: newTestClock()})
		setUp(t, db)
		mustPut(t, db, "k", "first")
		mustPut(t, db, "k", "second")
		before, err := db.TallyOrphans(t.Context())
		if err != nil || len(before) != 1 || !before[0].Agrees() || before[0].Rows != 1 || before[0].RowBytes == 0 {
			t.Fatalf("before: %+v %v", before, err)
		}
		err = db.write(t.Context(), "damage", func(x *tx) error {
			_, err := x.exec(damage)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := db.TallyOrphans(t.Context())
		if err != nil || len(got) != 1 || got[0].Agrees() || got[0].State != want.State || got[0].Rows != want.Rows || got[0].Counted != want.Counted {
			t.Errorf("%s: %+v %v", damage, got, err)
		}
	}
}
