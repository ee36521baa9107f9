package routine_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/reclaim"
	"github.com/lethe-storage/lethe/reclaim/routine"
	"github.com/lethe-storage/lethe/reclaim/throttle"
	"github.com/lethe-storage/lethe/test/clocktest"
	"github.com/lethe-storage/lethe/test/reclaimtest"
	"github.com/lethe-storage/lethe/test/servers"
)

// ledgers are those that the benchmark deletes for.
var ledgers = map[string]func(testing.TB, ledger.Options) benchLedger{
	"memory": func(_ testing.TB, o ledger.Options) benchLedger { return memledger.New(o) },
	"sqlite": func(t testing.TB, o ledger.Options) benchLedger {
		db, err := sqlledger.Open(context.Background(), filepath.Join(t.TempDir(), "ledger.db"), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	},
}

type benchLedger interface {
	routine.CleanLedger
	Identity(context.Context) (ledger.Store, error)
	AddBackend(context.Context, ledger.Backend) (ledger.Backend, error)
	Begin(context.Context, ledger.Intent) (ledger.Blob, error)
	Abandon(ctx context.Context, blob lethe.ID, late bool) error
}

// BenchmarkCleanOnABucket says how near one worker comes to what the service can
// do when it is asked for nothing else, with one delete after the other and with
// several under way.
func BenchmarkCleanOnABucket(b *testing.B) {
	const n = 10_000
	at := servers.VersityGW(b)
	for engine, open := range ledgers {
		for _, inFlight := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("%s/%d", engine, inFlight), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					clock := clocktest.At(1_000_000_000_000_000)
					db, s := open(b, ledger.Options{Clock: clock, ReadGrace: time.Minute, LateWindow: time.Hour}), reclaimtest.Bucket(b, at)
					store := abandoned(b, db, s, n)
					clock.Advance(24 * time.Hour)
					k := &routine.Clean{
						Ledger: db, Stores: map[string]blob.Store{"main": s}, Store: store, Limit: 1000, Clock: clock,
						Safety: reclaim.Safety{}.WithDefaults(), Controller: &throttle.Controller{Clock: clock, Backends: map[string]throttle.Backend{"main": {Parallel: inFlight}}},
					}
					counts := &reclaim.Counts{}
					step := k.Pass("bench")
					b.StartTimer()
					for more := true; more; {
						var err error
						if more, err = step(b.Context(), counts.Add); err != nil {
							b.Fatal(err)
						}
					}
					b.StopTimer()
					if counts.Get("gone") != n {
						b.Fatalf("%v", counts.Map())
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "blobs/s")
			})
		}
	}
	for _, atOnce := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("bare/%d", atOnce), func(b *testing.B) { bareDeletes(b, reclaimtest.Bucket(b, at), n, atOnce) })
	}
}

// each does something for so many numbers, eight at once.
func each(b *testing.B, n int, do func(int) error) {
	b.Helper()
	var wg sync.WaitGroup
	for part := range 8 {
		wg.Go(func() {
			for i := part; i < n; i += 8 {
				if err := do(i); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

var kibibyte = strings.Repeat("x", 1024)

// abandoned makes so many blobs that were sent and given up.
func abandoned(b *testing.B, db benchLedger, s blob.Store, n int) lethe.ID {
	b.Helper()
	ctx := b.Context()
	store, err := db.Identity(ctx)
	if err == nil {
		_, err = db.AddBackend(ctx, ledger.Backend{ID: "main"})
	}
	if err != nil {
		b.Fatal(err)
	}
	each(b, n, func(i int) error {
		id := lethe.RandomID(lethe.Time(i + 1))
		if _, err := db.Begin(ctx, ledger.Intent{ID: id, Backend: "main", Size: 1024}); err != nil {
			return err
		}
		if err := s.Put(ctx, lethe.BlobKey(store.ID, id), strings.NewReader(kibibyte), 1024); err != nil {
			return err
		}
		return db.Abandon(ctx, id, false)
	})
	return store.ID
}

// bareDeletes is what the service can do with nothing else to wait for.
func bareDeletes(b *testing.B, s blob.Store, n, atOnce int) {
	for b.Loop() {
		b.StopTimer()
		keys := make([]string, n)
		each(b, n, func(i int) error {
			keys[i] = lethe.BlobKey("store", lethe.RandomID(lethe.Time(i+1)))
			return s.Put(b.Context(), keys[i], strings.NewReader(kibibyte), 1024)
		})
		b.StartTimer()
		var wg sync.WaitGroup
		for part := range atOnce {
			wg.Go(func() {
				for i := part * 1000; i < n; i += atOnce * 1000 {
					if _, err := s.Delete(b.Context(), keys[i:i+1000]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "blobs/s")
}
