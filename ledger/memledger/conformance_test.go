package memledger_test

import (
	"testing"

	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/memledger"
)

// TestConformance runs the conformance suite on the in-memory ledger.
func TestConformance(t *testing.T) {
	ledgertest.Run(t, func(_ testing.TB, o ledger.Options) ledgertest.Ledger { return memledger.New(o) })
}
