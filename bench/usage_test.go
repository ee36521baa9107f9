package bench_test

import (
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// BenchmarkUsage counts what a bucket stores, in rows per second, and reads that count at a
// glance, which is one row however many were counted.
func BenchmarkUsage(b *testing.B) {
	dir, d := b.TempDir(), bench.Dataset{Objects: 100_000, Size: 1024, RowsOnly: true, Shared: 50}
	if err := d.Fill(b.Context(), dir, lethe.SystemClock{}.Now()); err != nil {
		b.Fatal(err)
	}
	db, err := sqlledger.Open(b.Context(), bench.LedgerPath(dir), ledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	bucket, err := db.Bucket(b.Context(), "bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Run("walk", func(b *testing.B) {
		rows := 0
		for b.Loop() {
			w := usage.Walk{Ledger: db, Bucket: bucket.Name}
			for more := true; more; {
				var n int
				if n, more, err = w.Step(b.Context(), 1000); err != nil {
					b.Fatal(err)
				}
				rows += n
			}
			r, err := w.Summary().Record(bucket.ID)
			if err == nil {
				err = db.SaveUsage(b.Context(), r, time.Hour)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
	})
	b.Run("glance", func(b *testing.B) {
		for b.Loop() {
			list, err := db.UsageRecords(b.Context(), ledger.UsageRecordQuery{Bucket: bucket.Name, UpTo: lethe.Forever, Document: true})
			if err != nil || len(list) != 1 {
				b.Fatal(list, err)
			}
			if s, known, err := usage.Decode(list[0]); err != nil || !known || s.Objects != int64(d.Objects) {
				b.Fatal(s.Objects, known, err)
			}
		}
	})
}
