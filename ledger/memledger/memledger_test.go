package memledger_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
	"github.com/lethe-storage/lethe/ledger/memledger"
	"github.com/lethe-storage/lethe/test/clocktest"
)

// seeded is a source of ids that repeats for the same seed.
type seeded struct{ *rand.ChaCha8 }

func newSeeded(seed byte) seeded { return seeded{rand.NewChaCha8([32]byte{seed})} }

func newDB(tb testing.TB, o ledger.Options) (*memledger.DB, *clocktest.Clock) {
	tb.Helper()
	c := clocktest.At(lethe.FromTime(time.Date(2031, 1, 2, 3, 4, 5, 0, time.UTC)))
	o.Clock, o.Random = c, newSeeded(1)
	db := memledger.New(o)
	must(tb)(db.AddBackend(tb.Context(), ledger.Backend{ID: "disk"}))
	must(tb)(db.CreateBucket(tb.Context(), ledger.Bucket{Name: "b", Owner: "o"}))
	return db, c
}

func must(tb testing.TB) func(any, error) {
	return func(_ any, err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkBeginCommit(b *testing.B) {
	db, c := newDB(b, ledger.Options{})
	ids, ctx := newSeeded(2), context.Background()
	digest := strings.Repeat("a", 64)
	keys := []string{"a", "b", "c", "d", "e", "f"}
	i := 0
	for b.Loop() {
		i++
		c.Advance(time.Millisecond)
		id := lethe.NewID(c.Now(), ids)
		must(b)(db.Begin(ctx, ledger.Intent{ID: id, Backend: "disk", Size: 9}))
		must(b)(db.Commit(ctx, ledger.Commit{
			Op: lethe.NewID(c.Now(), ids), What: "put", Object: ledger.Object{Bucket: "b", Key: keys[i%len(keys)], Size: 9, ETag: "e"},
			Content: ledger.ContentKey{Domain: "o", Kind: lethe.Whole, Digest: digest, Size: 9},
			Blobs:   []ledger.Uploaded{{Blob: id, Size: 9, Digest: digest}},
		}))
		if i%10 == 0 {
			c.Advance(2 * time.Hour)
			claimed, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "w", Backend: "disk", Limit: 100})
			if err != nil {
				b.Fatal(err)
			}
			s := ledger.Settlement{Fence: claimed.Fence}
			for _, x := range claimed.Blobs {
				s.Items = append(s.Items, ledger.SettleItem{ID: x.ID, Result: ledger.Gone})
			}
			must(b)(db.Settle(ctx, s))
			must(b)(db.Prune(ctx, 1000))
		}
	}
}

func BenchmarkRecount(b *testing.B) {
	db, c := newDB(b, ledger.Options{})
	ids, ctx := newSeeded(2), context.Background()
	for i := range 50 {
		id := lethe.NewID(c.Now(), ids)
		digest := strings.Repeat(string(rune('a'+i%6)), 64)
		must(b)(db.Begin(ctx, ledger.Intent{ID: id, Backend: "disk", Size: 9}))
		must(b)(db.Commit(ctx, ledger.Commit{
			Op: lethe.NewID(c.Now(), ids), What: "put", Object: ledger.Object{Bucket: "b", Key: digest[:1+i%20], Size: 9, ETag: "e"},
			Content: ledger.ContentKey{Domain: "o", Kind: lethe.Whole, Digest: digest, Size: 9},
			Blobs:   []ledger.Uploaded{{Blob: id, Size: 9, Digest: digest}},
		}))
	}
	for b.Loop() {
		if found, err := db.Recount(ctx); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		newDB(b, ledger.Options{})
	}
}

// TestAClockSetForward: a clock that is set forward is not followed, one that is corrected
// is.
func TestAClockSetForward(t *testing.T) {
	boot := clocktest.At(1)
	db, wall := newDB(t, ledger.Options{Boot: boot, ClockJump: 5 * time.Minute})
	now := func() lethe.Time {
		at, err := db.LedgerTime(t.Context())
		must(t)(nil, err)
		return at
	}
	before := now()
	wall.Advance(4 * time.Minute)
	if d := now().Sub(before); d != 4*time.Minute || db.ClockAhead() != 0 {
		t.Errorf("corrected: %s later, ahead by %s", d, db.ClockAhead())
	}
	wall.Advance(24 * time.Hour)
	if d := now().Sub(before); d > 5*time.Minute || db.ClockAhead() < 24*time.Hour {
		t.Errorf("set forward: %s later, ahead by %s", d, db.ClockAhead())
	}
	wall.Advance(-24 * time.Hour)
	if db.ClockAhead() != 0 || db.ClockBehind() != 0 {
		t.Errorf("set right: ahead by %s, behind by %s", db.ClockAhead(), db.ClockBehind())
	}
}
