package bench_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/bench"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim/usage"
)

// BenchmarkUsage counts what a bucket stores, in rows per second and beside a bare SELECT of the
// same rows, and reads that count at a glance, which is one row however many were counted.
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
	bare := 0.0
	b.Run("select", func(b *testing.B) {
		rows := 0
		for b.Loop() {
			rows += selectAll(b, bench.LedgerPath(dir))
		}
		bare = float64(rows) / b.Elapsed().Seconds()
		b.ReportMetric(bare, "rows/s")
	})
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
		rate := float64(rows) / b.Elapsed().Seconds()
		b.ReportMetric(rate, "rows/s")
		if bare > 0 {
			b.ReportMetric(bare/rate, "of-select")
		}
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

// selectAll reads the rows that a count reads, in one statement, and returns how many there are.
func selectAll(b *testing.B, path string) (n int) {
	b.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(b.Context(), `SELECT o.key, o.id, o.content_id, o.size, o.modified_at, o.ttl_at, o.rule_at, o.tags, o.rule_no, c.refs FROM objects o JOIN contents c ON c.id = o.content_id ORDER BY o.bucket_id, o.key`)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		b.Fatal(err)
	}
	row := make([]any, len(names))
	for i := range row {
		row[i] = new(any)
	}
	for ; rows.Next(); n++ {
		if err := rows.Scan(row...); err != nil {
			b.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return n
}
