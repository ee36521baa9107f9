package memledger_test

import (
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// TestConformance holds the in-memory ledger to the suite of all ledgers.
func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(_ testing.TB, o ledger.Options) ledgertest.Ledger { return memledger.New(o) })
}
