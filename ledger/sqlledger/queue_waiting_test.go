package sqlledger

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/lethe-storage/lethe"
	"github.com/lethe-storage/lethe/ledger"
)

// queued fills a queue: intents on two backends, some given up at once, some of
// those claimed, and two of those tried and put off for an hour.
func queued(t *testing.T, db *DB) {
	t.Helper()
	ctx := context.Background()
	for _, backend := range []string{"main", "other"} {
		if _, err := db.AddBackend(ctx, ledger.Backend{ID: backend}); err != nil {
			t.Fatal(err)
		}
		for i := range 8 {
			id := lethe.RandomID(lethe.SystemClock{}.Now())
			_, err := db.Begin(ctx, ledger.Intent{ID: id, Backend: backend, Size: int64(1 + i)})
			if err == nil && i < 5 {
				err = db.Abandon(ctx, id, false)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	tried, err := db.ClaimCondemned(ctx, ledger.ClaimRequest{Worker: "w3/0", Backend: "other", Limit: 2})
	if err != nil {
		t.Fatal(err)
	}
	failed := ledger.Settlement{Fence: tried.Fence}
	for _, b := range tried.Blobs {
		failed.Items = append(failed.Items, ledger.SettleItem{ID: b.ID, Result: ledger.Failed, Error: "no answer", RetryAt: tried.Now.Add(time.Hour)})
	}
	if s, err := db.Settle(ctx, failed); err != nil || s.Retried != 2 {
		t.Fatalf("settled %+v, %v", s, err)
	}
	for _, r := range []ledger.ClaimRequest{{Worker: "w1/0", Backend: "main", Limit: 2}, {Worker: "w2/0", Backend: "other", Limit: 1}} {
		if c, err := db.ClaimCondemned(ctx, r); err != nil || len(c.Blobs) != r.Limit {
			t.Fatalf("claimed %d, %v", len(c.Blobs), err)
		}
	}
	if c, err := db.ClaimIntents(ctx, ledger.ClaimRequest{Worker: "w1/1", MinAge: 0, Limit: 1}); err != nil || len(c.Intents) != 1 {
		t.Fatalf("claimed %d intents, %v", len(c.Intents), err)
	}
}

// walked reads page by page, and returns all rows; none appears twice.
func walked(t *testing.T, db *DB, q ledger.WaitingQuery) (list []ledger.Blob) {
	t.Helper()
	told := map[lethe.ID]bool{}
	for pages := 0; pages < 100; pages++ {
		p, err := db.Waiting(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Blobs) > q.Limit {
			t.Fatalf("a page of %d, at most %d were asked for", len(p.Blobs), q.Limit)
		}
		for _, b := range p.Blobs {
			if told[b.ID] {
				t.Fatalf("%s is told twice", b.ID)
			}
			told[b.ID] = true
			list = append(list, b)
		}
		if !p.More {
			return list
		}
		q.After = p.Next
	}
	t.Fatal("pages without an end")
	return nil
}

// TestWaitingByPagesAndFilters: pages of any size have each matching row once.
func TestWaitingByPagesAndFilters(t *testing.T) {
	eachEngine(t, func(t *testing.T, db *DB, _ string) {
		queued(t, db)
		both, now := []string{"main", "other"}, lethe.SystemClock{}.Now()
		condemned := ledger.WaitingQuery{State: lethe.Condemned, Backends: both}
		pending := ledger.WaitingQuery{State: lethe.Pending}
		for name, c := range map[string]struct {
			from ledger.WaitingQuery
			set  func(*ledger.WaitingQuery)
			want int
		}{
			"all":               {condemned, func(*ledger.WaitingQuery) {}, 10},
			"one backend":       {condemned, func(q *ledger.WaitingQuery) { q.Backends = both[:1] }, 5},
			"claimed":           {condemned, func(q *ledger.WaitingQuery) { q.Claimed = true }, 3},
			"claimed there":     {condemned, func(q *ledger.WaitingQuery) { q.Claimed, q.Backends = true, both[1:] }, 1},
			"not claimed":       {condemned, func(q *ledger.WaitingQuery) { q.Unclaimed = true }, 7},
			"by a worker":       {condemned, func(q *ledger.WaitingQuery) { q.ClaimedBy = "w1/" }, 2},
			"due":               {condemned, func(q *ledger.WaitingQuery) { q.Unclaimed, q.DueBy = true, now }, 5},
			"due later":         {condemned, func(q *ledger.WaitingQuery) { q.Unclaimed, q.DueAfter = true, now }, 2},
			"tried before":      {condemned, func(q *ledger.WaitingQuery) { q.MinAttempts = 1 }, 2},
			"for another cause": {condemned, func(q *ledger.WaitingQuery) { q.Reason = lethe.ReasonExpiry }, 0},
			"since long":        {condemned, func(q *ledger.WaitingQuery) { q.Since = now.Add(-time.Hour) }, 0},
			"intents":           {pending, func(*ledger.WaitingQuery) {}, 6},
			"intents there":     {pending, func(q *ledger.WaitingQuery) { q.Backends = both[:1] }, 3},
			"intents claimed":   {pending, func(q *ledger.WaitingQuery) { q.Claimed = true }, 1},
			"intents alive":     {pending, func(q *ledger.WaitingQuery) { q.Unclaimed, q.BeatAfter = true, now.Add(-time.Hour) }, 5},
			"intents silent":    {pending, func(q *ledger.WaitingQuery) { q.Unclaimed, q.Since = true, now.Add(-time.Hour) }, 0},
		} {
			for _, limit := range []int{1, 3, 1000} {
				q := c.from
				c.set(&q)
				q.Limit = limit
				if got := walked(t, db, q); len(got) != c.want {
					t.Errorf("%s by %d: %d, want %d", name, limit, len(got), c.want)
				}
			}
		}
		list := walked(t, db, ledger.WaitingQuery{State: lethe.Condemned, Backends: both, Limit: 2})
		order := ""
		for _, b := range list {
			order += fmt.Sprintf("%v ", b.Claim.Fence != 0)
		}
		if order != "true true true false false false false false false false " {
			t.Errorf("claimed: %s", order)
		}
		if _, err := db.Waiting(context.Background(), ledger.WaitingQuery{State: lethe.Live}); err == nil || errors.Is(err, lethe.ErrUnavailable) {
			t.Errorf("what is alive waits in no queue: %v", err)
		}
	})
}
