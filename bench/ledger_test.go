package bench_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
)

// BenchmarkLedger is the ledger's share of reclaiming, in processor time per
// object: expire, claim and settle batches of 1,000 with nothing else at work.
func BenchmarkLedger(b *testing.B) {
	for range b.N {
		b.StopTimer()
		dir := b.TempDir()
		d := bench.Dataset{Objects: 20_000, Size: 1024, RowsOnly: true}
		if err := d.Fill(b.Context(), dir, lethe.SystemClock{}.Now()); err != nil {
			b.Fatal(err)
		}
		db, err := sqlledger.Open(b.Context(), bench.LedgerPath(dir), ledger.Options{ReadGrace: time.Nanosecond})
		if err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		reclaimRows(b, db, d.Objects)
		b.StopTimer()
		if err := db.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// reclaimRows removes all rows as expire and clean do.
func reclaimRows(b *testing.B, db *sqlledger.DB, objects int) {
	const batch = 1000
	began := bench.CPUTime()
	step := func(name string) {
		now := bench.CPUTime()
		b.ReportMetric(float64((now-began)/time.Microsecond)/float64(objects), name+"-us/object")
		began = now
	}
	for more, after := true, lethe.Time(0); more; {
		r, err := db.Expire(b.Context(), ledger.Batch{Limit: batch, MaxBlobs: 4 * batch, After: after})
		if err != nil {
			b.Fatal(err)
		}
		more, after = r.More, r.LastDue
	}
	step("expire")
	claims := claimAll(b, db, batch)
	step("claim")
	for _, c := range claims {
		s := ledger.Settlement{Fence: c.Fence}
		for _, blob := range c.Blobs {
			s.Items = append(s.Items, ledger.SettleItem{ID: blob.ID, Result: ledger.Gone})
		}
		if got, err := db.Settle(b.Context(), s); err != nil || got.Gone != len(s.Items) {
			b.Fatalf("settled %+v: %v", got, err)
		}
	}
	step("settle")
}

func claimAll(b *testing.B, db *sqlledger.DB, batch int) (claims []ledger.Claimed) {
	for after := lethe.Time(0); ; {
		c, err := db.ClaimCondemned(b.Context(), ledger.ClaimRequest{Worker: "bench", Backend: "main", Limit: batch, After: after})
		if err != nil {
			b.Fatal(err)
		}
		if len(c.Blobs) == 0 {
			return claims
		}
		claims, after = append(claims, c), c.LastDue
	}
}
