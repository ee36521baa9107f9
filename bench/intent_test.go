package bench_test

import (
	"context"
	"testing"

	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/test/servers"
)

// TestWhatAPutCostsTheDatabase: two transactions, one without its intent, and what
// they touch does not depend on the machine.
func TestWhatAPutCostsTheDatabase(t *testing.T) {
	c := bench.IntentCost{
		Puts: 400, Size: 64, Clients: 4, Runs: 1, Dir: t.TempDir(),
		Database: func(context.Context, int) (string, error) { return servers.NewPostgres(t).Database(), nil },
	}
	with, before, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if with[0].Transactions != 2 || before[0].Transactions != 1 {
		t.Errorf("%g transactions for a put, %g without its intent; want 2 and 1", with[0].Transactions, before[0].Transactions)
	}
	blocks, log := with[0].Database.Blocks/400, with[0].Database.Log/400
	t.Logf("%d blocks and %d bytes of log for a put", blocks, log)
	// Some 160 and 4,700, a session's first look at the catalogue included.
	if blocks == 0 || blocks > 400 || log == 0 || log > 20_000 {
		t.Errorf("%d blocks and %d bytes of log for a put; want some, up to 400 and 20,000", blocks, log)
	}
}
