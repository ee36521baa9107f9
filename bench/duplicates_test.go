package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/blob"
	"github.com/lethe-storage/lethe/blob/blobtest"
	"github.com/lethe-storage/lethe/blob/memblob"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/ledgertest"
	"github.com/lethe-storage/lethe/ledger/sqlledger"
	"github.com/lethe-storage/lethe/object"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// Each of so many contents is there already, and is put four more times among as many
// new ones: 80 % are duplicates.
const (
	contents   = 200
	duplicates = 4
)

// duplicated is what puts of which 80 % are duplicates have cost.
type duplicated struct {
	puts, condemned, transactions int64
}

// putDuplicates counts what puts cost, later after what they duplicate was written.
func putDuplicates(t *testing.T, window, later time.Duration, small int64) duplicated {
	t.Helper()
	ctx, clock := t.Context(), clocktest.New()
	db, err := sqlledger.Open(ctx, sqlledger.Memory, ledger.Options{Clock: clock, TrustWindow: window})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var transactions atomic.Int64
	db.OnTransactions(func(ctx context.Context, _ string) (context.Context, func(sqlledger.Transaction)) {
		transactions.Add(1)
		return ctx, func(sqlledger.Transaction) {}
	})
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.AddBackend(ctx, ledger.Backend{ID: "disk"}))
	must(db.CreateBucket(ctx, ledger.Bucket{Name: "bucket", Owner: "owner"}))
	id, err := db.Identity(ctx)
	must(id, err)
	calls := blobtest.NewCounting(memblob.New(memblob.Options{}))
	s, err := object.New(object.Options{
		Ledger: ledgertest.ForObjects(db), Backends: map[string]blob.Store{"disk": calls}, StoreID: id.ID, Clock: clock, Small: small,
	})
	must(s, err)
	put := func(key string, content int) {
		t.Helper()
		body := bytes.Repeat([]byte(fmt.Sprintf("%016d", content)), 256)
		must(s.Put(ctx, object.PutRequest{Bucket: "bucket", Key: key, Body: bytes.NewReader(body), Size: int64(len(body))}))
	}
	for i := range contents {
		put(fmt.Sprint("old", i), i)
	}
	clock.Advance(later)
	calls.Reset()
	transactions.Store(0)
	for round := range duplicates {
		for i := range contents {
			put(fmt.Sprint("duplicate", round, "/", i), i)
		}
	}
	for i := range contents {
		put(fmt.Sprint("new", i), contents+i)
	}
	out := duplicated{puts: calls.Counts().Puts, transactions: transactions.Load()}
	totals, err := db.Totals(ctx)
	must(totals, err)
	for _, total := range totals {
		if total.State == lethe.Condemned {
			out.condemned += total.Blobs
		}
	}
	return out
}

// TestDuplicates: within the trust window a small duplicate sends nothing; after it the
// first of each content is sent, and takes the older copy's place.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		what          string
		window, later time.Duration
		small, large  duplicated
	}{
		{"within the window", time.Hour, time.Minute, duplicated{200, 0, 2000}, duplicated{1000, 800, 3000}},
		{"after the window", time.Hour, time.Hour, duplicated{400, 200, 2000}, duplicated{1000, 800, 3000}},
		{"without a window", -1, 0, duplicated{1000, 800, 2000}, duplicated{1000, 800, 3000}},
	} {
		small, large := putDuplicates(t, c.window, c.later, 1<<20), putDuplicates(t, c.window, c.later, 1)
		t.Logf("%s: of 1,000 puts, 800 of them duplicates: in memory %+v, streamed %+v", c.what, small, large)
		if small != c.small || large != c.large {
			t.Errorf("%s: want %+v and %+v", c.what, c.small, c.large)
		}
	}
}
