package sqlledger

import (
	"testing"

	"github.com/lethe-storage/lethe/ledger"
)

// TestPagesVisited: pages count whether they are cached or not.
func TestPagesVisited(t *testing.T) {
	db := openTest(t, filePath(t), ledger.Options{})
	visited := func() int64 {
		t.Helper()
		n, err := db.PagesVisited(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	idle := -visited() + visited()
	before := visited()
	for range 100 {
		if err := db.write(t.Context(), "look", func(t *tx) error {
			_, err := t.exists(anyCondemned, "none", 0, t.Now)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if n := visited() - before - idle; n < 100 {
		t.Errorf("100 looks visited %d pages", n)
	}
}
