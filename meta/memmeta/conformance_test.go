package memmeta_test

import (
	"testing"

	"github.com/lethe-storage/lethe/meta"
	"github.com/lethe-storage/lethe/meta/memmeta"
	"github.com/lethe-storage/lethe/meta/metatest"
)

// TestConformance holds the in-memory ledger to the suite of all ledgers.
func TestConformance(t *testing.T) {
	metatest.Run(t, func(_ testing.TB, o meta.Options) metatest.Ledger { return memmeta.New(o) })
}
